#include <algorithm>

#include "fuse/anchored.hpp"
#include "pass/values.hpp"
#include "plan/lower.hpp"
#include "tenon/schemas.h"

namespace tenon::graph {
namespace {

Dims rows_of(const Dims& shape) {
  Dims strides = shape;
  int64_t next = 1;
  for (size_t d = shape.size(); d-- > 0; next *= shape[d]) strides[d] = next;
  return strides;
}

View view_of(const View& base, const Dims& shape) {
  View view = base;
  view.shape = shape;
  view.strides = rows_of(shape);
  return view;
}

Node call_of(const char* name, std::vector<Argument> args, std::vector<View> results) {
  Node node;
  node.op = tn_op_find(detail::to_str(name));
  node.args = std::move(args);
  node.results = std::move(results);
  return node;
}

class Restorer {
 public:
  explicit Restorer(Graph& graph)
      : graph_(graph), values_(graph), readers_(graph.buffers.size()), made_(graph.nodes.size()) {
    std::vector<uint32_t> touched;
    for (uint32_t at = 0; at < graph.nodes.size(); ++at) {
      touched.clear();
      reads(graph.nodes[at], touched);
      for (const uint32_t b : touched) readers_[b].push_back(at);
    }
  }

  // Returns by buffer whether a new node makes it; nothing if there are none.
  std::vector<bool> run() {
    for (uint32_t at = 0; at < graph_.nodes.size(); ++at)
      if (!silu(at)) group_norm(at);
    std::vector<bool> changed(graph_.buffers.size());
    std::vector<Node> nodes;
    bool any = false;
    for (size_t at = 0; at < graph_.nodes.size(); ++at) {
      if (made_[at].empty()) nodes.push_back(std::move(graph_.nodes[at]));
      for (Node& node : made_[at]) {
        any = true;
        for (const View& view : node.results) changed[view.buffer] = true;
        nodes.push_back(std::move(node));
      }
    }
    graph_.nodes = std::move(nodes);
    return any ? changed : std::vector<bool>();
  }

 private:
  static const View* view_at(const Node& node, size_t k) {
    return k < node.args.size() ? std::get_if<View>(&node.args[k]) : nullptr;
  }

  // The only reader of what `at` makes first, if it is such a node; UINT32_MAX otherwise.
  uint32_t reader(uint32_t at, std::string_view name) const {
    const uint32_t made = graph_.nodes[at].results[0].buffer;
    if (!values_.replaceable(made) || readers_[made].size() != 1) return UINT32_MAX;
    const Node& next = graph_.nodes[readers_[made][0]];
    return next.name() == name && next.results.size() == 1 &&
                   values_.is_value(next.results[0].buffer)
               ? readers_[made][0]
               : UINT32_MAX;
  }

  // x·sigmoid(x)
  bool silu(uint32_t at) {
    const Node& sigmoid = graph_.nodes[at];
    const View* const x = view_at(sigmoid, arg::sigmoid::x);
    if (sigmoid.name() != "sigmoid" || x == nullptr || x->dtype != DType::F32 ||
        !values_.is_value(x->buffer))
      return false;
    const uint32_t last = reader(at, "mul");
    if (last == UINT32_MAX) return false;
    const Node& mul = graph_.nodes[last];
    for (const size_t k : {0u, 1u}) {
      const View *a = view_at(mul, k), *b = view_at(mul, 1 - k);
      if (a == nullptr || b == nullptr || !same(*a, sigmoid.results[0]) || !same(*b, *x) ||
          mul.results[0].shape != x->shape)
        continue;
      made_[last].push_back(call_of("silu", {*x}, mul.results));
      return true;
    }
    return false;
  }

