#include "run/packing.hpp"

#include <set>

#include "fuse/fused.hpp"

namespace tenon::graph {

void Packing::begin(const Graph& graph) {
  graph_ = &graph;
  std::set<const tn_tensor*> known;
  for (const Node& node : graph.nodes) {
    if (node.fused == nullptr || node.fused->constants == 0) continue;
    nodes_.push_back(&node);
    for (const auto& [tensor, version] : constants_of(graph, node, node.fused->constants))
      if (known.insert(tensor).second) weights_.push_back(tensor);
  }
  pack();
}

void Packing::pack() {
  const uint64_t now = versions();
  for (const Node* node : nodes_) pack_constants(*graph_, *node);
  packed_.store(now, std::memory_order_release);
}

}  // namespace tenon::graph
