// Merges two traces of one function, made with different numbers, into one graph.
#pragma once

#include "ir/graph.hpp"

namespace tenon::graph {

// Returns the first graph with a symbol in place of each argument that follows one of the function's numbers (Graph::symbols). Otherwise
// the two must be equal. Throws Error(TN_FAILED_PRECONDITION) with the op where they differ, or with an op whose argument is computed from
// such a number.
Graph fit(Graph first, const Graph& second);

// Whether two outside tensors are the same memory, or hold the same elements.
bool same_tensor(const Tensor& a, const Tensor& b);

// Throws Error(TN_FAILED_PRECONDITION).
[[noreturn]] inline void refuse(const std::string& why) {
  throw Error(TN_FAILED_PRECONDITION, "[graph] " + why);
}

}  // namespace tenon::graph
