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

// Buffers of one dtype that have a place. Most live for a few nodes, so they are listed by spans of nodes.
class Places {
 public:
  explicit Places(size_t nodes) : spans_(nodes / kSpan + 1) {}

  // The lowest position for `size` elements among buffers that live at the same time.
  int64_t lowest(const Life& life, int64_t size) {
    beside_.clear();
    for (uint32_t s = life.first / kSpan; s <= life.last / kSpan; ++s)
      for (const Placed& other : spans_[s])
        if (other.life.meets(life)) beside_.push_back(other);
    std::ranges::sort(beside_, {}, &Placed::begin);
    int64_t at = 0;
    for (const Placed& other : beside_) {
      if (at + size <= other.begin) break;
      at = std::max(at, other.end);
    }
    return at;
  }
  void add(const Placed& placed) {
    for (uint32_t s = placed.life.first / kSpan; s <= placed.life.last / kSpan; ++s)
      spans_[s].push_back(placed);
  }

 private:
  static constexpr uint32_t kSpan = 16;
  std::vector<std::vector<Placed>> spans_;
  std::vector<Placed> beside_;
};

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
  std::map<DType, Places> placed;
  for (const uint32_t b : order) {
    const Buffer& buffer = graph.buffers[b];
    const int64_t size = rounded(buffer);
    Places& beside = placed.try_emplace(buffer.dtype, nodes.size()).first->second;
    const int64_t at = beside.lowest(lives[b], size);
    beside.add({at, at + size, lives[b]});
    arena.offsets[b] = at;
    arena.sizes[buffer.dtype] = std::max(arena.sizes[buffer.dtype], at + size);
    arena.apart += static_cast<uint64_t>(size) * size_of(buffer.dtype);
  }
  for (const auto& [dtype, size] : arena.sizes)
    arena.bytes += static_cast<uint64_t>(size) * size_of(dtype);
  return arena;
}

}  // namespace tenon::graph
