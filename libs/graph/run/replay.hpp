// A node called as a program would call its op.
#pragma once

#include "ir/graph.hpp"

namespace tenon::graph {

// The elements of a view. `flats`: a flat tensor for each buffer, on one device.
Tensor view_in(const View& view, std::span<const Tensor> flats);

// Writes the node's results into their views. No gradients are recorded. `symbols`: the graph's.
void replay(const Node& node, std::span<const Tensor> flats, const Device& device,
            std::span<const Symbol> symbols);

}  // namespace tenon::graph
