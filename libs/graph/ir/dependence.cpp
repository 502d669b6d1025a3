#include "ir/dependence.hpp"

#include <algorithm>

namespace tenon::graph {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

// What happened to a buffer in the nodes read so far.
struct Touched {
  uint32_t writer = kNone;
  std::vector<uint32_t> readers;  // since the last write
};

}  // namespace

Dependence::Dependence(const Graph& graph) : before(graph.nodes.size()), after(graph.nodes.size()) {
  std::vector<Touched> touched(graph.buffers.size());
  uint32_t drew = kNone;
  std::vector<uint32_t> buffers;
  for (uint32_t at = 0; at < graph.nodes.size(); ++at) {
    const Node& node = graph.nodes[at];
    auto& earlier = before[at];
    buffers.clear();
    reads(node, buffers);
    for (const uint32_t b : buffers) {
      earlier.push_back(touched[b].writer);
      touched[b].readers.push_back(at);
    }
    buffers.clear();
    writes(node, buffers);
    for (const uint32_t b : buffers) {
      earlier.push_back(touched[b].writer);
      earlier.insert(earlier.end(), touched[b].readers.begin(), touched[b].readers.end());
      touched[b] = {at, {}};
    }
    if (draws(node)) earlier.push_back(std::exchange(drew, at));
    std::ranges::sort(earlier);
    earlier.erase(std::unique(earlier.begin(), earlier.end()), earlier.end());
    std::erase_if(earlier, [&](uint32_t other) { return other >= at; });  // itself, or none
    for (const uint32_t other : earlier) after[other].push_back(at);
  }
}

}  // namespace tenon::graph
