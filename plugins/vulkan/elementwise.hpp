// Elementwise kernels: one dispatch over a loop, whatever its layout.
#pragma once

#include "kernels.hpp"

namespace tenon::vulkan {

inline constexpr uint32_t kElementwiseFlags = TN_KERNEL_STRIDED | TN_KERNEL_HOST_SCALARS;

// Dispatches `shader` over the call's loop. Its constants, ids from 1: code, ndim of the layout (0: flat), dtypes of the
// output and the tensor inputs. Its words: elements, for a flat loop the step of each operand, then `words`.
void run_elementwise(const tn_call& call, const Shader& shader, Compute compute, uint32_t code,
                     std::span<const uint32_t> words = {});

}  // namespace tenon::vulkan
