// What kernels do with a product besides multiplying: activations, and sums in parts.
#pragma once

#include "../common/product.hpp"
#include "kernels.hpp"

namespace tenon::gpu {

// Applies an activation in place to a dense result that a library computed: activate.cpp. [stream-ordered]
void activate(const tn_call& call, const tn_view& result, Activation activation);

// Sums a contiguous x over all dimensions but the last, for a caller that has begun a call; its scratch memory starts at the call's.
// ops/reduce.cpp. [stream-ordered]
void sum_columns(const tn_call& call, const tn_view& x, const tn_view& sums);
uint64_t sum_columns_scratch(const tn_view& x);

// The number of parts for a long sum, if `groups` blocks would leave the device idle; 1: not split.
struct Parts {
  uint32_t count = 1, length = 0;  // length: products in each part
};
Parts split_sum(int64_t k, int64_t groups);

// The number of blocks that keeps a device busy: a few for each multiprocessor.
inline constexpr int64_t kBusy = 256;

}  // namespace tenon::gpu
