// Nodes that run over the same elements become one kernel, where the device's plugin makes it.
#pragma once

#include "fuse/fused.hpp"

namespace tenon::graph {

// Changes the graph, lowered to the device. Returns why nodes that might have run together do not: a line each.
std::vector<std::string> fuse(Graph& graph, const Device& device);

}  // namespace tenon::graph
