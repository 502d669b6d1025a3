// Passes over a lowered graph. Each leaves the bits of the results as they are (the payload of signalling NaN aside), but for anchored kernels
// (fuse/anchored.hpp), which are left out where they are to be exact.
#pragma once

#include "pass/decisions.hpp"

namespace tenon::graph {

// All of them, in their order. `bound`: nodes run their kernels, which may be fused by the device's plugin, and write over operands; else
// they are calls. `decided`, NULL or of this program alone: what holds at other sizes is taken from there, and what is decided added. Returns why
// nodes that might run together do not.
std::vector<std::string> optimise(Graph& graph, const Device& device, bool bound, bool exact,
                                  Decided* decided);

// A node that computes what an earlier one has computed goes.
void share_equal(Graph& graph);
// Nodes whose result is an operand, or that of an earlier node, go: x * 1, -(-x), copies that lie alike.
void simplify(Graph& graph);
// Results of elementwise nodes lie where an operand lay that nothing wants any more.
void reuse_operands(Graph& graph);
// The order that takes the smallest arena, of three: as recorded, depth first, whatever frees most next.
std::vector<uint32_t> best_order(const Graph& graph);

}  // namespace tenon::graph
