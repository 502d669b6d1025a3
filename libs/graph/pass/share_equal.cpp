#include <algorithm>
#include <bit>

#include "pass/pass.hpp"
#include "pass/values.hpp"

namespace tenon::graph {
namespace {

bool computes_the_same(const Node& a, const Node& b) {
  const auto same_argument = [](const Argument& x, const Argument& y) { return same(x, y); };
  const auto same_layout = [](const View& x, const View& y) {
    return x.dtype == y.dtype && x.offset == y.offset && x.shape == y.shape &&
           x.strides == y.strides;
  };
  return a.op == b.op && std::ranges::equal(a.args, b.args, same_argument) &&
         std::ranges::equal(a.results, b.results, same_layout);
}

// Nodes that compute the same have equal hashes.
size_t hash_of(const Node& node) {
  size_t hash = std::hash<const void*>()(node.op);
  for (const Argument& argument : node.args)
    if (const auto* view = std::get_if<View>(&argument))
      hash = hash * 31 + view->buffer * 7 + static_cast<size_t>(view->offset);
  return hash ^ hash >> 17;  // the low bits choose
}

}  // namespace

void share_equal(Graph& graph) {
  const ValueMap values(graph);
  constexpr uint32_t kNone = UINT32_MAX;
  std::vector<uint32_t> known(std::bit_ceil(graph.nodes.size() * 2 + 1), kNone);  // by hash
  std::vector<uint32_t> stands_for(graph.buffers.size());
  for (uint32_t b = 0; b < stands_for.size(); ++b) stands_for[b] = b;
  std::vector<uint32_t> touched;
  const auto is_pure = [&](const Node& node) {
    if (node.op == nullptr || node.results.empty() || draws(node) || has_symbols(node))
      return false;
    touched.clear();
    reads(node, touched);
    if (!std::ranges::all_of(touched, [&](uint32_t b) { return values.is_value(b); })) return false;
    touched.clear();
    writes(node, touched);
    return touched.size() == node.results.size() &&
           std::ranges::all_of(touched, [&](uint32_t b) { return values.is_value(b); });
  };
  for (uint32_t at = 0; at < graph.nodes.size(); ++at) {
    Node& node = graph.nodes[at];
    each_view_of(node, [&](View& view) { view.buffer = stands_for[view.buffer]; });
    if (!is_pure(node)) continue;
    size_t slot = hash_of(node) % known.size();
    while (known[slot] != kNone && !computes_the_same(graph.nodes[known[slot]], node))
      slot = (slot + 1) % known.size();
    if (known[slot] == kNone) {
      known[slot] = at;
      continue;
    }
    const bool inside = std::ranges::all_of(
        node.results, [&](const View& view) { return values.replaceable(view.buffer); });
    if (!inside) continue;
    for (size_t k = 0; k < node.results.size(); ++k)
      stands_for[node.results[k].buffer] = graph.nodes[known[slot]].results[k].buffer;
  }
  drop_dead(graph);
}

}  // namespace tenon::graph
