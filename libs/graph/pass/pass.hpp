// Passes over a graph, lowered unless it says otherwise. Each keeps the exact bits of the results (except the payload of signalling NaNs).
// Anchored kernels (fuse/anchored.hpp) round differently and are left out when results must be exact.
#pragma once

#include "pass/decisions.hpp"

namespace tenon::graph {

struct Rules {
  bool exact;  // no anchors
  bool sized;  // the graph is one of those that some sizes each have of their own
};

// Runs all passes in order. `bound`: nodes run their kernels, so the plugin may fuse them and results may overwrite operands; otherwise
// nodes are calls. `decided`: NULL, or the program's own decisions, which are reused and added to. Returns why nodes that might have been
// fused were not.
std::vector<std::string> optimise(Graph& graph, const Device& device, bool bound, Rules rules,
                                  Decided* decided);

// Before lowering: a sum of slices that lie side by side, each put into zeros of its own, becomes writes of the slices into one result. So
// gradients of chunk, split and unbind take one pass over memory. None if there is no such sum.
std::optional<Graph> join_slices(const Graph& graph);
// A buffer that a node writes anew as a whole becomes another one from there on, so that both hold one value each: `x.silu_()` as `y = silu(x)`.
void separate(Graph& graph);
// Removes a node that repeats an earlier one.
void share_equal(Graph& graph);
// Removes nodes whose result equals an operand or an earlier result: x * 1, -(-x), copies with the same layout.
void simplify(Graph& graph);
// Puts results of elementwise nodes into the memory of operands that nothing reads any more.
void reuse_operands(Graph& graph);
// Chooses the order with the smallest arena from three: as recorded, depth first, and freeing the most memory next.
std::vector<uint32_t> best_order(const Graph& graph);

}  // namespace tenon::graph
