// Whether traces of one function at several sizes are the same but for numbers.
#pragma once

#include <string>

#include "ir/graph.hpp"

namespace tenon::graph {

// Throws Error(TN_FAILED_PRECONDITION) with the op where they part; `when` names the sizes of `b`.
void check_structure(const Graph& a, const Graph& b, const std::string& when);
// Tensors from outside are one at all sizes, or hold the same. Throws Error(TN_FAILED_PRECONDITION).
void check_held(const Graph& a, const Graph& b);
// Whether all numbers are the same, too; steps over dimensions of one element tell nothing.
bool alike(const Graph& a, const Graph& b);

}  // namespace tenon::graph
