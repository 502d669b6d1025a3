// The graph in a file: JSON of the buffers, inputs, nodes and results.
#pragma once

#include <map>
#include <string>

#include "ir/graph.hpp"

namespace tenon::graph {

// `names`: of the weights, by buffer.
std::string to_json(const Graph& graph, const std::map<const tn_tensor*, std::string>& names);
// `where` begins the message of every error. Throws Error(TN_DATA_LOSS), Error(TN_NOT_FOUND) for an op that nobody has.
Graph from_json(const std::string& text, const std::map<std::string, Tensor>& weights,
                const std::string& where);

}  // namespace tenon::graph
