// A graph as a drawing.
#pragma once

#include "plan/arena.hpp"

namespace tenon::graph {

// An SVG document with a box for each input, node and result below the boxes it reads. A box shows its weights, its results and their place
// in memory; the tooltip has the whole node. Bodies of control flow are drawn inside their node.
std::string to_svg(const Graph& graph, const Arena& arena);

}  // namespace tenon::graph
