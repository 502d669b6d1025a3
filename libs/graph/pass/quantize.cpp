#include "pass/quantize.hpp"

#include <algorithm>
#include <cstring>

#include "ir/numbers.hpp"
#include "tenon/autograd.hpp"
#include "tenon/creation.hpp"
#include "tenon/ops.hpp"
#include "tenon/schemas.h"

namespace tenon::graph {
namespace {

constexpr int64_t kLeastWeight = 4096;  // entries; smaller weights stay as they are

Tensor tensor_of(const View& view, const Buffer& buffer) {
  return as_strided(buffer.constant, view.shape, view.strides, view.offset);
}

// Adds a constant and returns a view of all of it.
View add_constant(Graph& graph, const Tensor& value, std::string name, int64_t (*fixed)(int64_t)) {
  View view{static_cast<uint32_t>(graph.buffers.size()), value.dtype(), fixed(0), {}, {}};
  int64_t step = 1;
  for (size_t d = value.shape().size(); d-- > 0; step *= value.shape()[d]) {
    view.shape.insert(0, fixed(value.shape()[d]));
    view.strides.insert(0, fixed(step));
  }
  graph.buffers.push_back({Role::Constant, value.dtype(), fixed(value.numel()), std::move(name),
                           value.reshape({value.numel()})});
  return view;
}

// Store a number's place in the number itself.
void mark(int64_t& number, int64_t place) { number = place; }
void mark(double& number, int64_t place) { number = static_cast<double>(place); }
void mark(Number& number, int64_t place) { std::memcpy(number.bytes.data(), &place, sizeof place); }
int64_t mark_of(int64_t number) { return number; }
int64_t mark_of(double number) { return static_cast<int64_t>(number); }
int64_t mark_of(const Number& number) {
  int64_t place = 0;
  std::memcpy(&place, number.bytes.data(), sizeof place);
  return place;
}

}  // namespace

Quantizer::Quantizer(const Graph& graph) : graph_(graph) {
  if (graph.writes_outside())
    throw Error(TN_FAILED_PRECONDITION,
                "[graph] a training step is not quantized: quantize what it trained");
  for (size_t i = 0; i < graph.nodes.size(); ++i) find(i);
  if (products_.empty())
    throw Error(TN_FAILED_PRECONDITION,
                "[graph] there is nothing to quantize: no linear or matmul of f32 by a weight of " +
                    std::to_string(kLeastWeight) + " entries or more");
}

void Quantizer::find(size_t at) {
  const Node& node = graph_.nodes[at];
  const std::string_view op = node.name();
  if (op != "linear" && op != "matmul") return;
  static_assert(arg::matmul::x == arg::linear::x && arg::matmul::y == arg::linear::weight);
  const auto *x = std::get_if<View>(&node.args[arg::linear::x]),
             *weight = std::get_if<View>(&node.args[arg::linear::weight]);
  if (x == nullptr || weight == nullptr || x->dtype != DType::F32 || weight->dtype != DType::F32 ||
      x->shape.empty() || weight->shape.size() != 2 || weight->numel() < kLeastWeight ||
      graph_.buffers[weight->buffer].role != Role::Constant)
    return;
  View rows = *weight;
  if (op == "matmul") {
    std::ranges::reverse(rows.shape);
    std::ranges::reverse(rows.strides);
  } else if (std::get<std::string>(node.args[arg::linear::activation]) != "none") {
    return;
  }
  products_.push_back({at, rows});
}

template <class Edit>
Graph Quantizer::edited(Edit&& edit) const {
  Graph made = graph_, marked = graph_;
  int64_t place = 0;
  each_number(marked, [&](auto& number, const Node*, size_t) { mark(number, place++); });
  edit(made, [](int64_t number) { return number; });
  edit(marked, [](int64_t) { return int64_t{-1}; });
  std::unordered_map<int64_t, Varying> varying;
  for (const Varying& one : graph_.sizes.varying) varying.emplace(one.place, one);
  made.sizes.varying.clear();
  uint32_t now = 0;
  each_number(std::as_const(marked), [&](const auto& number, const Node*, size_t) {
    if (const auto found = varying.find(mark_of(number)); found != varying.end()) {
      made.sizes.varying.push_back(found->second);
      made.sizes.varying.back().place = now;
    }
    ++now;
  });
  return made;
}

Graph Quantizer::observed() const {
  return edited([&](Graph& graph, Fixed) {
    for (const Product& one : products_)
      graph.results.push_back(std::get<View>(graph.nodes[one.node].args[arg::linear::x]));
  });
}

void Quantizer::observe(std::span<const Tensor> read) {
  observed_ = true;
  for (size_t i = 0; i < products_.size(); ++i) {
    if (read[i].numel() == 0) continue;
    products_[i].low = std::min(products_[i].low, min(read[i]).item<double>());
    products_[i].high = std::max(products_[i].high, max(read[i]).item<double>());
  }
}

Graph Quantizer::quantized() const {
  const NoGrad no_gradients;
  std::vector<Packed> weights;  // each once
  for (const Product& one : products_) {
    const auto same_weight = [&](const Packed& known) { return same(known.weight, one.weight); };
    if (std::ranges::any_of(weights, same_weight)) continue;
    const Tensor whole = tensor_of(one.weight, graph_.buffers[one.weight.buffer]).contiguous();
    const auto [entries, scale] = quantize_int8(whole, whole.shape(1));
    weights.push_back({one.weight, entries, scale});
  }
  return edited([&](Graph& graph, Fixed fixed) { put_in(graph, fixed, weights); });
}

void Quantizer::put_in(Graph& graph, Fixed fixed, std::span<const Packed> weights) const {
  static const tn_op* const op = tn_op_find(detail::to_str("linear_w8a8"));
  std::vector<std::pair<View, View>> constants;
  for (const Packed& one : weights) {
    const std::string name = graph.buffers[one.weight.buffer].name;
    const View entries = add_constant(graph, one.entries, name + ".int8", fixed);
    constants.emplace_back(entries, add_constant(graph, one.scale, name + ".scale", fixed));
  }
  for (const Product& one : products_) {
    Node& node = graph.nodes[one.node];
    const auto known = std::ranges::find_if(
        weights, [&](const Packed& packed) { return same(packed.weight, one.weight); });
    const auto& [entries, scale] = constants[static_cast<size_t>(known - weights.begin())];
    const Device device = graph.buffers[entries.buffer].constant.device();
    Argument range;
    if (observed_)
      range = add_constant(
          graph, tensor({static_cast<float>(one.low), static_cast<float>(one.high)}).to(device),
          "x" + std::to_string(one.node) + ".range", fixed);
    const Argument bias = node.name() == "linear" ? node.args[arg::linear::bias] : Argument();
    node.args = {node.args[arg::linear::x], entries, scale, bias, range};
    node.op = op;
  }
  drop_unused(graph);
}

}  // namespace tenon::graph
