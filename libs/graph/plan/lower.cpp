#include "plan/lower.hpp"

#include "pass/values.hpp"
#include "run/replay.hpp"
#include "trace/recorder.hpp"

namespace tenon::graph {

namespace {

// Whether a new tensor of its shape lies as it does.
bool lies_in_rows(const View& view) {
  int64_t step = 1;
  for (size_t d = view.shape.size(); d-- > 0; step *= view.shape[d])
    if (view.strides[d] != step) return false;
  return true;
}

// By buffer: the first view that shows it whole; NULL if there is none.
std::vector<const View*> whole_views(const Graph& graph) {
  std::vector<const View*> found(graph.buffers.size());
  const auto see = [&](const View& view) {
    if (found[view.buffer] == nullptr && graph.shows_all(view) && lies_in_rows(view))
      found[view.buffer] = &view;
  };
  for (const Node& node : graph.nodes) each_view_of(node, see);
  return found;
}

// Lowers `graph`; its buffers keep their numbers. `stays`: nodes that are copied unchanged.
template <class Stays>
Graph lowered(const Graph& graph, const Device& target, Stays&& stays) {
  Recorder recorder(target);
  recorder.reserve(graph);
  std::vector<Tensor> flats;  // in the shape of their whole view, which then need not be made
  flats.reserve(graph.buffers.size());
  const std::vector<const View*> whole = whole_views(graph);
  for (size_t b = 0; b < whole.size(); ++b) {
    const Buffer& buffer = graph.buffers[b];
    const std::span<const int64_t> shape =
        whole[b] == nullptr ? std::span(&buffer.size, 1) : std::span(whole[b]->shape);
    flats.push_back(recorder.add(buffer.role, buffer.dtype, shape, buffer.name, buffer.constant));
  }
  Replay replay(flats, Recorder::device(), graph.symbols);
  replay.keep_views();
  for (size_t b = 0; b < whole.size(); ++b)
    if (whole[b] != nullptr) replay.remember(*whole[b], flats[b]);
  for (const Node& node : graph.nodes) {
    if (node.control != nullptr || stays(node)) {
      recorder.append(node);
      continue;
    }
    const size_t from = recorder.graph().nodes.size();
    replay.run(node);
    if (has_symbols(node)) recorder.keep_symbols(node, from);
  }
  Graph lowered = recorder.take();
  lowered.inputs = graph.inputs;
  lowered.results = graph.results;
  lowered.symbols = graph.symbols;
  lowered.derived = graph.derived;
  drop_dead(lowered);
  return lowered;
}

}  // namespace

Graph lower(const Graph& graph, const Device& target) {
  return lowered(graph, target, [](const Node&) { return false; });
}

Graph lower_again(const Graph& graph, const Device& target, const std::vector<bool>& changed) {
  return lowered(graph, target, [&](const Node& node) {
    bool same = true;
    each_view_of(node, [&](const View& view) { same = same && !changed[view.buffer]; });
    return same || node.fused != nullptr;
  });
}

}  // namespace tenon::graph
