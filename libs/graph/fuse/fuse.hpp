// Nodes that run over the same elements become one kernel, where the device's plugin makes it.
#pragma once

#include "fuse/fused.hpp"
#include "pass/decisions.hpp"

namespace tenon::graph {

// Changes the graph, lowered to the device. Tells which nodes run as one, and, a line each, why others do not that might have.
void fuse(Graph& graph, const Device& device, Decisions& made);
// Fuses the nodes that were fused in a graph of the same structure. False, and the graph as it was, where they cannot at these sizes.
bool fuse_again(Graph& graph, const Device& device,
                const std::vector<std::vector<uint32_t>>& steps);

}  // namespace tenon::graph
