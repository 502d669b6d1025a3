#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <string_view>

#include "fuse/anchored.hpp"
#include "pass/values.hpp"
#include "tenon/schemas.h"

namespace tenon::graph {
namespace {

constexpr size_t kRank = 4;  // samples, channels, rows, columns

// What is known of a buffer's views.
struct Seen {
  bool fits = true;
  Dims shape;
};

// Whether it shows an image as samples, rows, columns, channels, whose channels are planes in memory.
bool shows_channels_last(const View& view) {
  if (view.shape.size() != kRank || view.contiguous()) return false;
  const int64_t columns = view.shape[2], plane = view.shape[1] * columns;
  const std::array<int64_t, kRank> steps{plane * view.shape[3], columns, 1, plane};
  for (size_t d = 0; d < kRank; ++d)
    if (view.shape[d] != 1 && view.strides[d] != steps[d]) return false;
  return true;
}

void see(Seen& seen, const View& view, const Buffer& buffer) {
  const bool last = shows_channels_last(view);
  const bool whole = view.offset == 0 && (last || view.contiguous()) &&
                     view.numel() == buffer.size && view.shape.size() == kRank;
  const Dims shape =
      last ? Dims{view.shape[0], view.shape[3], view.shape[1], view.shape[2]} : view.shape;
  seen.fits = seen.fits && whole && (seen.shape.empty() || seen.shape == shape);
  seen.shape = shape;
}

// Whether it matters if channels come before or after positions.
bool has_order(const Dims& shape) {
  return shape.size() == kRank && shape[1] > 1 && shape[2] * shape[3] > 1;
}

// Anchors that are as quick in either layout.
bool takes_any_layout(const Node& node) {
  static const std::set<std::string_view> names = {"batch_norm", "group_norm", "interpolate",
                                                   "avg_pool", "adaptive_avg_pool"};
  return names.contains(node.name());
}

bool joins_images(const Node& node) {
  return node.name() == "concat" && node.results[0].shape.size() == kRank;
}

std::vector<bool> candidates(const Graph& graph) {
  std::vector<Seen> seen(graph.buffers.size());
  for (const Node& node : graph.nodes)
    each_view_of(
        node, [&](const View& view) { see(seen[view.buffer], view, graph.buffers[view.buffer]); });
  for (const View& result : graph.results) seen[result.buffer].fits = false;
  std::vector<bool> fit;
  for (size_t b = 0; b < seen.size(); ++b)
    fit.push_back(graph.buffers[b].role == Role::Temporary && seen[b].fits &&
                  has_order(seen[b].shape));
  return fit;
}

using Chains = std::vector<std::vector<uint32_t>>;

// By node: whether it gives images as they lie in its operands, and prefers neither layout. An anchor does if all its images may be turned;
// concat goes over turned dimensions.
std::vector<bool> followers(const Graph& graph, const Chains& chains,
                            const std::vector<bool>& fit) {
  std::vector<bool> follow(graph.nodes.size());
  const auto may_turn = [&](const Node& node) {
    bool all = true;
    each_view_of(node, [&](const View& view) {
      all = all && (!has_order(view.shape) || (fit[view.buffer] && !shows_channels_last(view)));
    });
    return all;
  };
  for (const auto& chain : chains) {
    const Node& node = graph.nodes[chain.front()];
    follow[chain.front()] = takes_any_layout(node) && may_turn(node);
  }
  for (size_t at = 0; at < follow.size(); ++at)
    if (joins_images(graph.nodes[at])) follow[at] = may_turn(graph.nodes[at]);
  return follow;
}

// Buffers that loops over elements, and followers, link should lie in one order.
class Linked {
 public:
  Linked(const Graph& graph, const std::vector<bool>& fit, const std::vector<bool>& follow)
      : parent_(graph.buffers.size()) {
    std::iota(parent_.begin(), parent_.end(), 0u);
    for (size_t at = 0; at < graph.nodes.size(); ++at) {
      const Node& node = graph.nodes[at];
      if (!is_loop(node) && !follow[at]) continue;
      uint32_t first = UINT32_MAX;
      each_view_of(node, [&](const View& view) {
        if (!fit[view.buffer] || shows_channels_last(view)) return;
        if (first == UINT32_MAX) first = view.buffer;
        parent_[root(view.buffer)] = root(first);
      });
    }
  }
  static bool is_loop(const Node& node) { return node.loop && node.loop->reduced == 0; }

  uint32_t root(uint32_t buffer) {
    while (parent_[buffer] != buffer) buffer = parent_[buffer] = parent_[parent_[buffer]];
    return buffer;
  }

 private:
  std::vector<uint32_t> parent_;
};

}  // namespace

// Linked buffers are turned if anchors, and nodes that see channels last, touch more of their elements than nodes for which a turned image
// is copied.
std::vector<bool> images(const Graph& graph, const Chains& chains) {
  const std::vector<bool> fit = candidates(graph), follow = followers(graph, chains, fit);
  std::vector<bool> anchored(graph.nodes.size()), turned(graph.buffers.size());
  for (const auto& chain : chains) {
    // Products of integers lie as their windows do.
    const auto is_image = [&](uint32_t at) { return graph.nodes[at].name() != "linear_integer"; };
    if (takes_any_layout(graph.nodes[chain.front()]) || !std::ranges::all_of(chain, is_image))
      continue;
    for (const uint32_t at : chain) anchored[at] = true;
  }
  Linked linked(graph, fit, follow);
  std::vector<int64_t> gain(graph.buffers.size());  // by root
  std::vector<bool> met(graph.buffers.size());      // by an anchor; by root
  for (size_t at = 0; at < graph.nodes.size(); ++at) {
    const Node& node = graph.nodes[at];
    if (follow[at]) continue;
    each_view_of(node, [&](const View& view) {
      if (!fit[view.buffer]) return;
      const uint32_t root = linked.root(view.buffer);
      const bool anchor = anchored[at] && !Linked::is_loop(node);
      met[root] = met[root] || anchor;
      if (anchor || shows_channels_last(view))
        gain[root] += view.numel();
      else if (!Linked::is_loop(node))
        gain[root] -= view.numel();
    });
  }
  for (uint32_t b = 0; b < turned.size(); ++b)
    turned[b] = fit[b] && met[linked.root(b)] && gain[linked.root(b)] > 0;
  return turned;
}

void put_channels_last(View& view) {
  if (shows_channels_last(view)) {
    const int64_t row = view.shape[2] * view.shape[3];
    view.strides = {view.shape[1] * row, row, view.shape[3], 1};
    return;
  }
  const int64_t channels = view.shape[1], row = view.shape[3] * channels;
  view.strides = {view.shape[2] * row, 1, row, channels};
}

void join_channels_last(Node& node, const std::vector<bool>& turned) {
  if (!joins_images(node) || !turned[node.results[0].buffer]) return;
  constexpr std::array<size_t, kRank> kOrder{0, 2, 3, 1};  // samples, rows, columns, channels
  each_view_of(node, [&](View& view) {
    const View before = view;
    for (size_t d = 0; d < kRank; ++d) {
      view.shape[d] = before.shape[kOrder[d]];
      view.strides[d] = before.strides[kOrder[d]];
    }
  });
  auto& dim = std::get<int64_t>(node.args[arg::concat::dim]);
  dim = std::ranges::find(kOrder, static_cast<size_t>(dim)) - kOrder.begin();
}

}  // namespace tenon::graph
