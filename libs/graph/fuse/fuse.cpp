#include "fuse/fuse.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fuse/partition.hpp"

namespace tenon::graph {
namespace {

std::string message_of(tn_status* status) {
  std::string text(detail::to_view(tn_status_message(status)));
  tn_status_release(status);
  return text;
}

// Two nodes that share a buffer, and the number of bytes that need not move if they run as one.
struct Pair {
  uint32_t first, second;
  bool made;  // one makes what the other reads; otherwise both read it
  uint64_t bytes;
};

// The first view of a buffer among a node's arguments.
const View* view_of(const Node& node, uint32_t buffer) {
  for (const Argument& argument : node.args)
    if (const auto* view = std::get_if<View>(&argument); view && view->buffer == buffer)
      return view;
  return nullptr;
}

bool read_alike(const Node& a, const Node& b, uint32_t buffer) {
  const View* x = view_of(a, buffer);
  const View* y = view_of(b, buffer);
  return x != nullptr && y != nullptr && x->offset == y->offset && x->shape == y->shape &&
         x->strides == y->strides;
}

// A group's kernel and the node that is to run it.
struct Kernel {
  std::shared_ptr<Fused> fused;
  Node node;
};

// None if the plugin cannot make it.
std::optional<Kernel> kernel_of(const tn_graph& backend, const Expression& expression,
                                std::string& why) {
  auto fused = std::make_shared<Fused>();
  fused->backend = &backend;
  tn_status* status = backend.compile(backend.self, 0, &expression.get(), &fused->kernel);
  if (status != nullptr) return why = message_of(status), std::nullopt;
  return Kernel{std::move(fused), expression.node()};
}

// The node that replaces those of a step; it takes them out of the graph.
Node taken(Graph& graph, std::optional<Kernel>& kernel, const std::vector<uint32_t>& step) {
  if (!kernel) return std::move(graph.nodes[step.front()]);
  Fused& fused = *kernel->fused;
  fused.nodes.reserve(step.size());
  for (const uint32_t at : step) fused.nodes.push_back(std::move(graph.nodes[at]));
  kernel->node.kernel = &fused.kernel;
  kernel->node.fused = std::move(kernel->fused);
  return std::move(kernel->node);
}

class Fuser {
 public:
  Fuser(Graph& graph, const tn_graph& backend, Decisions& decisions)
      : graph_(graph), backend_(backend), decisions_(decisions), refused_(decisions.refused) {
    limits_.struct_size = sizeof limits_;
    backend_.limits(backend_.self, 0, &limits_);
  }

  void run() {
    Partition partition(graph_, candidates(), limits_);
    for (const Pair& pair : pairs()) {
      std::string why;
      if (!partition.join(pair.first, pair.second, why) && !why.empty())
        refuse(pair.first, pair.second, why);
    }
    replace(partition);
  }

 private:
  std::string label(uint32_t at) const {
    const Node& node = graph_.nodes[at];
    return node.results.empty() ? std::string(node.name())
                                : fmt::format("%{} {}", node.results[0].buffer, node.name());
  }
  void refuse(uint32_t first, uint32_t second, const std::string& why) {
    refused_.push_back(fmt::format("{} and {}: {}", label(first), label(second), why));
  }

  // Each node as a group of its own with its cost; none if the plugin does not accept it.
  std::vector<std::optional<Group>> candidates() {
    const std::vector<bool> all(graph_.buffers.size(), true);
    std::vector<std::optional<Group>> groups;
    for (uint32_t at = 0; at < graph_.nodes.size(); ++at) {
      std::string why;
      auto group = group_of(graph_.nodes[at], at, why);
      double cost = 0;
      if (group && !estimate(Expression(graph_, *group, all), cost, why)) group.reset();
      if (!group && graph_.nodes[at].loop)
        refused_.push_back(fmt::format("{}: {}", label(at), why));
      costs_.push_back(cost);
      groups.push_back(std::move(group));
    }
    return groups;
  }

  bool estimate(const Expression& expression, double& cost, std::string& why) const {
    if (!expression.has_plain_rows())
      return why = "the elements that it reduces are not adjacent", false;
    tn_status* status = backend_.cost(backend_.self, 0, &expression.get(), &cost);
    if (status != nullptr) why = message_of(status);
    return status == nullptr;
  }

  // Pairs of maker and reader come first, then the largest savings. A value that only its reader needs is neither written nor read.
  std::vector<Pair> pairs() const {
    std::vector<std::vector<std::pair<uint32_t, bool>>> uses(
        graph_.buffers.size());  // node, writes
    std::vector<uint32_t> touched;
    for (uint32_t at = 0; at < graph_.nodes.size(); ++at)
      for (const bool write : {false, true}) {
        touched.clear();
        write ? writes(graph_.nodes[at], touched) : reads(graph_.nodes[at], touched);
        for (const uint32_t b : touched) uses[b].emplace_back(at, write);
      }
    std::vector<Pair> found;
    for (uint32_t b = 0; b < uses.size(); ++b) {
      const uint64_t bytes =
          static_cast<uint64_t>(graph_.buffers[b].size) * size_of(graph_.buffers[b].dtype);
      const uint64_t times = uses[b].size() == 2 ? 2 : 1;
      uint32_t maker = UINT32_MAX;
      for (size_t i = 0; i < uses[b].size(); ++i) {
        const auto [at, write] = uses[b][i];
        if (maker != UINT32_MAX && maker != at) found.push_back({maker, at, true, bytes * times});
        const uint32_t before = i == 0 ? at : uses[b][i - 1].first;
        if (before != at && read_alike(graph_.nodes[before], graph_.nodes[at], b))
          found.push_back({before, at, false, bytes});
        if (write) maker = at;
      }
    }
    std::ranges::stable_sort(found, [](const Pair& x, const Pair& y) {
      return std::tuple(!x.made, y.bytes, x.first) < std::tuple(!y.made, x.bytes, y.first);
    });
    return found;
  }

