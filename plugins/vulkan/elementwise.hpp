// Elementwise kernels: one dispatch over a loop of any layout.
#pragma once

#include <array>

#include "kernels.hpp"

namespace tenon::vulkan {

// Dispatches `shader` over the call's loop. Its constants, ids from 1: code, ndim of the layout (0:
// flat), dtypes of the output and the tensor inputs, which operands come in quads. Its words:
// elements, for a flat loop the step of each operand, then `words`.
void run_elementwise(const tn_call& call, const Shader& shader, Compute compute, uint32_t code,
                     std::span<const uint32_t> words = {});

// Attributes as the shader's C, two words each: an f64, or an f32 and padding.
template <class... Real>
std::array<uint32_t, 2 * sizeof...(Real)> attributes(Compute compute, Real... values) {
  std::array<uint32_t, 2 * sizeof...(Real)> words{};
  uint32_t at = 0;
  for (const double value : {static_cast<double>(values)...}) {
    const uint64_t bits = std::bit_cast<uint64_t>(value);
    words[at++] = compute == Compute::kF64 ? static_cast<uint32_t>(bits)
                                           : std::bit_cast<uint32_t>(static_cast<float>(value));
    words[at++] = compute == Compute::kF64 ? static_cast<uint32_t>(bits >> 32) : 0;
  }
  return words;
}

}  // namespace tenon::vulkan
