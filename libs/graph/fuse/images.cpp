#include <algorithm>
#include <array>
#include <numeric>

#include "fuse/anchored.hpp"
#include "pass/values.hpp"

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

// Buffers that loops over elements link should lie in one order.
class Linked {
 public:
  Linked(const Graph& graph, const std::vector<bool>& fit) : parent_(graph.buffers.size()) {
    std::iota(parent_.begin(), parent_.end(), 0u);
    for (const Node& node : graph.nodes) {
      if (!is_loop(node)) continue;
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
std::vector<bool> images(const Graph& graph, const std::vector<std::vector<uint32_t>>& chains) {
  const std::vector<bool> fit = candidates(graph);
  std::vector<bool> anchored(graph.nodes.size()), turned(graph.buffers.size());
  for (const auto& chain : chains) {
    // Products of integers lie as their windows do.
    const auto is_image = [&](uint32_t at) { return graph.nodes[at].name() != "linear_integer"; };
    if (!std::ranges::all_of(chain, is_image)) continue;
    for (const uint32_t at : chain) anchored[at] = true;
  }
  Linked linked(graph, fit);
  std::vector<int64_t> gain(graph.buffers.size());  // by root
  std::vector<bool> met(graph.buffers.size());      // by an anchor; by root
  for (size_t at = 0; at < graph.nodes.size(); ++at) {
    const Node& node = graph.nodes[at];
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

}  // namespace tenon::graph
