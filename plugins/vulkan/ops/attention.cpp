// Attention and its gradients, without a score in memory: shaders/attention.glsl.
#include "../../common/attention_call.hpp"

#include <algorithm>

#include "../../common/attention_kernels.hpp"
#include "kernels.hpp"
#include "ops/tiles.hpp"
#include "shaders/attention.hpp"
#include "shaders/attention_backward.hpp"
#include "shaders/attention_rows.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

constexpr int64_t kMostWidth = 256;

// A result's row is in the registers of a workgroup, as tiles side by side.
Tiles attention_tiles(Compute compute, const Device& device) {
  if (compute == Compute::kF64) return {32, 32, 4, 4, 8};
  return device.is_cpu() || device.group_size() < 256 ? Tiles{64, 64, 8, 8, 16}
                                                      : Tiles{64, 64, 4, 4, 16};
}

template <class arg>
bool supports_widths(const tn_call& call) {
  return std::max(input(call, arg::q).shape[3], input(call, arg::v).shape[3]) <= kMostWidth;
}

// Fills slots from `slot` on, and collects each one's first element and strides over (B, H, N, W), which shaders find in the table.
class Operands {
 public:
  explicit Operands(Launch& launch, uint32_t slot = 0) : launch_(launch), slot_(slot) {}
  void in(const tn_view& view) { add(view, false, {view.strides, view.ndim}); }
  void out(const tn_view& view) { add(view, true, {view.strides, view.ndim}); }
  // A mask has four strides whatever its rank.
  void mask(const AttentionCall& a) {
    a.mask == nullptr ? skip() : add(*a.mask, false, a.mask_strides);
  }
  void skip() {
    launch_.none();
    append(0, {});
    ++slot_;
  }
  // Operands in the order of the table.
  void to_table(std::initializer_list<uint32_t> order) {
    std::vector<uint32_t> table;
    for (const uint32_t k : order)
      table.insert(table.end(), places_.begin() + 5 * k, places_.begin() + 5 * (k + 1));
    launch_.table(table);
  }

 private:
  void add(const tn_view& view, bool write, std::span<const int64_t> strides) {
    if (numel(view) == 0) return skip();
    write ? launch_.out(view) : launch_.in(view);
    append(launch_.bias(slot_++), strides);
  }
  void append(int64_t first, std::span<const int64_t> strides) {
    places_.push_back(static_cast<uint32_t>(first));
    for (uint32_t d = 0; d < 4; ++d)
      places_.push_back(d < strides.size() ? static_cast<uint32_t>(strides[d]) : 0);
  }

  Launch& launch_;
  uint32_t slot_;
  std::vector<uint32_t> places_;
};

// Constants and words as shaders/attention.glsl reads them. `width`: of the result.
void give(Launch& launch, const AttentionCall& a, const Tiles& tiles, int64_t width,
          int64_t copies) {
  const bool allows = a.mask != nullptr && a.mask->dtype == TN_DTYPE_BOOL;
  launch.constant(tiles.code()).constant(tiles.rows).constant(a.q->dtype);
  const int64_t blocks = std::max<int64_t>(1, (width + tiles.columns - 1) / tiles.columns);
  launch.constant(static_cast<uint32_t>(blocks));
  launch.constant(a.mask == nullptr ? 0u : allows ? 1u : 2u).constant(a.causal ? 1u : 0u);
  launch.word(a.heads()).word(a.heads_of_group()).word(copies).word(a.queries()).word(a.keys());
  launch.word(a.width()).word(a.value_width());
  if (compute_of(a.q->dtype) == Compute::kF64)
    launch.real(a.scale);
  else
    launch.word(static_cast<float>(a.scale));
  launch.group_size(tiles.invocations());
}

void run_forward(const tn_call& call) {
  using arg = tenon::arg::attention;
  const AttentionCall a = AttentionCall::read<arg>(call);
  const tn_view &y = output(call, arg::result::y), &lse = output(call, arg::result::lse);
  const int64_t copies = a.batch() * a.heads();
  if (copies * a.queries() == 0) return;
  const Compute compute = compute_of(a.q->dtype);
  const Tiles tiles = attention_tiles(compute, device_of(call));
  Launch launch(call, shaders::attention, compute);
  give(launch, a, tiles, a.value_width(), copies);
  Operands operands(launch);
  operands.out(y);
  operands.out(lse);
  for (const tn_view* view : {a.q, a.k, a.v}) operands.in(*view);
  operands.mask(a);
  operands.to_table({2, 3, 4, 5, 0, 1});
  launch.groups((a.queries() + tiles.rows - 1) / tiles.rows * copies);
}

