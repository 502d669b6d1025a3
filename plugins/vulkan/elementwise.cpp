#include "elementwise.hpp"

#include <algorithm>

namespace tenon::vulkan {
namespace {

constexpr uint32_t kMostOperands = 4;

// Four elements are aligned to 16 bytes, or to their own total size if that is smaller.
bool on_boundary(const tn_view& view) {
  return view.offset % std::min<uint64_t>(16, uint64_t{4} * size_of(view.dtype)) == 0;
}

// Bit k: operand k can be read four elements at a time; the other operands have one value along a row. 0: an operand is neither, or rows do
// not consist of fours (except the last of a flat loop).
uint32_t dense_operands(const tn_loop& loop, const tn_view* const* operands, uint32_t count,
                        bool flat) {
  if (loop.ndim == 0) return 0;
  const uint32_t last = loop.ndim - 1;
  if (flat ? loop.shape[last] < 4 : loop.shape[last] % 4 != 0) return 0;
  uint32_t dense = 0;
  for (uint32_t k = 0; k < count; ++k) {
    const int64_t* strides = loop.strides[k];
    if (strides[last] == 0 && k > 0) continue;
    if (strides[last] != 1 || !on_boundary(*operands[k])) return 0;
    for (uint32_t d = 0; d < last; ++d)
      if (strides[d] < 0 || strides[d] % 4 != 0) return 0;
    dense |= 1u << k;
  }
  return dense;
}

// One dimension without negative strides: positions are multiples of the element number.
bool is_flat(const tn_loop& loop, uint32_t count) {
  for (uint32_t k = 0; loop.ndim == 1 && k < count; ++k)
    if (loop.strides[k][0] < 0) return false;
  return loop.ndim <= 1;
}

}  // namespace

void run_elementwise(const tn_call& call, const Shader& shader, Compute compute, uint32_t code,
                     std::span<const uint32_t> words) {
  const tn_loop& loop = *call.loop;
  const tn_view* operands[kMostOperands] = {call.outs[0]};
  uint32_t count = 1;
  for (uint32_t i = 0; i < call.nargs; ++i)
    if (call.args[i].tag == TN_VALUE_VIEW) operands[count++] = call.args[i].as.view;

  int64_t elements = 1;
  for (uint32_t d = 0; d < loop.ndim; ++d) elements *= loop.shape[d];
  const bool flat = is_flat(loop, count);
  const uint32_t dense = dense_operands(loop, operands, count, flat);
  Launch launch(call, shader, compute);
  launch.constant(code).constant(flat ? 0 : loop.ndim);
  for (uint32_t k = 0; k < kMostOperands; ++k) launch.constant(k < count ? operands[k]->dtype : 0);
  launch.constant(dense);
  launch.out(*operands[0]);
  for (uint32_t k = 1; k < count; ++k) launch.in(*operands[k]);
  launch.word(elements);
  for (uint32_t k = 0; k < kMostOperands; ++k)
    launch.word(flat && loop.ndim != 0 && k < count ? loop.strides[k][0] : int64_t{0});
  for (const uint32_t word : words) launch.word(word);
  if (!flat) launch.layout(loop);
  launch.elements(dense != 0 ? (elements + 3) / 4 : elements);
}

}  // namespace tenon::vulkan
