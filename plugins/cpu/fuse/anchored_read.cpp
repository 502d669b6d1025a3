#include <algorithm>
#include <cstring>
#include <optional>

#include "../../common/conv_geometry.hpp"
#include "../../common/pool_geometry.hpp"
#include "dispatch.hpp"
#include "fuse/anchor_reader.hpp"
#include "fuse/anchored.hpp"

namespace tenon::cpu {
namespace {

// Multiplications below which the fixed cost of a primitive shows.
constexpr double kLeastWork = 300'000, kLeastDepthwise = 50'000;

Two last_two(const std::array<int64_t, 3>& sizes) { return {sizes[1], sizes[2]}; }

class Reader : AnchorReader {
 public:
  using AnchorReader::AnchorReader;

  AnchoredRecipe read() {
    for (uint32_t i = 0; i < expression_.nnodes; ++i) {
      const tn_graph_node& node = expression_.nodes[i];
      if (node.kind == TN_GRAPH_ANCHOR)
        anchor(i);
      else if (node.kind == TN_GRAPH_OP && before_ == kNone)
        copy_ = i;
      else if (node.kind == TN_GRAPH_OP)
        epilogue(i);
    }
    return std::move(recipe_);
  }

 private:
  void anchor(uint32_t at) {
    const tn_graph_node& node = expression_.nodes[at];
    const std::string_view op = schema(node);
    before_ = at;
    if (op == TN_SCHEMA_LINEAR_INTEGER) return integers(node);
    if (copy_ != kNone) cannot("what it reads is a copy");
    const auto x = operand(node, 0);
    const tn_view& y = *expression_.views[0];
    const bool bytes =
        op == TN_SCHEMA_MAX_POOL && (y.dtype == TN_DTYPE_U8 || y.dtype == TN_DTYPE_I8);
    if (!x || y.ndim != 4 || (y.dtype != TN_DTYPE_F32 && !bytes) ||
        expression_.views[*x]->dtype != y.dtype)
      cannot("it is not of images in f32");
    recipe_.x = *x;
    with_call(node, [&](const tn_call& call) {
      if (op == TN_SCHEMA_CONV)
        convolution(node, call);
      else if (op == TN_SCHEMA_MAX_POOL)
        pooling(call);
      else
        cannot("there is no kernel for it with others");
    });
  }

  // Its rows may be a copy of windows.
  void integers(const tn_graph_node& node) {
    using arg = arg::linear_integer;
    const bool copied = copy_ != kNone && node.inputs[arg::x] == copy_;
    if (copied) {
      const std::string_view op = schema(expression_.nodes[copy_]);
      if (op != TN_SCHEMA_CLONE && op != TN_SCHEMA_CONTIGUOUS) cannot("what it reads is no copy");
    }
    const auto x = copied ? operand(expression_.nodes[copy_], 0) : operand(node, arg::x);
    if (!x || (copy_ != kNone && !copied)) cannot("it is not of windows");
    recipe_.integers = true;
    recipe_.x = *x;
    recipe_.weight = constant(node, arg::weight, TN_DTYPE_I8);
    if (!sums_are_exact()) cannot("the processor's sums of bytes are not exact");
    if (!read_integers(*expression_.views[*x], *expression_.views[recipe_.weight],
                       *expression_.views[0], recipe_.window))
      cannot("its rows are no windows of an image");
    check(kLeastWork);
  }

  void convolution(const tn_graph_node& node, const tn_call& call) {
    recipe_.weight = constant(node, arg::conv::weight);
    recipe_.bias = constant(node, arg::conv::bias);
    const ConvGeometry g(call, kForward);
    ImageWindow& w = recipe_.window;
    w = {g.batch,
         g.channels * g.groups,
         g.filters * g.groups,
         g.groups,
         last_two(g.in),
         last_two(g.out),
         last_two(g.kernel),
         last_two(g.stride),
         last_two(g.padding),
         last_two(g.dilation)};
    check(g.channels == 1 ? kLeastDepthwise : kLeastWork);
  }

  void pooling(const tn_call& call) {
    const PoolGeometry g(call, kMaxPool);
    const tn_view& x = *call.args[arg::max_pool::x].as.view;
    recipe_.pools = true;
    recipe_.window = {x.shape[0],          x.shape[1],         x.shape[1],
                      x.shape[1],          last_two(g.in),     last_two(g.out),
                      last_two(g.kernel),  last_two(g.stride), last_two(g.padding),
                      last_two(g.dilation)};
    check(kLeastDepthwise);
  }

