// Calls a node's op the way a program would.
#pragma once

#include "ir/graph.hpp"

namespace tenon::graph {

// A view as a tensor. `flats`: a flat tensor for each buffer, on one device.
Tensor view_in(const View& view, std::span<const Tensor> flats);

// Writes the node's results into their views. Records no gradients. `symbols`: the graph's.
void replay(const Node& node, std::span<const Tensor> flats, const Device& device,
            std::span<const Symbol> symbols);

}  // namespace tenon::graph
