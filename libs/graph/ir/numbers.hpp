// Every number of a graph, in one order.
#pragma once

#include <type_traits>

#include "ir/control.hpp"

namespace tenon::graph {

// Calls use(number, node, argument) for each int64_t, double or Number. `node` is NULL outside of nodes. `argument` is the node's argument,
// or SIZE_MAX for its results. `G`: Graph or const Graph.
template <class G, class Use>
void each_number(G& graph, Use&& use) {
  const Node* node = nullptr;
  size_t at = SIZE_MAX;
  const auto all = [&](auto& list) {
    for (auto& one : list) use(one, node, at);
  };
  const auto view = [&](auto& of) {
    use(of.offset, node, at);
    all(of.shape);
    all(of.strides);
  };
  const auto argument = [&](auto& value) {
    using T = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double> ||
                  std::is_same_v<T, Number>)
      use(value, node, at);
    else if constexpr (std::is_same_v<T, std::vector<int64_t>> ||
                       std::is_same_v<T, std::vector<double>>)
      all(value);
    else if constexpr (std::is_same_v<T, View>)
      view(value);
    else if constexpr (std::is_same_v<T, Views>)
      for (auto& one : value)
        if (one) view(*one);
  };
  for (auto& buffer : graph.buffers) use(buffer.size, node, at);
  for (auto& input : graph.inputs) view(input);
  for (auto& each : graph.nodes) {
    node = &each;
    for (at = 0; at < each.args.size(); ++at) std::visit(argument, each.args[at]);
    at = SIZE_MAX;
    for (auto& result : each.results) view(result);
    if (each.control == nullptr) continue;
    // Graphs share the nodes' contents until one of them changes.
    if constexpr (!std::is_const_v<G>) each.control = std::make_shared<Control>(*each.control);
    using Body = std::conditional_t<std::is_const_v<G>, const Graph, Graph>;
    for (Body& body : each.control->bodies) each_number(body, use);
    node = &each;
  }
  node = nullptr;
  for (auto& result : graph.results) view(result);
}

}  // namespace tenon::graph
