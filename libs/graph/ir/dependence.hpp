// Which nodes have to run before which.
#pragma once

#include "ir/graph.hpp"

namespace tenon::graph {

// A node keeps its order with every node that writes what it touches, and with every other node that draws random numbers.
struct Dependence {
  explicit Dependence(const Graph& graph);
  std::vector<std::vector<uint32_t>> before, after;  // by node: the other nodes, each once
};

}  // namespace tenon::graph
