#include "run/explain.hpp"

#include <fmt/ranges.h>

#include "fuse/fused.hpp"

namespace tenon::graph {

std::string place_of(const View& view, const Graph& graph, const Arena& arena) {
  const Buffer& buffer = graph.buffers[view.buffer];
  if (buffer.role != Role::Temporary) return buffer.name;
  if (arena.offsets[view.buffer] < 0) return "a result";
  const auto size = static_cast<int64_t>(size_of(buffer.dtype));
  return fmt::format("arena {} at {}, {} bytes", name_of(buffer.dtype),
                     arena.offsets[view.buffer] * size, buffer.size * size);
}

namespace {

const char* how(const Node& node) {
  if (node.fused != nullptr) return "fused";
  return node.kernel != nullptr ? "kernel" : "call";
}

}  // namespace

std::string explain(const Graph& graph, const Arena& arena,
                    const std::vector<std::string>& refused) {
  std::string text;
  const auto to = std::back_inserter(text);
  size_t number = 0;
  for (const Node& node : graph.nodes) {
    std::vector<std::string> places;
    for (const View& result : node.results) places.push_back(place_of(result, graph, arena));
    fmt::format_to(to, "{:>4}  {:6}  {}", ++number, how(node), to_text(graph, node));
    text.back() = ' ';
    fmt::format_to(to, "  in {}\n", fmt::join(places, "; "));
    if (node.fused != nullptr)
      for (const Node& each : node.fused->nodes)
        fmt::format_to(to, "{:16}{}", "", to_text(graph, each));
  }
  if (!refused.empty()) text += "\nnot fused\n";
  for (const std::string& line : refused) fmt::format_to(to, "  {}\n", line);
  return text;
}

}  // namespace tenon::graph
