// Fuses nodes that run over the same elements into one kernel, if the device's plugin can make it.
#pragma once

#include "fuse/fused.hpp"
#include "pass/decisions.hpp"

namespace tenon::graph {

// Changes a graph that was lowered to the device. `made` gets which nodes run as one, and a line for each reason why others might have but
// do not.
void fuse(Graph& graph, const Device& device, Decisions& made);
// Fuses the same nodes as in another graph of the same structure. If that is impossible at these sizes, returns false and leaves the graph
// unchanged.
bool fuse_again(Graph& graph, const Device& device,
                const std::vector<std::vector<uint32_t>>& steps);

}  // namespace tenon::graph
