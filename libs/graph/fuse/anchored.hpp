// Ops that are more than a loop, with what goes over their results, as one kernel of the device's plugin.
#pragma once

#include "fuse/fused.hpp"

namespace tenon::graph {

// Convolutions and poolings of images take in what follows them, their weights are laid out when the program is made, and images between
// them lie with channels side by side where the plugin wants them so. Results may differ from those of the nodes by rounding. Changes the
// graph, lowered to the device; adds to `refused` why nodes stay as they are. False where there are none of them.
bool anchor(Graph& graph, const Device& device, std::vector<std::string>& refused);

// An anchor and the nodes behind it, as the plugin takes them. It points into them.
class AnchoredExpression {
 public:
  AnchoredExpression(const Graph& graph, const std::vector<Node>& nodes);
  AnchoredExpression(const AnchoredExpression&) = delete;

  const tn_graph_expression& get() const { return expression_; }
  // The node that stands for them, without its kernel.
  Node node() const;
  uint64_t constants() const { return expression_.constants; }

 private:
  uint32_t load(const View& view);
  void add(const Node& from);
  uint32_t add(tn_graph_node node, std::vector<tn_value> values, std::vector<uint32_t> links);

  View output_;
  std::vector<View> inputs_;
  std::vector<uint32_t> loads_;     // by input: its node
  uint32_t last_ = 0;               // what the next one goes over
  std::optional<uint32_t> before_;  // the buffer that the node before made
  std::vector<tn_graph_node> nodes_;
  std::vector<std::vector<tn_value>> values_;
  std::vector<std::vector<uint32_t>> links_;
  std::vector<tn_view> views_;
  std::vector<const tn_view*> pointers_;
  std::vector<tn_dtype> dtypes_;
  tn_graph_expression expression_{};
};

// By buffer: images that anchors touch, and what goes element by element with them, may lie with channels side by side: each view shows all
// of the buffer, which is the graph's alone.
std::vector<bool> images(const Graph& graph, const std::vector<std::vector<uint32_t>>& chains);
// The strides of such a view.
void put_channels_last(View& view);

}  // namespace tenon::graph
