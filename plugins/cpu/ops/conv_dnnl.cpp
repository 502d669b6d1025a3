// Convolutions whose planes are too narrow for vectors along rows, by oneDNN, whose vectors hold channels. A plan cuts the work along the
// batch or along channels into parts of one thread each; a part copies its operands into the layouts that oneDNN chose, and its result
// back.
#include <algorithm>
#include <array>
#include <memory>
#include <unordered_map>

#include "../../common/conv_geometry.hpp"
#include "dispatch.hpp"
#include "kernels.hpp"
#include "ops/conv.hpp"
#include "ops/conv_folded.hpp"
#include "ops/conv_unfolded.hpp"
#include "ops/dnnl.hpp"
#include "ops/workspace.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

namespace tenon::cpu {
namespace {

using dnnl::memory;

enum Operand : uint32_t { kX, kW, kY };
constexpr uint32_t result_of(ConvPass pass) {
  return pass == kForward ? kY : pass == kInput ? kX : kW;
}

// What parts may be cut along.
enum class Axis { Batch, Groups, Filters, Channels };
struct AxisCut : Cut {
  Axis axis;
};

// A part: the operands as they lie, as oneDNN wants them, and the copies between.
struct Part {
  std::array<memory::desc, 3> outside, inside;
  std::array<dnnl::reorder, 3> copies;  // into `inside`, of the result out of it
  memory::desc bias, scratch;
  dnnl::primitive primitive;

