#include <algorithm>
#include <cstring>

#include "fuse/fused.hpp"
#include "run/plain_value.hpp"

namespace tenon::graph {

Expression::Expression(const Graph& graph, const Group& group, const std::vector<bool>& stored)
    : graph_(graph), shape_(group.shape), kept_(group.shape.size() - group.reduced) {
  const size_t most = group.members.size() * 3;
  nodes_.reserve(most);
  values_.reserve(most);
  links_.reserve(most);
  for (const Member& member : group.members) add_member(member);
  add_stores(stored);
  add_loop();
  expression_.struct_size = sizeof expression_;
  expression_.loop = &loop_;
  expression_.dtypes = dtypes_.data();
  expression_.noutputs = static_cast<uint32_t>(outputs_.size());
  expression_.nnodes = static_cast<uint32_t>(nodes_.size());
  for (size_t i = 0; i < nodes_.size(); ++i) {  // addresses are stable from here on
    nodes_[i].args = values_[i].data();
    nodes_[i].inputs = links_[i].data();
    if (nodes_[i].kind == TN_GRAPH_LOAD)
      nodes_[i].operand += static_cast<uint32_t>(outputs_.size());
  }
  expression_.nodes = nodes_.data();
}

uint32_t Expression::add(tn_graph_node node) {
  nodes_.push_back(node);
  values_.resize(nodes_.size());
  links_.resize(nodes_.size());
  return static_cast<uint32_t>(nodes_.size() - 1);
}

// The node that supplies an operand: one of the group, or a new one.
uint32_t Expression::value_of(const Argument& argument, const Access* access) {
  tn_graph_node node{};
  if (const auto* number = std::get_if<Number>(&argument)) {
    node.kind = TN_GRAPH_NUMBER;
    node.dtype = static_cast<tn_dtype>(number->dtype);
    std::memcpy(node.number, number->bytes.data(), sizeof node.number);
    return add(node);
  }
  for (const auto& [made, operand] : current_)
    if (operand.access == *access) return made;
  node.kind = TN_GRAPH_LOAD;
  node.dtype = static_cast<tn_dtype>(graph_.buffers[access->buffer].dtype);
  node.operand = static_cast<uint32_t>(inputs_.size());
  inputs_.push_back({*access, graph_.buffers[access->buffer].dtype});
  const uint32_t made = add(node);
  current_.emplace_back(made, inputs_.back());
  return made;
}

void Expression::add_member(const Member& member) {
  const Node& from = graph_.nodes[member.node];
  std::vector<tn_value> values;
  std::vector<uint32_t> links;
  values.reserve(from.args.size());
  links.reserve(from.args.size());
  size_t read = 0;
  for (const Argument& argument : from.args) {
    const bool view = std::holds_alternative<View>(argument);
    if (view || std::holds_alternative<Number>(argument)) {
      links.push_back(value_of(argument, view ? &member.reads[read] : nullptr));
      values.push_back({});
      read += view ? 1 : 0;
      continue;
    }
    values.push_back(attribute(argument));
    links.push_back(TN_GRAPH_ATTRIBUTE);
  }
  uint32_t made = links[0];  // for a copy, what it copies
  if (member.kind != Member::Kind::Copy) {
    tn_graph_node node{};
    node.kind = member.kind == Member::Kind::Reduce ? TN_GRAPH_REDUCE : TN_GRAPH_OP;
    node.dtype = static_cast<tn_dtype>(from.results[0].dtype);
    node.nargs = static_cast<uint32_t>(links.size());
    node.op = from.op;
    node.kernel = from.kernel;
    made = add(node);
    values_[made] = std::move(values);
    links_[made] = std::move(links);
  }
  if (member.kind == Member::Kind::Reduce) {  // the eager kernel processes it row by row
    const auto& strides = member.reads[0].strides;
    for (size_t d = shape_.size(), step = 1; d-- > kept_;) {
      plain_rows_ = plain_rows_ && strides[d] == static_cast<int64_t>(step);
      step *= static_cast<size_t>(shape_[d]);
    }
  }
  std::erase_if(current_,
                [&](const auto& one) { return one.second.access.buffer == member.result.buffer; });
  current_.emplace_back(made, Operand{member.result, from.results[0].dtype, true});
}

void Expression::add_stores(const std::vector<bool>& stored) {
  for (const auto& [made, operand] : current_) {
    if (!operand.made || !stored[operand.access.buffer]) continue;
    tn_graph_node node{};
    node.kind = TN_GRAPH_STORE;
    node.dtype = static_cast<tn_dtype>(operand.dtype);
    node.operand = static_cast<uint32_t>(outputs_.size());
    node.nargs = 1;
    outputs_.push_back(operand);
    const uint32_t at = add(node);
    values_[at] = {{}};
    links_[at] = {made};
  }
}

void Expression::add_loop() {
  std::vector<Access*> accesses;
  accesses.reserve(outputs_.size() + inputs_.size());
  dtypes_.reserve(accesses.capacity());
  strides_.reserve(accesses.capacity());
  for (auto* operands : {&outputs_, &inputs_})
    for (Operand& operand : *operands) {
      accesses.push_back(&operand.access);
      dtypes_.push_back(static_cast<tn_dtype>(operand.dtype));
    }
  kept_ = merge_dimensions(shape_, accesses, kept_);
  for (const Access* access : accesses) strides_.push_back(access->strides.data());
  loop_.struct_size = sizeof loop_;
  loop_.ndim = static_cast<uint32_t>(shape_.size());
  loop_.reduced = static_cast<uint32_t>(shape_.size() - kept_);
  loop_.noperands = static_cast<uint32_t>(accesses.size());
  loop_.shape = shape_.data();
  loop_.strides = strides_.data();
}

bool Expression::has_plain_rows() const { return plain_rows_; }

Node Expression::node() const {
  Node node;
  const auto view_of = [&](const Operand& operand) {
    return View{operand.access.buffer, operand.dtype, operand.access.offset, shape_,
                operand.access.strides};
  };
  Loop& loop = node.loop.emplace();
  loop.shape = shape_;
  loop.reduced = loop_.reduced;
  loop.strides.reserve(strides_.size());
  node.results.reserve(outputs_.size());
  node.args.reserve(inputs_.size());
  for (const Operand& output : outputs_) {
    node.results.push_back(view_of(output));
    loop.strides.push_back(output.access.strides);
  }
  for (const Operand& input : inputs_) {
    node.args.emplace_back(view_of(input));
    loop.strides.push_back(input.access.strides);
  }
  return node;
}

}  // namespace tenon::graph
