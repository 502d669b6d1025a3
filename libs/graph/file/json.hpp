// The graph in a file: JSON of the buffers, inputs, nodes and results.
#pragma once

#include <map>
#include <string>

#include "ir/graph.hpp"

namespace tenon::graph {

// `names`: the names of weights, by buffer.
std::string to_json(const Graph& graph, const std::map<const tn_tensor*, std::string>& names);
// Every error begins with `where`. Throws Error(TN_DATA_LOSS), or Error(TN_NOT_FOUND) for an unknown op.
Graph from_json(const std::string& text, const std::map<std::string, Tensor>& weights,
                const std::string& where);

}  // namespace tenon::graph
