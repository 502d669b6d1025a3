#include "plan/lower.hpp"

#include "pass/values.hpp"
#include "run/replay.hpp"
#include "trace/recorder.hpp"

namespace tenon::graph {

namespace {

// Lowers `graph`; its buffers keep their numbers. `stays`: nodes that are copied unchanged.
template <class Stays>
Graph lowered(const Graph& graph, const Device& target, Stays&& stays) {
  Recorder recorder(target);
  recorder.reserve(graph);
  std::vector<Tensor> flats;
  flats.reserve(graph.buffers.size());
  for (const Buffer& buffer : graph.buffers)
    flats.push_back(
        recorder.add(buffer.role, buffer.dtype, {&buffer.size, 1}, buffer.name, buffer.constant));
  Replay replay(flats, Recorder::device(), graph.symbols);
  replay.keep_views();
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
