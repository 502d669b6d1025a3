// Kernels of expressions with an anchor.
#pragma once

#include <memory>

#include "fuse/compile.hpp"

namespace tenon::cpu {

class AnchoredKernel {
 public:
  AnchoredKernel() = default;
  AnchoredKernel(const AnchoredKernel&) = delete;
  AnchoredKernel& operator=(const AnchoredKernel&) = delete;
  virtual ~AnchoredKernel() = default;
  // Not while it runs. `views`: of all operands.
  virtual void pack(const tn_view* const* views) = 0;
  virtual void run(const tn_call& call) const = 0;
};

bool has_anchor(const tn_graph_expression& expression);
// Whether the op of the anchor has kernels here. Each node of a graph is tried as an anchor, and what throws takes ten times as long.
bool knows_anchor(const tn_graph_expression& expression, const KnownKernels& kernels);
// Both throw sdk::Error: TN_UNIMPLEMENTED for what there is no kernel for. Nanoseconds, about.
double cost_of_anchored(const tn_graph_expression& expression, const KnownKernels& kernels);
// `like`: NULL, or the kernel that expression.like is.
std::unique_ptr<AnchoredKernel> compile_anchored(const tn_graph_expression& expression,
                                                 const KnownKernels& kernels,
                                                 const AnchoredKernel* like);

}  // namespace tenon::cpu