  bool copied(uint32_t i) const { return inside[i] != outside[i]; }
  // Bytes of the copies and of oneDNN's own memory, each from a cache line on.
  size_t room() const {
    size_t bytes = bytes_of(scratch);
    for (uint32_t i = 0; i < 3; ++i)
      if (copied(i)) bytes += bytes_of(inside[i]);
    return bytes;
  }
  static size_t bytes_of(const memory::desc& desc) {
    return Room::bytes_of<char>(static_cast<int64_t>(desc.get_size()));
  }
};

struct Plan {
  Parts<Part> parts;
  std::array<int64_t, 3> steps;  // bytes of each operand from one place of the axis to the next
  int64_t bias_step;
  int64_t
      summed;  // elements of a result that each part has a share of; 0: parts have places of their own
};

memory::data_type type_of(tn_dtype dtype) {
  return dtype == TN_DTYPE_F32    ? memory::data_type::f32
         : dtype == TN_DTYPE_BF16 ? memory::data_type::bf16
                                  : memory::data_type::f16;
}

// The spatial sizes that oneDNN is told: two, or three where the first one matters.
struct Spatial {
  uint32_t first;
  explicit Spatial(const ConvGeometry& g)
      : first(g.in[0] == 1 && g.out[0] == 1 && g.kernel[0] == 1 ? 1 : 0) {}
  void append(memory::dims& to, const ConvGeometry::Three& sizes) const {
    to.insert(to.end(), sizes.begin() + first, sizes.end());
  }
};

// A dense array of which only some places of one dimension are meant.
memory::desc slice(const memory::dims& all, memory::data_type type, size_t dim, int64_t count) {
  memory::dims strides(all.size()), dims = all;
  int64_t next = 1;
  for (size_t d = all.size(); d-- > 0; next *= all[d]) strides[d] = next;
  dims[dim] = count;
  return memory::desc(dims, type, strides);
}

memory::desc any_layout(const memory::desc& of) {
  return memory::desc(of.get_dims(), of.get_data_type(), memory::format_tag::any);
}

struct Attributes {
  memory::dims strides, dilates, before, after;
  Attributes(const ConvGeometry& g, const Spatial& spatial) {
    ConvGeometry::Three spread, end;
    for (size_t d = 0; d < 3; ++d) {
      spread[d] = g.dilation[d] - 1;
      end[d] = (g.out[d] - 1) * g.stride[d] + spread[d] * (g.kernel[d] - 1) + g.kernel[d] -
               g.in[d] - g.padding[d];
    }
    spatial.append(strides, g.stride);
    spatial.append(dilates, spread);
    spatial.append(before, g.padding);
    spatial.append(after, end);
  }
};

// The primitive of `part`, whose descriptions of operands it completes.
void make_primitive(Part& part, ConvPass pass, const Attributes& a, bool has_bias) {
  dnnl::primitive_attr own;
  own.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  constexpr auto kDirect = dnnl::algorithm::convolution_direct;
  const memory::desc x = any_layout(part.outside[kX]), w = any_layout(part.outside[kW]),
                     y = any_layout(part.outside[kY]), bias = has_bias ? part.bias : memory::desc();
  const dnnl::convolution_forward::primitive_desc forward(
      dnnl_engine(), dnnl::prop_kind::forward_training, kDirect, x, w, bias, y, a.strides,
      a.dilates, a.before, a.after, own);
  const auto take = [&](const auto& made, const memory::desc& in_x, const memory::desc& in_w,
                        const memory::desc& in_y, dnnl::primitive primitive) {
    part.inside = {in_x, in_w, in_y};
    part.scratch = made.scratchpad_desc();
    part.primitive = std::move(primitive);
  };
  if (pass == kForward) {
    take(forward, forward.src_desc(), forward.weights_desc(), forward.dst_desc(),
         dnnl::convolution_forward(forward));
  } else if (pass == kInput) {
    const dnnl::convolution_backward_data::primitive_desc back(
        dnnl_engine(), kDirect, x, w, y, a.strides, a.dilates, a.before, a.after, forward, own);
    take(back, back.diff_src_desc(), back.weights_desc(), back.diff_dst_desc(),
         dnnl::convolution_backward_data(back));
  } else {
    const dnnl::convolution_backward_weights::primitive_desc back(
        dnnl_engine(), kDirect, x, w, y, a.strides, a.dilates, a.before, a.after, forward, own);
    take(back, back.src_desc(), back.diff_weights_desc(), back.diff_dst_desc(),
         dnnl::convolution_backward_weights(back));
  }
}

// Sizes of the whole operands; weights of groups have them in front.
std::array<memory::dims, 3> whole_sizes(const ConvGeometry& g, const Spatial& spatial) {
  memory::dims x{g.batch, g.groups * g.channels}, w, y{g.batch, g.groups * g.filters};
  if (g.groups > 1) w.push_back(g.groups);
  w.insert(w.end(), {g.filters, g.channels});
  spatial.append(x, g.in);
  spatial.append(w, g.kernel);
  spatial.append(y, g.out);
  return {x, w, y};
}

// Where the axis lies in an operand and how many places of it one step takes; an operand without it is not cut.
struct Place {
  bool cut = false;
  size_t dim = 0;
  int64_t unit = 1;
};
std::array<Place, 3> places_of(const ConvGeometry& g, Axis axis) {
  switch (axis) {
    case Axis::Batch:
      return {Place{true, 0}, Place{}, Place{true, 0}};
    case Axis::Groups:
      return {Place{true, 1, g.channels}, Place{true, 0}, Place{true, 1, g.filters}};
    case Axis::Filters:
      return {Place{}, Place{true, 0}, Place{true, 1}};
    default:
      return {Place{true, 1}, Place{true, 1}, Place{}};
  }
}

Part make_part(const ConvGeometry& g, ConvPass pass, tn_dtype dtype, Axis axis, int64_t count,
               bool has_bias) {
  const Spatial spatial(g);
  const auto sizes = whole_sizes(g, spatial);
  const auto places = places_of(g, axis);
  const auto type = type_of(dtype);
  Part part;
  for (uint32_t i = 0; i < 3; ++i)
    part.outside[i] =
        slice(sizes[i], type, places[i].dim, places[i].cut ? count * places[i].unit : sizes[i][0]);
  part.bias = memory::desc({part.outside[kY].get_dims()[1]}, type, memory::format_tag::x);
  make_primitive(part, pass, Attributes(g, spatial), has_bias);
  for (uint32_t i = 0; i < 3; ++i) {
    if (!part.copied(i)) continue;
    const bool out = i == result_of(pass);
    part.copies[i] = dnnl::reorder(
        dnnl::reorder::primitive_desc(dnnl_engine(), out ? part.inside[i] : part.outside[i],
                                      dnnl_engine(), out ? part.outside[i] : part.inside[i]));
  }
  return part;
}

// Elements that a part copies: of an image, and of the weights.
struct Copies {
  int64_t image, weights;
};

// Images of a part: as many as their copies leave in the cache, but enough that the weights' copies are a small share beside them; as
// many parts for each thread.
int64_t images_of_part(int64_t batch, const Copies& copies, int64_t share, int64_t threads) {
  constexpr int64_t kCached = int64_t{256} << 10;
  const int64_t wanted = std::max(kCached, share * copies.weights) / copies.image;
  const int64_t parts = batch / std::clamp<int64_t>(wanted, 1, batch);
  const int64_t rounds = std::max<int64_t>(1, parts / threads);
  return (batch + rounds * threads - 1) / (rounds * threads);
}

// Along what makes the parts copy least, as each part copies all of what is not cut. Gradients of weights are summed over parts of f32
// where those sums are small beside the images.
AxisCut cut_of(const ConvGeometry& g, ConvPass pass, tn_dtype dtype) {
  const int64_t threads = max_threads();
  const auto cut = [&](Axis axis, int64_t extent, int64_t unit) {
    const int64_t step = ((extent + threads - 1) / threads + unit - 1) / unit * unit;
    return AxisCut{{extent, std::clamp<int64_t>(step, 1, extent)}, axis};
  };
  constexpr int64_t kVector = 16;  // channels of oneDNN's layouts
  const Copies copies{g.groups * (g.channels * g.in_plane() + g.filters * g.out_plane()),
                      g.groups * g.filters * g.depth()};
  const int64_t share = pass == kWeight ? 16 : 4,
                images = images_of_part(g.batch, copies, share, threads);
  const bool by_batch = pass != kWeight ? copies.weights <= g.batch * copies.image
                                        : dtype == TN_DTYPE_F32 &&
                                              share / 2 * copies.weights <= images * copies.image;
  if ((by_batch && g.groups == 1 && g.batch >= threads) || (pass != kWeight && g.groups > 1))
    return {{g.batch, images}, Axis::Batch};
  if (g.groups > 1) return cut(Axis::Groups, g.groups, g.channels == 1 ? kVector : 1);
  return pass == kInput ? cut(Axis::Channels, g.channels, kVector)
                        : cut(Axis::Filters, g.filters, kVector);
}

template <ConvPass P>
std::unique_ptr<Plan> make_plan(const tn_call& call) {
  const OneThread one;
  const ConvGeometry g(call, P);
  const tn_dtype dtype = output(call).dtype;
  const AxisCut cut = cut_of(g, P, dtype);
  const bool has_bias = P == kForward && input_or_null(call, arg::conv::bias) != nullptr;
  auto plan = std::make_unique<Plan>(Plan{
      Parts<Part>(cut, [&](int64_t n) { return make_part(g, P, dtype, cut.axis, n, has_bias); }),
      {},
      cut.axis == Axis::Filters ? int64_t{size_of(dtype)} : 0,
      P == kWeight && cut.axis == Axis::Batch ? g.filters * g.depth() : 0});
  const auto places = places_of(g, cut.axis);
  for (uint32_t i = 0; i < 3; ++i)
    plan->steps[i] = places[i].cut ? plan->parts.whole().outside[i].get_strides()[places[i].dim] *
                                         places[i].unit * static_cast<int64_t>(size_of(dtype))
                                   : 0;
  return plan;
}

struct Pointers {
  std::array<char*, 3> operands;
  char* bias;
};

void execute(const Part& part, ConvPass pass, const Pointers& p) {
  Room room(Workspace::Columns, part.room());
  const auto take = [&](const memory::desc& desc) {
    return memory(desc, dnnl_engine(), room.take<char>(static_cast<int64_t>(desc.get_size())));
  };
  std::array<memory, 3> outside, inside;
  for (uint32_t i = 0; i < 3; ++i) {
    outside[i] = memory(part.outside[i], dnnl_engine(), p.operands[i]);
    inside[i] = part.copied(i) ? take(part.inside[i]) : outside[i];
    if (part.copied(i) && i != result_of(pass))
      part.copies[i].execute(dnnl_stream(), outside[i], inside[i]);
  }
  const bool writes_x = pass == kInput, writes_w = pass == kWeight;
  std::unordered_map<int, memory> args = {
      {writes_x ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, inside[kX]},
      {writes_w ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, inside[kW]},
      {pass == kForward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, inside[kY]},
      {DNNL_ARG_SCRATCHPAD, take(part.scratch)}};
  if (p.bias != nullptr) args.insert({DNNL_ARG_BIAS, memory(part.bias, dnnl_engine(), p.bias)});
  part.primitive.execute(dnnl_stream(), args);
  const uint32_t result = result_of(pass);
  if (part.copied(result))
    part.copies[result].execute(dnnl_stream(), inside[result], outside[result]);
  dnnl_stream().wait();
}

// The operands of all passes lie where conv has its own, as ConvGeometry checks.
template <ConvPass P>
Pointers pointers_of(const tn_call& call) {
  const auto data = [](const tn_view& view) { return static_cast<char*>(view.data); };
  char *first = data(input(call, arg::conv::x)), *second = data(input(call, arg::conv::weight)),
       *out = data(output(call));
  const tn_view* bias = P == kForward ? input_or_null(call, arg::conv::bias) : nullptr;
  char* const offset = bias == nullptr ? nullptr : data(*bias);
  if (P == kForward) return {{first, second, out}, offset};
  if (P == kInput) return {{out, second, first}, nullptr};
  return {{second, out, first}, nullptr};
}

// Of rows of `count` numbers, in their order.
void sum_rows(const float* rows, int64_t n, int64_t count, float* out) {
  parallel_for(count, std::max<int64_t>(1, kGrainCopy / n), [&](int64_t begin, int64_t end) {
    std::copy(rows + begin, rows + end, out + begin);
    for (int64_t row = 1; row < n; ++row)
      for (int64_t i = begin; i < end; ++i) out[i] += rows[row * count + i];
  });
}

template <ConvPass P>
void run(Plan& plan, const tn_call& call) {
  Pointers all = pointers_of<P>(call);
  char* const result = all.operands[result_of(P)];
  const int64_t parts = plan.parts.count();
  const bool sums = plan.summed != 0 && parts > 1;
  if (sums) {
    all.operands[result_of(P)] =
        reinterpret_cast<char*>(workspace<float>(Workspace::Sums, parts * plan.summed));
  }
  plan.parts.run([&](const Part& part, int64_t at) {
    Pointers p = all;
    for (uint32_t i = 0; i < 3; ++i) p.operands[i] += at * plan.steps[i];
    if (sums)
      p.operands[result_of(P)] += at / plan.parts.step() * plan.summed * int64_t{sizeof(float)};
    if (p.bias != nullptr) p.bias += at * plan.bias_step;
    execute(part, P, p);
  });
  if (sums)
    sum_rows(reinterpret_cast<const float*>(all.operands[result_of(P)]), parts, plan.summed,
             reinterpret_cast<float*>(result));
}

// Multiplications below which oneDNN's fixed cost shows; the plugin's own loops for a channel a group are much slower.
constexpr double kLeastWork = 600'000, kLeastDepthwise = 50'000;
// Rows from which vectors along them waste little.
constexpr int64_t kWide = 48;
constexpr int64_t kMostTapsOfRow = 16;

// Whether oneDNN has kernels for such groups: others it takes one by one, which is up to 40 times slower than the plugin's own loops.
bool suits_groups(const ConvGeometry& g, ConvPass pass) {
  constexpr int64_t kBlock = 8, kMostTaps = 16, kMostTapsOfWeight = 3;
  if (g.groups == 1) return true;
  if (g.channels > 1 || g.filters > 1) return g.channels % kBlock == 0 && g.filters % kBlock == 0;
  const int64_t most = pass == kWeight ? kMostTapsOfWeight : kMostTaps;
  return Spatial(g).first == 1 && g.dilation[1] == 1 && g.dilation[2] == 1 && g.kernel[1] <= most &&
         g.kernel[2] <= most;
}

// Whether oneDNN is as quick as elsewhere: it takes long rows of taps at a third of the machine's peak where they read few channels or
// lie in groups, of which only bf16's gradients of inputs are quick, and copies what is mostly padding.
bool suits_taps(const ConvGeometry& g, ConvPass pass, tn_dtype dtype) {
  if (g.groups > 1 && g.channels == 1) return true;
  const bool few = g.channels < kFewChannels,
             slow = few || (g.groups > 1 && (pass != kInput || dtype == TN_DTYPE_F32));
  if (slow && g.kernel[2] > kMostTapsOfRow && g.out[2] >= kWide) return false;
  return !(pass == kForward && reads_lines(g)) && !(pass == kInput && few && wants_folding(g));
}

// Whether oneDNN is the quickest for f32.
bool is_quickest(const ConvGeometry& g, ConvPass pass) {
  if (wants_unfolding(g, pass)) return false;
  if (g.pointwise()) return !suits_products(g);
  if (g.groups > 1) return true;
  if (g.channels < kFewChannels) return pass == kForward;
  return g.out[2] < kWide;
}

template <ConvPass P>
bool fits(const tn_call& call) {
  const ConvGeometry g(call, P);
  const tn_dtype dtype = output(call).dtype;
  if (g.in_plane() == 0 || g.work() < (g.channels == 1 ? kLeastDepthwise : kLeastWork) ||
      !suits_groups(g, P) || !suits_taps(g, P, dtype))
    return false;
  return dtype == TN_DTYPE_F32 ? is_quickest(g, P) : multiplies(dtype);
}

template <ConvPass P>
void add_pass(KernelList& list, std::string_view schema) {
  list.add({.schema = schema,
            .dtypes = TN_MASK(TN_DTYPE_F32) | TN_MASK_HALF,
            .run = run_plan_of<Plan, run<P>>,
            .priority = 10,
            .supports = supports_of<fits<P>>,
            .prepare = prepare_of<make_plan<P>>,
            .release = release_of<Plan>});
}

}  // namespace

void add_conv_dnnl_kernels(KernelList& list) {
  add_pass<kForward>(list, TN_SCHEMA_CONV);
  add_pass<kInput>(list, TN_SCHEMA_CONV_BACKWARD_INPUT);
  add_pass<kWeight>(list, TN_SCHEMA_CONV_BACKWARD_WEIGHT);
}

}  // namespace tenon::cpu
