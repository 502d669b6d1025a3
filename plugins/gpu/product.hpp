// What kernels do with a product beside multiplying: activations, and sums in parts.
#pragma once

#include "../common/product.hpp"
#include "kernels.hpp"

namespace tenon::gpu {

// Of a dense result in place, for products that a library computed: activate.cpp. [stream-ordered]
void activate(const tn_call& call, const tn_view& result, Activation activation);

// Σ over all dimensions of a contiguous x but the last, for whoever has begun a call; its scratch memory begins with the call's.
// ops/reduce.cpp. [stream-ordered]
void sum_columns(const tn_call& call, const tn_view& x, const tn_view& sums);
uint64_t sum_columns_scratch(const tn_view& x);

// The parts that share a long sum, where `groups` blocks would leave the device idle; 1: the sum is not split.
struct Parts {
  uint32_t count = 1, length = 0;  // length: products of a part
};
Parts split_sum(int64_t k, int64_t groups);

// Blocks that keep a device busy: some for each of its multiprocessors.
inline constexpr int64_t kBusy = 256;

}  // namespace tenon::gpu
