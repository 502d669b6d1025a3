// Fuses a convolution or pooling (the anchor) with the elementwise nodes behind it into one kernel of the device's plugin.
#pragma once

#include "fuse/fused.hpp"
#include "pass/decisions.hpp"

namespace tenon::graph {

// Lays out constant weights when the program is made, and keeps images between anchors channels-last where the plugin prefers that. Results
// may differ from the nodes' by rounding. Changes a graph that was lowered to the device, and adds to `refused` why nodes stay single.
// Returns false if nothing changed. `sized`: see pass/pass.hpp. `known`: empty, or what was done at other sizes; what is done now.
bool anchor(Graph& graph, const Device& device, bool sized, Anchoring& known,
            std::vector<std::string>& refused);

// Before anchors are looked for: puts silu and group_norm in the place of the nodes that files spell them by, such as x·sigmoid(x). Results
// may differ by rounding. Returns false if there were none.
bool restore_ops(Graph& graph, const Device& device);

// An anchor and the nodes behind it, in the form that the plugin reads. It points into those nodes.
class AnchoredExpression {
 public:
  AnchoredExpression(const Graph& graph, const std::vector<Node>& nodes);
  AnchoredExpression(const AnchoredExpression&) = delete;

  const tn_graph_expression& get() const { return expression_; }
  void set_like(const tn_kernel* kernel) { expression_.like = kernel; }
  // The node that replaces them, still without a kernel.
  Node node() const;
  uint64_t constants() const { return expression_.constants; }

 private:
  uint32_t load(const View& view);
  void add(const Node& from);
  uint32_t add(tn_graph_node node, std::vector<tn_value> values, std::vector<uint32_t> links);

  View output_;
  std::vector<View> inputs_;
  std::vector<uint32_t> loads_;  // by input: the node that loads it
  uint32_t last_ = 0;            // the result that the next node reads
  bool has_anchor_ = false;
  std::optional<uint32_t> before_;  // the buffer that the previous node wrote
  std::vector<tn_graph_node> nodes_;
  std::vector<std::vector<tn_value>> values_;
  std::vector<std::vector<uint32_t>> links_;
  std::vector<tn_view> views_;
  std::vector<const tn_view*> pointers_;
  std::vector<tn_dtype> dtypes_;
  tn_graph_expression expression_{};
};

// By buffer: should it be channels-last? Only images of the graph's own whose every view shows the whole buffer, and only where anchors
// gain more than other nodes lose. Images that elementwise nodes link are decided together.
std::vector<bool> images(const Graph& graph, const std::vector<std::vector<uint32_t>>& chains);
// The strides of a channels-last view.
void put_channels_last(View& view);
// After the views: a concat of images whose result was turned joins them along the dimension that the channels moved to.
void join_channels_last(Node& node, const std::vector<bool>& turned);

}  // namespace tenon::graph
