// Where the buffers that live only inside a graph lie.
#pragma once

#include <map>

#include "ir/graph.hpp"

namespace tenon::graph {

// One arena a dtype: buffers whose lives do not meet share its elements.
struct Arena {
  std::vector<int64_t> offsets;    // by buffer, in elements of its dtype; -1: it lies elsewhere
  std::map<DType, int64_t> sizes;  // elements
  uint64_t bytes = 0;              // of all arenas
  uint64_t apart = 0;              // what the buffers take if none shares
};

// The largest buffers first, each at the lowest offset that is free while it lives
// (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020: greedy by size).
Arena plan_arena(const Graph& graph);
// For nodes that run in this order.
Arena plan_arena(const Graph& graph, std::span<const uint32_t> order);

}  // namespace tenon::graph
