// Shows a lowered graph with its kernels and memory.
#pragma once

#include "plan/arena.hpp"

namespace tenon::graph {

// One line for each kernel, with the place of its results. Below a fused kernel come the nodes that it computes, and at the end why others
// run alone.
std::string explain(const Graph& graph, const Arena& arena,
                    const std::vector<std::string>& refused);

// Where a run keeps the elements of a view: "arena f32 at 0, 128 bytes".
std::string place_of(const View& view, const Graph& graph, const Arena& arena);

}  // namespace tenon::graph
