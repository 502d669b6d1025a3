// Turns small tensors that the function makes from sizes on the host into ops, whose numbers follow the sizes.
#pragma once

#include <span>

#include "ir/graph.hpp"

namespace tenon::graph {

// The buffers of small tensors from outside that hold other numbers in `other` than in `first`. Graphs of other buffers have none.
std::vector<uint32_t> numbers_that_differ(const Graph& first, const Graph& other);
// Makes them from their elements by ops at the beginning of the graph. Returns whether all of them could be.
bool lift(Graph& graph, std::span<const uint32_t> buffers);

}  // namespace tenon::graph
