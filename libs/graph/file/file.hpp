// Graphs in files.
#pragma once

#include "ir/graph.hpp"

namespace tenon::graph {

// The graph as JSON (docs/guide/graphs.md has the format), and a weight by the name that it has there. Throws Error.
std::string describe(const Graph& graph);
Tensor weight(const Graph& graph, const std::string& name);
// A safetensors file: the weights, and a tensor "tenon.graph" of bytes that are the graph as JSON. It is replaced at once, or not at all.
// Throws Error.
void save(const Graph& graph, const std::string& path);
// Nothing in a file makes anything run that is not an op of the table; what it says is checked by the rules of the ops when the graph
// is lowered. Throws Error(TN_DATA_LOSS) that names the file and the place.
Graph load(const std::string& path);

}  // namespace tenon::graph
