#include <algorithm>

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

void see(Seen& seen, const View& view, const Buffer& buffer) {
  const bool whole = view.offset == 0 && view.contiguous() && view.numel() == buffer.size &&
                     view.shape.size() == kRank;
  seen.fits = seen.fits && whole && (seen.shape.empty() || seen.shape == view.shape);
  seen.shape = view.shape;
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

}  // namespace

std::vector<bool> images(const Graph& graph, const std::vector<std::vector<uint32_t>>& chains) {
  const std::vector<bool> fit = candidates(graph);
  std::vector<bool> turned(graph.buffers.size());
  for (const auto& chain : chains) {
    // Products of integers lie as their windows do.
    const auto is_image = [&](uint32_t at) { return graph.nodes[at].name() != "linear_integer"; };
    if (!std::ranges::all_of(chain, is_image)) continue;
    for (const uint32_t at : chain)
      each_view_of(graph.nodes[at],
                   [&](const View& view) { turned[view.buffer] = fit[view.buffer]; });
  }
  for (bool grows = true; grows;) {
    grows = false;
    for (const Node& node : graph.nodes) {
      if (!node.loop || node.loop->reduced != 0) continue;
      bool some = false;
      each_view_of(node, [&](const View& view) { some = some || turned[view.buffer]; });
      if (!some) continue;
      each_view_of(node, [&](const View& view) {
        if (!fit[view.buffer] || turned[view.buffer]) return;
        turned[view.buffer] = grows = true;
      });
    }
  }
  return turned;
}

void put_channels_last(View& view) {
  const int64_t channels = view.shape[1], row = view.shape[3] * channels;
  view.strides = {view.shape[2] * row, 1, row, channels};
}

}  // namespace tenon::graph