enum Gradient : uint32_t { kOfQueries, kOfKeys, kOfValues };  // as shaders/attention_backward.comp

uint64_t rows_bytes(const tn_call& call, uint32_t form) {
  const uint32_t lse =
      form == kPacked ? arg::attention_packed_backward::lse : arg::attention_backward::lse;
  const tn_view& view = input(call, lse);
  return 2 * static_cast<uint64_t>(numel(view)) * size_of(view.dtype);
}

// lse and along of each query, into the call's scratch memory.
void prepare_rows(const tn_call& call, const AttentionCall& a) {
  using arg = tenon::arg::attention_backward;
  const tn_view* glse = input_or_null(call, arg::glse);
  const int64_t rows = a.batch() * a.heads() * a.queries();
  Launch launch(call, shaders::attention_rows, compute_of(a.q->dtype));
  launch.constant(a.q->dtype).scratch(0, rows_bytes(call, kPlain));
  launch.word(rows).word(a.heads()).word(a.queries()).word(a.value_width());
  launch.word(glse == nullptr ? 0u : 1u);
  Operands operands(launch, 1);
  for (const tn_view* view : {&input(call, arg::g), &input(call, arg::y), &input(call, arg::lse)})
    operands.in(*view);
  glse == nullptr ? operands.skip() : operands.in(*glse);
  operands.to_table({0, 1, 2, 3});
  launch.elements(rows);
}

void add_gradient(const tn_call& call, const AttentionCall& a, Gradient which,
                  const tn_view& result) {
  if (numel(result) == 0) return;
  const bool of_queries = which == kOfQueries;
  const tn_view* g = &input(call, arg::attention_backward::g);
  const Compute compute = compute_of(a.q->dtype);
  const Tiles tiles = attention_tiles(compute, device_of(call));
  const int64_t copies = result.shape[0] * result.shape[1];
  Launch launch(call, shaders::attention_backward, compute);
  give(launch, a, tiles, result.shape[3], copies);
  launch.constant(which);
  Operands operands(launch);
  operands.out(result);
  operands.in(of_queries ? *a.q : *a.k);
  operands.in(of_queries ? *g : *a.v);
  operands.in(of_queries ? *a.k : *a.q);
  operands.in(of_queries ? *a.v : *g);
  operands.mask(a);
  a.queries() == 0 ? launch.none() : launch.scratch(0, rows_bytes(call, kPlain));
  operands.to_table({1, 2, 3, 4, 5, 0});
  launch.groups((result.shape[2] + tiles.rows - 1) / tiles.rows * copies);
}

void run_backward(const tn_call& call) {
  using arg = tenon::arg::attention_backward;
  const AttentionCall a = AttentionCall::read<arg>(call);
  if (a.batch() * a.heads() * a.queries() != 0) prepare_rows(call, a);
  add_gradient(call, a, kOfQueries, output(call, arg::result::gq));
  add_gradient(call, a, kOfKeys, output(call, arg::result::gk));
  add_gradient(call, a, kOfValues, output(call, arg::result::gv));
}

// For either form of a call.
void run(const tn_call& call, uint32_t form) { with_plain_call<false>(call, form, run_forward); }
void run_gradients(const tn_call& call, uint32_t form) {
  with_plain_call<true>(call, form, run_backward);
}
bool supports(const tn_call& call, uint32_t form) {
  return with_plain_call<false>(call, form, supports_widths<arg::attention>);
}
bool supports_gradients(const tn_call& call, uint32_t form) {
  return with_plain_call<true>(call, form, supports_widths<arg::attention_backward>);
}

}  // namespace

void add_attention_kernels(KernelList& list) {
  add_attention(list,
                {.schema = TN_SCHEMA_ATTENTION,
                 .dtypes = kFloats | kDouble,
                 .run = run,
                 .supports = supports},
                TN_SCHEMA_ATTENTION_PACKED);
  add_attention(list,
                {.schema = TN_SCHEMA_ATTENTION_BACKWARD,
                 .dtypes = kFloats | kDouble,
                 .run = run_gradients,
                 .supports = supports_gradients,
                 .scratch = rows_bytes},
                TN_SCHEMA_ATTENTION_PACKED_BACKWARD);
}

}  // namespace tenon::vulkan
