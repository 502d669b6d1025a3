#include <algorithm>
#include <numeric>

#include "ir/dependence.hpp"
#include "pass/pass.hpp"
#include "plan/arena.hpp"

namespace tenon::graph {
namespace {

using Order = std::vector<uint32_t>;

// Places before each node what it depends on, and nothing else.
class DepthFirst {
 public:
  explicit DepthFirst(const Dependence& dependence)
      : dependence_(dependence), done_(dependence.before.size()) {}
  Order run() {
    // Starts from the nodes on which nothing depends.
    for (uint32_t at = 0; at < done_.size(); ++at)
      if (dependence_.after[at].empty()) visit(at);
    return std::move(order_);
  }

 private:
  // Uses an explicit stack, because graphs are deeper than the thread's stack allows.
  void visit(uint32_t root) {
    std::vector<std::pair<uint32_t, size_t>> open = {{root, 0}};
    while (!open.empty()) {
      auto& [at, next] = open.back();
      const auto& before = dependence_.before[at];
      if (done_[at]) {
        open.pop_back();
      } else if (next < before.size()) {
        const uint32_t child = before[next++];
        if (!done_[child]) open.emplace_back(child, 0);
      } else {
        done_[at] = true;
        order_.push_back(at);
        open.pop_back();
      }
    }
  }
  const Dependence& dependence_;
  std::vector<bool> done_;
  Order order_;
};

// Among the nodes that are ready, chooses the one after which the least memory is in use.
Order freeing_most(const Graph& graph, const Dependence& dependence) {
  std::vector<std::vector<uint32_t>> touched(graph.nodes.size());
  std::vector<uint32_t> left(graph.buffers.size()), waits(graph.nodes.size());
  std::vector<bool> alive(graph.buffers.size());
  for (uint32_t at = 0; at < graph.nodes.size(); ++at) {
    reads(graph.nodes[at], touched[at]);
    writes(graph.nodes[at], touched[at]);
    std::ranges::sort(touched[at]);
    touched[at].erase(std::unique(touched[at].begin(), touched[at].end()), touched[at].end());
    std::erase_if(touched[at],
                  [&](uint32_t b) { return graph.buffers[b].role != Role::Temporary; });
    for (const uint32_t b : touched[at]) ++left[b];
    waits[at] = static_cast<uint32_t>(dependence.before[at].size());
  }
  for (const View& result : graph.results) ++left[result.buffer];
  const auto growth = [&](uint32_t at) {
    int64_t bytes = 0;
    for (const uint32_t b : touched[at]) {
      const int64_t own =
          graph.buffers[b].size * static_cast<int64_t>(size_of(graph.buffers[b].dtype));
      bytes += (alive[b] ? 0 : own) - (left[b] == 1 ? own : 0);
    }
    return bytes;
  };
  Order ready, order;
  for (uint32_t at = 0; at < waits.size(); ++at)
    if (waits[at] == 0) ready.push_back(at);
  while (!ready.empty()) {
    const auto best =
        std::ranges::min_element(ready, {}, [&](uint32_t at) { return std::pair(growth(at), at); });
    const uint32_t at = *best;
    ready.erase(best);
    order.push_back(at);
    for (const uint32_t b : touched[at]) alive[b] = true, --left[b];
    for (const uint32_t next : dependence.after[at])
      if (--waits[next] == 0) ready.push_back(next);
  }
  return order;
}

}  // namespace

std::vector<uint32_t> best_order(const Graph& graph) {
  const Dependence dependence(graph);
  Order best(graph.nodes.size());
  std::iota(best.begin(), best.end(), 0u);
  uint64_t least = plan_arena(graph, best).bytes;
  for (Order& order : std::array{DepthFirst(dependence).run(), freeing_most(graph, dependence)}) {
    const uint64_t bytes = plan_arena(graph, order).bytes;
    if (bytes >= least) continue;
    least = bytes;
    best = std::move(order);
  }
  return best;
}

}  // namespace tenon::graph
