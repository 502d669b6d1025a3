#include "fuse/partition.hpp"

#include <algorithm>
#include <numeric>
#include <queue>

namespace tenon::graph {

Partition::Partition(const Graph& graph, std::vector<std::optional<Group>> groups,
                     const tn_graph_limits& limits)
    : graph_(graph),
      limits_(limits),
      dependence_(graph),
      touching_(graph.buffers.size()),
      kept_(graph.buffers.size()),
      root_(graph.nodes.size()),
      groups_(std::move(groups)) {
  std::iota(root_.begin(), root_.end(), 0u);
  std::vector<uint32_t> touched;
  for (uint32_t at = 0; at < graph.nodes.size(); ++at) {
    touched.clear();
    reads(graph.nodes[at], touched);
    writes(graph.nodes[at], touched);
    for (const uint32_t b : touched) touching_[b].push_back(at);
  }
  for (size_t b = 0; b < kept_.size(); ++b) kept_[b] = graph.buffers[b].role != Role::Temporary;
  for (const View& result : graph.results) kept_[result.buffer] = true;
}

const Group* Partition::group(uint32_t node) const {
  const auto& found = groups_[root_[node]];
  return found ? &*found : nullptr;
}

template <class Use>
void Partition::each_node(uint32_t root, Use&& use) const {
  if (!groups_[root]) return use(root);
  for (const Member& member : groups_[root]->members) use(member.node);
}

// Whether some node outside must run after `from` and before `to`.
bool Partition::reaches_around(uint32_t from, uint32_t to) const {
  std::vector<bool> seen(root_.size());
  std::vector<uint32_t> open = {from};
  seen[from] = true;
  bool found = false;
  while (!open.empty() && !found) {
    const uint32_t at = open.back();
    open.pop_back();
    each_node(at, [&](uint32_t node) {
      for (const uint32_t next : dependence_.after[node]) {
        const uint32_t root = root_[next];
        found = found || (root == to && at != from);
        if (root == to || seen[root]) continue;
        seen[root] = true;
        open.push_back(root);
      }
    });
  }
  return found;
}

bool Partition::fits(const Group& group) const {
  std::vector<uint32_t> touched;
  size_t nodes = 0;
  for (const Member& member : group.members) {
    touched.push_back(member.result.buffer);
    for (const Access& read : member.reads) touched.push_back(read.buffer);
    nodes += 1 + graph_.nodes[member.node].args.size();
  }
  std::ranges::sort(touched);
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  // A buffer that exists only inside the group is no operand. Members are in node order.
  const auto inside = [&](uint32_t b) {
    return !kept_[b] && std::ranges::all_of(touching_[b], [&](uint32_t node) {
      return std::ranges::binary_search(group.members, node, {}, &Member::node);
    });
  };
  const auto operands = std::ranges::count_if(touched, [&](uint32_t b) { return !inside(b); });
  return nodes <= limits_.nodes && operands <= static_cast<std::ptrdiff_t>(limits_.operands);
}

bool Partition::join(uint32_t a, uint32_t b, std::string& why) {
  const uint32_t first = root_[a], second = root_[b];
  if (first == second) return true;
  if (!groups_[first] || !groups_[second]) return why.clear(), false;
  std::vector<Group> parts;
  parts.reserve(2);
  for (const uint32_t root : {first, second}) parts.push_back(*groups_[root]);
  auto both = joined(std::move(parts), why);
  if (!both) return false;
  if (both->reduced != 0 && both->row() > limits_.row)
    return why = "rows of " + std::to_string(both->row()) + " elements are longer than its " +
                 std::to_string(limits_.row),
           false;
  if (!fits(*both)) return why = "the kernel would be too large", false;
  if (reaches_around(first, second) || reaches_around(second, first))
    return why = "another node has to run between them", false;
  const uint32_t root = std::min(first, second);
  for (const Member& member : both->members) root_[member.node] = root;
  groups_[std::max(first, second)].reset();
  groups_[root] = std::move(both);
  return true;
}

void Partition::dissolve(uint32_t node) {
  const uint32_t root = root_[node];
  each_node(root, [&](uint32_t each) { root_[each] = each; });
  groups_[root].reset();
}

std::vector<bool> Partition::wanted_behind(uint32_t node) const {
  std::vector<bool> wanted(graph_.buffers.size());
  for (const Member& member : groups_[root_[node]]->members) {
    const uint32_t b = member.result.buffer;
    wanted[b] = kept_[b] || std::ranges::any_of(touching_[b], [&](uint32_t other) {
                  return root_[other] != root_[node];
                });
  }
  return wanted;
}

std::vector<uint32_t> Partition::order() const {
  std::vector<uint32_t> waits(root_.size()), last(root_.size());
  for (uint32_t node = 0; node < root_.size(); ++node) {
    last[root_[node]] = node;
    for (const uint32_t other : dependence_.before[node])
      waits[root_[node]] += root_[other] != root_[node] ? 1 : 0;
  }
  // In the order of recording, by their last nodes.
  const auto later = [&](uint32_t a, uint32_t b) { return last[a] > last[b]; };
  std::priority_queue<uint32_t, std::vector<uint32_t>, decltype(later)> ready(later);
  for (uint32_t node = 0; node < root_.size(); ++node)
    if (root_[node] == node && waits[node] == 0) ready.push(node);
  std::vector<uint32_t> order;
  while (!ready.empty()) {
    const uint32_t root = ready.top();
    ready.pop();
    order.push_back(root);
    each_node(root, [&](uint32_t node) {
      for (const uint32_t next : dependence_.after[node])
        if (root_[next] != root && --waits[root_[next]] == 0) ready.push(root_[next]);
    });
  }
  return order;
}

}  // namespace tenon::graph
