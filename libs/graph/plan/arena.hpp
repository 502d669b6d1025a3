// Places in memory for the buffers that live only inside a graph.
#pragma once

#include <map>

#include "ir/graph.hpp"

namespace tenon::graph {

// One arena for each dtype. Buffers whose lifetimes do not overlap share its elements.
struct Arena {
  std::vector<int64_t> offsets;    // by buffer, in elements of its dtype; -1: not in an arena
  std::map<DType, int64_t> sizes;  // elements
  uint64_t bytes = 0;              // total of all arenas
  uint64_t apart = 0;              // what the buffers would take without sharing
};

// Places the largest buffers first, each at the lowest offset that is free during its life (Pisarchyk and Lee, "Efficient Memory Management
// for Deep Neural Net Inference", 2020: greedy by size).
Arena plan_arena(const Graph& graph);
// `order`: the order in which nodes run.
Arena plan_arena(const Graph& graph, std::span<const uint32_t> order);

}  // namespace tenon::graph
