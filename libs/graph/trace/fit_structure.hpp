// Checks that traces at several sizes differ only in their numbers.
#pragma once

#include <string>

#include "ir/graph.hpp"

namespace tenon::graph {

// Throws Error(TN_FAILED_PRECONDITION) with the op where they differ. `when` describes the sizes of `b`.
void check_structure(const Graph& a, const Graph& b, const std::string& when);
// Each outside tensor must be the same at all sizes, or hold the same elements. Throws Error(TN_FAILED_PRECONDITION).
void check_held(const Graph& a, const Graph& b);
// Whether all numbers are equal too. The stride of a dimension of one element does not count.
bool alike(const Graph& a, const Graph& b);

}  // namespace tenon::graph
