#include "elementwise.hpp"

#include <algorithm>

namespace tenon::vulkan {
namespace {

constexpr uint32_t kMostOperands = 4;

// Bit k: operand k is contiguous, and begins where four elements (at most 16 bytes) may be read at once. 0 unless every operand is
// that, or one value.
uint32_t dense_operands(const tn_loop& loop, const tn_view* const* operands, uint32_t count) {
  uint32_t dense = 0;
  for (uint32_t k = 0; k < count; ++k) {
    if (loop.strides[k][0] == 0 && k > 0) continue;
    const uint64_t boundary = std::min<uint64_t>(16, uint64_t{4} * size_of(operands[k]->dtype));
    if (loop.strides[k][0] != 1 || operands[k]->offset % boundary != 0) return 0;
    dense |= 1u << k;
  }
  return dense;
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
  const bool flat = (call.flags & TN_CALL_CONTIGUOUS) != 0 || loop.ndim == 0;
  const uint32_t dense = flat && elements >= 4 ? dense_operands(loop, operands, count) : 0;
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
