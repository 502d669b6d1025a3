#include "plan/lower.hpp"

#include "run/replay.hpp"
#include "trace/recorder.hpp"

namespace tenon::graph {

Graph lower(const Graph& graph, const Device& target) {
  Recorder recorder(target);
  // First of all buffers, in their order: they keep their numbers.
  std::vector<Tensor> flats;
  for (const Buffer& buffer : graph.buffers)
    flats.push_back(
        recorder.add(buffer.role, buffer.dtype, {&buffer.size, 1}, buffer.name, buffer.constant));
  for (const Node& node : graph.nodes) {
    if (node.control != nullptr) {
      recorder.append(node);
      continue;
    }
    const size_t from = recorder.graph().nodes.size();
    replay(node, flats, Recorder::device(), graph.symbols);
    if (has_symbols(node)) recorder.keep_symbols(node, from);
  }
  Graph lowered = recorder.take();
  lowered.inputs = graph.inputs;
  lowered.results = graph.results;
  lowered.symbols = graph.symbols;
  drop_dead(lowered);
  return lowered;
}

}  // namespace tenon::graph
