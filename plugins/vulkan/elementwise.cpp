#include "elementwise.hpp"

namespace tenon::vulkan {

void run_elementwise(const tn_call& call, const Shader& shader, Compute compute, uint32_t code,
                     std::span<const uint32_t> words) {
  constexpr uint32_t kMostOperands = 4;
  const tn_loop& loop = *call.loop;
  const tn_view* operands[kMostOperands] = {call.outs[0]};
  uint32_t count = 1;
  for (uint32_t i = 0; i < call.nargs; ++i)
    if (call.args[i].tag == TN_VALUE_VIEW) operands[count++] = call.args[i].as.view;

  int64_t elements = 1;
  for (uint32_t d = 0; d < loop.ndim; ++d) elements *= loop.shape[d];
  const bool flat = (call.flags & TN_CALL_CONTIGUOUS) != 0 || loop.ndim == 0;
  Launch launch(call, shader, compute);
  launch.constant(code).constant(flat ? 0 : loop.ndim);
  for (uint32_t k = 0; k < count; ++k) launch.constant(operands[k]->dtype);
  launch.out(*operands[0]);
  for (uint32_t k = 1; k < count; ++k) launch.in(*operands[k]);
  launch.word(elements);
  for (uint32_t k = 0; k < kMostOperands; ++k)
    launch.word(flat && loop.ndim != 0 && k < count ? loop.strides[k][0] : int64_t{0});
  for (const uint32_t word : words) launch.word(word);
  if (!flat) launch.layout(loop);
  launch.elements(elements);
}

}  // namespace tenon::vulkan
