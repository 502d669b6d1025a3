#include "plan/arena.hpp"

#include <algorithm>
#include <numeric>

namespace tenon::graph {
namespace {

constexpr uint64_t kAlignment = 64;  // bytes; kernels may rely on it

// From the first node that touches a buffer to the last.
struct Life {
  uint32_t first = UINT32_MAX, last = 0;
  void touch(uint32_t at) {
    first = std::min(first, at);
    last = std::max(last, at);
  }
  bool used() const { return first != UINT32_MAX; }
  bool meets(const Life& other) const { return first <= other.last && other.first <= last; }
};

std::vector<Life> lives_of(const Graph& graph, std::span<const uint32_t> order) {
  std::vector<Life> lives(graph.buffers.size());
  std::vector<uint32_t> touched;
  for (uint32_t at = 0; at < order.size(); ++at) {
    touched.clear();
    reads(graph.nodes[order[at]], touched);
    writes(graph.nodes[order[at]], touched);
    for (const uint32_t buffer : touched) lives[buffer].touch(at);
  }
  return lives;
}

int64_t rounded(const Buffer& buffer) {
  const auto step = static_cast<int64_t>(kAlignment / size_of(buffer.dtype));
  return (buffer.size + step - 1) / step * step;
}

struct Placed {
  int64_t begin, end;
  Life life;
};

// The lowest position for `size` elements among buffers that live at the same time.
int64_t lowest(const std::vector<Placed>& placed, const Life& life, int64_t size) {
  int64_t at = 0;
  for (const Placed& other : placed) {  // sorted by offset
    if (!other.life.meets(life)) continue;
    if (at + size <= other.begin) break;
    at = std::max(at, other.end);
  }
  return at;
}

}  // namespace

Arena plan_arena(const Graph& graph) {
  std::vector<uint32_t> order(graph.nodes.size());
  std::iota(order.begin(), order.end(), 0u);
  return plan_arena(graph, order);
}

Arena plan_arena(const Graph& graph, std::span<const uint32_t> nodes) {
  const std::vector<Life> lives = lives_of(graph, nodes);
  std::vector<bool> elsewhere(graph.buffers.size());
  for (const View& result : graph.results) elsewhere[result.buffer] = true;

  std::vector<uint32_t> order;
  for (uint32_t b = 0; b < graph.buffers.size(); ++b)
    if (graph.buffers[b].role == Role::Temporary && lives[b].used() && !elsewhere[b])
      order.push_back(b);
  std::ranges::stable_sort(order, std::greater(),
                           [&](uint32_t b) { return graph.buffers[b].size; });

  Arena arena;
  arena.offsets.assign(graph.buffers.size(), -1);
  std::map<DType, std::vector<Placed>> placed;
  for (const uint32_t b : order) {
    const Buffer& buffer = graph.buffers[b];
    const int64_t size = rounded(buffer);
    auto& beside = placed[buffer.dtype];
    const int64_t at = lowest(beside, lives[b], size);
    const auto next = std::ranges::upper_bound(beside, at, {}, &Placed::begin);
    beside.insert(next, {at, at + size, lives[b]});
    arena.offsets[b] = at;
    arena.sizes[buffer.dtype] = std::max(arena.sizes[buffer.dtype], at + size);
    arena.apart += static_cast<uint64_t>(size) * size_of(buffer.dtype);
  }
  for (const auto& [dtype, size] : arena.sizes)
    arena.bytes += static_cast<uint64_t>(size) * size_of(dtype);
  return arena;
}

}  // namespace tenon::graph
