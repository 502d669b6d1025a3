#include "pass/values.hpp"

namespace tenon::graph {

ValueMap::ValueMap(const Graph& graph)
    : value_(graph.buffers.size()),
      inside_(graph.buffers.size()),
      maker_(graph.buffers.size(), UINT32_MAX) {
  std::vector<uint32_t> writers(graph.buffers.size());
  std::vector<uint32_t> touched;
  for (uint32_t at = 0; at < graph.nodes.size(); ++at) {
    touched.clear();
    writes(graph.nodes[at], touched);
    for (const uint32_t b : touched) ++writers[b], maker_[b] = at;
  }
  for (size_t b = 0; b < writers.size(); ++b) {
    inside_[b] = graph.buffers[b].role == Role::Temporary;
    value_[b] = writers[b] == (inside_[b] ? 1 : 0);
  }
  for (const View& result : graph.results) inside_[result.buffer] = false;
}

}  // namespace tenon::graph
