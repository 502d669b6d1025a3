// Which nodes have to run before which.
#pragma once

#include "ir/graph.hpp"

namespace tenon::graph {

// What touches a buffer keeps its order with what writes it; so do nodes that draw.
struct Dependence {
  explicit Dependence(const Graph& graph);
  std::vector<std::vector<uint32_t>> before, after;  // by node: others, each once
};

}  // namespace tenon::graph
