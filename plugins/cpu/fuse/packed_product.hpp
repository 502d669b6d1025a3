// Products of integers of eight bits whose weight is laid out once, not in each call: linear_integer and linear_w8a8.
#pragma once

#include <optional>

#include "fuse/anchored_kernel.hpp"

namespace tenon::cpu {

// An expression as it was read.
struct PackedProductRecipe {
  bool quantizes = false;          // x is of reals: linear_w8a8
  std::vector<uint32_t> operands;  // by argument of the op; 0 where there is none
  uint32_t weight = 0;             // an operand
  int64_t rows = 0, outputs = 0, n = 0;
};
// None where the anchor is something else. Throws as cost_of_anchored does.
std::optional<PackedProductRecipe> read_packed_product(const tn_graph_expression& expression,
                                                       const KnownKernels& kernels);
// `like`: as of compile_anchored.
std::unique_ptr<AnchoredKernel> make_packed_product(PackedProductRecipe recipe,
                                                    const AnchoredKernel* like);

}  // namespace tenon::cpu
