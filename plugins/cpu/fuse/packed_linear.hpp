// linear in f32 whose weight is laid out once, not in each call, with the activations and sums behind it.
#pragma once

#include <optional>
#include <vector>

#include "../../common/product.hpp"
#include "fuse/anchored_kernel.hpp"

namespace tenon::cpu {

// An expression as it was read. Numbers of operands, where 0 says that there is none.
struct PackedLinearRecipe {
  int64_t m = 0, n = 0, k = 0;
  uint32_t x = 0, weight = 0, bias = 0;
  // What happens to the sums, in order: an activation, or the addition of an operand.
  struct Step {
    Activation activation = kNone;
    uint32_t operand = 0;
  };
  std::vector<Step> steps;
};
// None where the anchor is something else. Throws as cost_of_anchored does.
std::optional<PackedLinearRecipe> read_packed_linear(const tn_graph_expression& expression,
                                                     const KnownKernels& kernels);
std::unique_ptr<AnchoredKernel> make_packed_linear(PackedLinearRecipe recipe);

}  // namespace tenon::cpu
