// Two traces of one function, with other numbers each, as one graph.
#pragma once

#include "ir/graph.hpp"

namespace tenon::graph {

// The first graph, in which the arguments that follow a number of the function's (Graph::symbols) stand for it. Both must be the same
// else: throws Error(TN_FAILED_PRECONDITION) with the op where they part, or whose argument is computed from such a number.
Graph fit(Graph first, const Graph& second);

// Whether two tensors from outside are the same memory, or hold the same.
bool same_tensor(const Tensor& a, const Tensor& b);

// Throws Error(TN_FAILED_PRECONDITION).
[[noreturn]] inline void refuse(const std::string& why) {
  throw Error(TN_FAILED_PRECONDITION, "[graph] " + why);
}

}  // namespace tenon::graph