  void check(double least) const {
    const ImageWindow& w = recipe_.window;
    if (w.work() < least) cannot("it is too small");
    for (size_t d = 0; d < 2; ++d)
      if (w.in[d] < 1 || w.out[d] < 1 || w.padding[d] > (w.kernel[d] - 1) * w.dilation[d])
        cannot("its windows do not fit");
  }

  void epilogue(uint32_t at) {
    const tn_graph_node& node = expression_.nodes[at];
    const std::string_view op = schema(node);
    if (recipe_.integers) cannot("products of integers stand alone");
    if (std::count(node.inputs, node.inputs + node.nargs, before_) != 1)
      cannot("it does not go over what the anchor gives, once");
    if (op == TN_SCHEMA_BATCH_NORM)
      norm(node);
    else if (op == TN_SCHEMA_ADD)
      add(node);
    else
      activation(node, op);
    before_ = at;
  }

  void norm(const tn_graph_node& node) {
    if (recipe_.pools || recipe_.norm.is || !recipe_.epilogues.empty() ||
        node.args[arg::batch_norm::training].as.i != 0)
      cannot("it does not go into the weights");
    recipe_.norm = {true,
                    constant(node, arg::batch_norm::weight),
                    constant(node, arg::batch_norm::bias),
                    constant(node, arg::batch_norm::running_mean),
                    constant(node, arg::batch_norm::running_var),
                    node.args[arg::batch_norm::eps].as.f};
    if (recipe_.norm.mean == 0 || recipe_.norm.var == 0) cannot("it has no statistics");
  }

  void add(const tn_graph_node& node) {
    const auto other = operand(node, node.inputs[0] == before_ ? 1 : 0);
    if (!other || recipe_.pools) cannot("what it adds is no tensor");
    const tn_view &y = *expression_.views[0], &z = *expression_.views[*other];
    if (z.dtype != TN_DTYPE_F32 || z.ndim != y.ndim ||
        !std::equal(z.shape, z.shape + z.ndim, y.shape))
      cannot("what it adds has another shape");
    recipe_.epilogues.push_back({dnnl::algorithm::binary_add, 0, 0, *other});
  }

  // Those that are quicker in oneDNN's kernels than as a loop behind them.
  void activation(const tn_graph_node& node, std::string_view op) {
    using dnnl::algorithm;
    if (recipe_.pools) cannot("poolings stand alone");
    Epilogue made;
    if (op == TN_SCHEMA_RELU)
      made.op = algorithm::eltwise_relu;
    else if (op == TN_SCHEMA_GELU)
      made.op = gelu(node.args[arg::gelu::approximate]);
    else if (op == TN_SCHEMA_CLAMP)
      made = {algorithm::eltwise_clip, bound(node, arg::clamp::min), bound(node, arg::clamp::max)};
    else
      cannot("it is not among what goes over an anchor");
    recipe_.epilogues.push_back(made);
  }

  static dnnl::algorithm gelu(const tn_value& approximate) {
    return std::string_view(approximate.as.str, approximate.count) == "tanh"
               ? dnnl::algorithm::eltwise_gelu_tanh
               : dnnl::algorithm::eltwise_gelu_erf;
  }

  // A number of clamp's.
  float bound(const tn_graph_node& node, uint32_t arg) const {
    const tn_value& value = node.args[arg];
    if (node.inputs[arg] == TN_GRAPH_ATTRIBUTE) {
      if (value.tag == TN_VALUE_FLOAT) return static_cast<float>(value.as.f);
      if (value.tag == TN_VALUE_INT) return static_cast<float>(value.as.i);
      cannot("it has one bound");
    }
    const tn_graph_node& from = expression_.nodes[node.inputs[arg]];
    if (from.kind != TN_GRAPH_NUMBER || from.dtype != TN_DTYPE_F32) cannot("a bound is no number");
    float number = 0;
    std::memcpy(&number, from.number, sizeof number);
    return number;
  }

  AnchoredRecipe recipe_;
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t before_ = kNone;  // the node that the next one goes over; none before the anchor
  uint32_t copy_ = kNone;    // the node before the anchor
};

}  // namespace

bool ImageWindow::is_pointwise() const {
  constexpr Two kOnes{1, 1}, kZeros{0, 0};
  return kernel == kOnes && stride == kOnes && padding == kZeros;
}

double ImageWindow::work() const {
  const int64_t taps = channels / groups * kernel[0] * kernel[1];
  return static_cast<double>(batch * filters * out[0] * out[1]) * static_cast<double>(taps);
}

AnchoredRecipe read_anchored(const tn_graph_expression& expression, const KnownKernels& kernels) {
  return Reader(expression, kernels).read();
}

}  // namespace tenon::cpu
