// How shaders/tiles.glsl cuts a product into tiles, and long sums into parts.
#pragma once

#include <cstdint>

#include "kernels.hpp"

namespace tenon::vulkan {

struct Extent {
  int64_t m, n, k;
};

struct Tiles {
  uint32_t rows, columns;      // of a tile
  uint32_t of_row, of_column;  // sums of an invocation
  uint32_t depth;              // products between barriers
  uint32_t invocations() const { return rows / of_row * (columns / of_column); }
  int64_t count(const Extent& size) const;
  uint32_t code() const;  // specialization constant 1; 2 is `rows`
};

// Matrices as they lie; or elements found with more work, whose long sums may be split or not.
enum Operands : uint32_t { kMatrices, kGatheredSplit, kGathered };

// For `copies` products of that size.
Tiles choose_tiles(const Extent& size, int64_t copies, Compute compute, const Device& device,
                   Operands operands);

// The parts that share a long sum, where `groups` workgroups would leave the device idle; 1: the sum is not split.
struct Parts {
  int64_t count = 1, length = 0;  // length: products of a part
};
Parts split_sum(int64_t k, int64_t groups, const Device& device);

// The dtype that keeps partial sums.
uint32_t sum_dtype(Compute compute);
uint64_t sum_bytes(Compute compute);

// The output of a call is the sum of `parts` × `results` partial sums in its scratch memory.
void add_parts(const tn_call& call, Compute compute, int64_t results, const Parts& parts);

}  // namespace tenon::vulkan
