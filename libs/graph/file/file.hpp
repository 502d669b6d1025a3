// Graphs in files.
#pragma once

#include "ir/graph.hpp"

namespace tenon::graph {

// The graph as JSON (docs/guide/graphs.md describes the format), and its weights by the names they have there. Throws Error.
std::string describe(const Graph& graph);
Tensor weight(const Graph& graph, const std::string& name);
// Writes a safetensors file: the weights, and the graph as JSON in a byte tensor "tenon.graph". The file is replaced as a whole or not at
// all. Throws Error.
void save(const Graph& graph, const std::string& path);
// A file can only call ops of the table. Lowering the graph checks everything else by the rules of those ops. Throws Error(TN_DATA_LOSS)
// with the file and the place.
Graph load(const std::string& path);

}  // namespace tenon::graph
