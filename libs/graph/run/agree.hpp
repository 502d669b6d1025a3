// Whether two graphs compute the same.
#pragma once

#include "ir/graph.hpp"

namespace tenon::graph {

// Runs both on the host, on the same inputs of any elements (integers are 0), and compares bits. For graphs that differ in how they say
// it, as where a tensor of one element along a dimension needs no copy. False where one fails.
bool agree(const Graph& a, const Graph& b);

}  // namespace tenon::graph
