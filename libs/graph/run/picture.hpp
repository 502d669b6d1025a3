// A graph as a drawing.
#pragma once

#include "plan/arena.hpp"

namespace tenon::graph {

// An SVG document: a box for each input, node and result, below the boxes that it reads, with the weights that it reads, what it gives, where
// that lies in memory, and, as its tooltip, the whole node. Bodies of control flow are drawn inside their node.
std::string to_svg(const Graph& graph, const Arena& arena);

}  // namespace tenon::graph
