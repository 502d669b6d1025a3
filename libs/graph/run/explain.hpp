// A lowered graph with its kernels and memory, as people read it.
#pragma once

#include "plan/arena.hpp"

namespace tenon::graph {

// A line a kernel, with the place of its results; below a fused one the nodes that it computes; last, why others run alone.
std::string explain(const Graph& graph, const Arena& arena,
                    const std::vector<std::string>& refused);

// Where a run finds what a view shows: "arena f32 at 0, 128 bytes".
std::string place_of(const View& view, const Graph& graph, const Arena& arena);

}  // namespace tenon::graph
