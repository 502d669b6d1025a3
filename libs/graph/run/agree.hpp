// Whether two graphs compute the same.
#pragma once

#include "ir/graph.hpp"

namespace tenon::graph {

// Runs both on the host with the same made-up inputs (integers are 0) and compares bits. For graphs that say the same in different ways,
// for example where a dimension of one element makes a copy unnecessary. False if either fails.
bool agree(const Graph& a, const Graph& b);

}  // namespace tenon::graph
