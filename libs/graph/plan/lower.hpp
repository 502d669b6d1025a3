// A graph for one device.
#pragma once

#include "ir/graph.hpp"

namespace tenon::graph {

// The same results by the calls that the device's kernels take: what has no kernel there is made of other ops, operands lie as kernels
// want them, and each node has its kernel. It is found by calling the nodes on trace:0, so nothing in a graph is taken for granted:
// rules of ops check what a file says. Throws Error.
Graph lower(const Graph& graph, const Device& target);

// A graph that was lowered, some of whose buffers' views were given other strides: the nodes that touch those become what the device takes
// for them. Kernels that were made for nodes stay.
Graph lower_again(const Graph& graph, const Device& target, const std::vector<bool>& changed);

}  // namespace tenon::graph
