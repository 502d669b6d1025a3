#include <algorithm>
#include <cstring>

#include "fuse/anchored.hpp"
#include "run/plain_value.hpp"

namespace tenon::graph {

AnchoredExpression::AnchoredExpression(const Graph& graph, const std::vector<Node>& nodes)
    : output_(nodes.back().results[0]) {
  for (const Node& node : nodes) add(node);
  tn_graph_node store{};
  store.kind = TN_GRAPH_STORE;
  store.dtype = static_cast<tn_dtype>(output_.dtype);
  store.nargs = 1;
  add(store, {{}}, {last_});
  for (size_t i = 0; i < nodes_.size(); ++i) {  // addresses are stable from here on
    nodes_[i].args = values_[i].data();
    nodes_[i].inputs = links_[i].data();
  }
  const auto show = [&](const View& view) {
    views_.push_back(form_of(view));
    dtypes_.push_back(views_.back().dtype);
  };
  show(output_);
  for (size_t k = 0; k < inputs_.size(); ++k) {
    show(inputs_[k]);
    if (graph.buffers[inputs_[k].buffer].role == Role::Constant && k < 63)
      expression_.constants |= uint64_t{2} << k;
  }
  for (const tn_view& view : views_) pointers_.push_back(&view);
  expression_.struct_size = sizeof expression_;
  expression_.flags = TN_GRAPH_CONTRACT;
  expression_.dtypes = dtypes_.data();
  expression_.noutputs = 1;
  expression_.nnodes = static_cast<uint32_t>(nodes_.size());
  expression_.nodes = nodes_.data();
  expression_.views = pointers_.data();
}

uint32_t AnchoredExpression::add(tn_graph_node node, std::vector<tn_value> values,
                                 std::vector<uint32_t> links) {
  nodes_.push_back(node);
  values_.push_back(std::move(values));
  links_.push_back(std::move(links));
  return static_cast<uint32_t>(nodes_.size() - 1);
}

uint32_t AnchoredExpression::load(const View& view) {
  const auto known =
      std::ranges::find_if(inputs_, [&](const View& other) { return same(other, view); });
  if (known != inputs_.end()) return loads_[static_cast<size_t>(known - inputs_.begin())];
  inputs_.push_back(view);
  tn_graph_node node{};
  node.kind = TN_GRAPH_LOAD;
  node.dtype = static_cast<tn_dtype>(view.dtype);
  node.operand = static_cast<uint32_t>(inputs_.size());
  loads_.push_back(add(node, {}, {}));
  return loads_.back();
}

void AnchoredExpression::add(const Node& from) {
  const bool anchors = !has_anchor_ && !from.loop;
  has_anchor_ = has_anchor_ || anchors;
  std::vector<tn_value> values;
  std::vector<uint32_t> links;
  for (const Argument& argument : from.args) {
    values.push_back(attribute(argument));
    links.push_back(TN_GRAPH_ATTRIBUTE);
    if (const auto* number = std::get_if<Number>(&argument)) {
      tn_graph_node node{};
      node.kind = TN_GRAPH_NUMBER;
      node.dtype = static_cast<tn_dtype>(number->dtype);
      std::memcpy(node.number, number->bytes.data(), sizeof node.number);
      links.back() = add(node, {}, {});
    } else if (const auto* view = std::get_if<View>(&argument)) {
      links.back() = view->buffer == before_ ? last_ : load(*view);
    }
  }
  tn_graph_node node{};
  node.kind = anchors ? TN_GRAPH_ANCHOR : TN_GRAPH_OP;
  node.dtype = static_cast<tn_dtype>(from.results[0].dtype);
  node.nargs = static_cast<uint32_t>(links.size());
  node.op = from.op;
  node.kernel = from.kernel;
  last_ = add(node, std::move(values), std::move(links));
  before_ = from.results[0].buffer;
}

Node AnchoredExpression::node() const {
  Node node;
  node.results = {output_};
  for (const View& input : inputs_) node.args.emplace_back(input);
  return node;
}

}  // namespace tenon::graph