  // What a node multiplies or adds to each channel of an image, other than the image itself.
  const View* per_channel(const Node& node, const View& image, const Dims& shape) const {
    for (const size_t k : {0u, 1u}) {
      const View *a = view_at(node, k), *b = view_at(node, 1 - k);
      if (a == nullptr || b == nullptr || a->buffer != image.buffer || a->shape != shape ||
          !a->contiguous() || a->offset != image.offset)
        continue;
      const size_t lead = shape.size() - b->shape.size();
      bool fits = b->shape.size() <= shape.size() && b->contiguous() && b->dtype == DType::F32 &&
                  values_.is_value(b->buffer) && node.results[0].shape == shape;
      for (size_t d = 0; fits && d < shape.size(); ++d)
        fits = (d < lead ? 1 : b->shape[d - lead]) == (d == 1 ? shape[1] : 1);
      return fits ? b : nullptr;
    }
    return nullptr;
  }

  // y = instance_norm(groups as rows)·scale + shift, where scale and shift are of channels.
  void group_norm(uint32_t at) {
    const Node& norm = graph_.nodes[at];
    const View* const x = view_at(norm, arg::group_norm::x);
    if (norm.name() != "group_norm" || x == nullptr || x->shape.size() != 3 ||
        x->dtype != DType::F32 || !values_.is_value(x->buffer) || !x->contiguous() ||
        has_symbols(norm) || std::get<int64_t>(norm.args[arg::group_norm::groups]) != x->shape[1])
      return;
    const uint32_t second = reader(at, "mul");
    const uint32_t last = second == UINT32_MAX ? UINT32_MAX : reader(second, "add");
    if (last == UINT32_MAX) return;
    const Node &mul = graph_.nodes[second], &add = graph_.nodes[last];
    const Dims shape = mul.results[0].shape;
    if (shape.size() != 4 || shape[0] != x->shape[0] || shape[1] % x->shape[1] != 0) return;
    const View *scale = per_channel(mul, norm.results[0], shape),
               *shift = per_channel(add, mul.results[0], shape);
    if (scale == nullptr || shift == nullptr) return;
    made_[last] = spelt(norm, view_of(*x, shape), *scale, *shift, add.results[0]);
  }

  std::vector<Node> spelt(const Node& norm, const View& x, const View& scale, const View& shift,
                          const View& y) {
    using names = arg::group_norm;
    const int64_t groups = std::get<int64_t>(norm.args[names::groups]), channels = x.shape[1];
    const Dims by_group = {groups, channels / groups};
    std::vector<Node> nodes;
    const auto combined = [&](const char* name, const View& of_channels, const View& other) {
      View made{static_cast<uint32_t>(graph_.buffers.size()), DType::F32, 0, by_group,
                rows_of(by_group)};
      graph_.buffers.push_back({Role::Temporary, DType::F32, channels});
      nodes.push_back(call_of(name, {view_of(of_channels, by_group), other}, {made}));
      return made;
    };
    // Its own parameters, one for each group, go into those of channels.
    View weight = scale, bias = shift;
    if (const View* of_groups = view_at(norm, names::weight))
      weight = combined("mul", scale, view_of(*of_groups, {groups, 1}));
    if (const View* of_groups = view_at(norm, names::bias))
      bias = combined("add", shift, combined("mul", scale, view_of(*of_groups, {groups, 1})));
    std::vector<View> results = norm.results;
    results[0] = y;
    nodes.push_back(call_of(
        "group_norm",
        {x, groups, view_of(weight, {channels}), view_of(bias, {channels}), norm.args[names::eps]},
        std::move(results)));
    return nodes;
  }

  Graph& graph_;
  const ValueMap values_;
  std::vector<std::vector<uint32_t>> readers_;  // by buffer
  std::vector<std::vector<Node>> made_;         // in the place of a node
};

}  // namespace

bool restore_ops(Graph& graph, const Device& device) {
  const std::vector<bool> changed = Restorer(graph).run();
  if (changed.empty()) return false;
  drop_dead(graph);
  graph = lower_again(graph, device, changed);
  return true;
}

}  // namespace tenon::graph
