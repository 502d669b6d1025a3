// How to cut a product into the tiles of shaders/tiles.glsl, and long sums into parts.
#pragma once

#include <cstdint>

#include "kernels.hpp"

namespace tenon::vulkan {

struct Extent {
  int64_t m, n, k;
};

struct Tiles {
  uint32_t rows, columns;      // of a tile
  uint32_t of_row, of_column;  // sums in each invocation
  uint32_t depth;              // products between barriers
  uint32_t invocations() const { return rows / of_row * (columns / of_column); }
  int64_t count(const Extent& size) const;
  uint32_t code() const;  // specialization constant 1; 2 is `rows`
};

// Matrices in memory; or elements that cost more to find, whose long sums may be split or not.
enum Operands : uint32_t { kMatrices, kGatheredSplit, kGathered };

// For `copies` products of that size.
Tiles choose_tiles(const Extent& size, int64_t copies, Compute compute, const Device& device,
                   Operands operands);

// The number of parts for a long sum, if `groups` workgroups would leave the device idle; 1: not split.
struct Parts {
  int64_t count = 1, length = 0;  // length: products in each part
};
Parts split_sum(int64_t k, int64_t groups, const Device& device);

// The dtype of partial sums.
uint32_t sum_dtype(Compute compute);
uint64_t sum_bytes(Compute compute);

// Adds up `parts` × `results` partial sums in the call's scratch memory to its output.
void add_parts(const tn_call& call, Compute compute, int64_t results, const Parts& parts);

}  // namespace tenon::vulkan
