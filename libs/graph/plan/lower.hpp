// Fits a graph to one device.
#pragma once

#include "ir/graph.hpp"

namespace tenon::graph {

// Computes the same results by calls that the device has kernels for. Ops without a kernel are decomposed, operands get the layout that the
// kernels take, and each node gets its kernel. All this is found by calling the nodes on trace:0, so the rules of the ops check whatever a
// file claims. Throws Error.
Graph lower(const Graph& graph, const Device& target);

// Lowers nodes again whose buffers' views were given other strides. Keeps kernels that were made for other nodes.
Graph lower_again(const Graph& graph, const Device& target, const std::vector<bool>& changed);

}  // namespace tenon::graph
