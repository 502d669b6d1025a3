// The kernel of plugins/gpu itself for an op that a vendor's library computes, too: for calls that the library turns out, when
// their plan is made, to have nothing for.
#pragma once

#include <string_view>

#include "kernels.hpp"

namespace tenon::gpu {

// Its prepare is NULL: it runs without a plan. [thread-safe]
const tn_kernel& own_kernel(std::string_view schema);

// Whether the kernel takes the call; an error counts as no.
bool is_taken_by(const tn_kernel& kernel, const tn_call& call);
// Bytes of scratch memory.
inline uint64_t scratch_of(const tn_kernel& kernel, const tn_call& call) {
  return kernel.scratch_size != nullptr ? kernel.scratch_size(kernel.self, &call, nullptr) : 0;
}

}  // namespace tenon::gpu
