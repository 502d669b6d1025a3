// Runs a node that has graphs of its own.
#pragma once

#include "ir/control.hpp"

namespace tenon::graph {

// Writes the results of a node of a lowered graph into their views. `flats`: a flat tensor for each buffer, on the graph's device.
void run_control(const Node& node, std::span<const Tensor> flats);

}  // namespace tenon::graph