  // The kernel of a group if it pays.
  std::optional<Kernel> made(const Partition& partition, uint32_t root) {
    const Group& group = *partition.group(root);
    const Expression expression(graph_, group, partition.wanted_behind(root));
    std::string why;
    double cost = 0, apart = 0;
    for (const Member& member : group.members) apart += costs_[member.node];
    if (!estimate(expression, cost, why))
      return refuse(group.members.front().node, group.members.back().node, why), std::nullopt;
    if (cost >= apart)
      return refuse(group.members.front().node, group.members.back().node,
                    fmt::format("together they take {:.0f} ns, apart {:.0f}", cost, apart)),
             std::nullopt;
    auto kernel = kernel_of(backend_, expression, why);
    if (!kernel) refuse(group.members.front().node, group.members.back().node, why);
    return kernel;
  }

  void replace(Partition& partition) {
    std::vector<std::optional<Kernel>> kernels(graph_.nodes.size());
    for (uint32_t at = 0; at < graph_.nodes.size(); ++at) {
      const Group* group = partition.group(at);
      if (group == nullptr || group->members.size() < 2 || partition.root(at) != at) continue;
      kernels[at] = made(partition, at);
      if (!kernels[at]) partition.dissolve(at);
    }
    std::vector<Node> nodes;
    for (const uint32_t root : partition.order()) {
      std::vector<uint32_t>& step = decisions_.steps.emplace_back();
      if (kernels[root])
        for (const Member& member : partition.group(root)->members) step.push_back(member.node);
      else
        step = {root};
      nodes.push_back(taken(graph_, kernels[root], step));
    }
    graph_.nodes = std::move(nodes);
  }

  Graph& graph_;
  const tn_graph& backend_;
  tn_graph_limits limits_{};
  std::vector<double> costs_;  // by node
  Decisions& decisions_;
  std::vector<std::string>& refused_;
};

}  // namespace

void fuse(Graph& graph, const Device& device, Decisions& made) {
  if (const tn_graph* backend = backend_of(device)) return Fuser(graph, *backend, made).run();
  for (uint32_t at = 0; at < graph.nodes.size(); ++at) made.steps.push_back({at});
}

namespace {

// By buffer: whether several steps touch it, or anything outside the graph.
std::vector<bool> handed_on(const Graph& graph, const std::vector<std::vector<uint32_t>>& steps) {
  std::vector<bool> handed(graph.buffers.size());
  for (size_t b = 0; b < handed.size(); ++b) handed[b] = graph.buffers[b].role != Role::Temporary;
  for (const View& result : graph.results) handed[result.buffer] = true;
  std::vector<uint32_t> by(graph.buffers.size(), UINT32_MAX), touched;
  for (uint32_t step = 0; step < steps.size(); ++step)
    for (const uint32_t at : steps[step]) {
      touched.clear();
      reads(graph.nodes[at], touched);
      writes(graph.nodes[at], touched);
      for (const uint32_t b : touched) {
        if (by[b] != UINT32_MAX && by[b] != step) handed[b] = true;
        by[b] = step;
      }
    }
  return handed;
}

std::optional<Kernel> made_again(const Graph& graph, const tn_graph& backend,
                                 const std::vector<uint32_t>& step,
                                 const std::vector<bool>& handed) {
  std::string why;
  std::vector<Group> groups;
  groups.reserve(step.size());
  for (const uint32_t at : step) {
    auto group = group_of(graph.nodes[at], at, why);
    if (!group) return std::nullopt;
    groups.push_back(std::move(*group));
  }
  const auto group = joined(std::move(groups), why);
  if (!group) return std::nullopt;
  const Expression expression(graph, *group, handed);
  return expression.has_plain_rows() ? kernel_of(backend, expression, why) : std::nullopt;
}

}  // namespace

bool fuse_again(Graph& graph, const Device& device,
                const std::vector<std::vector<uint32_t>>& steps) {
  const tn_graph* backend = backend_of(device);
  const std::vector<bool> handed = handed_on(graph, steps);
  std::vector<std::optional<Kernel>> kernels(steps.size());
  for (size_t s = 0; s < steps.size(); ++s)
    if (steps[s].size() > 1 &&
        (backend == nullptr || !(kernels[s] = made_again(graph, *backend, steps[s], handed))))
      return false;
  std::vector<Node> nodes;
  nodes.reserve(steps.size());
  for (size_t s = 0; s < steps.size(); ++s) nodes.push_back(taken(graph, kernels[s], steps[s]));
  graph.nodes = std::move(nodes);
  return true;
}

}  // namespace tenon::graph
