#include <fmt/format.h>

#include <algorithm>

#include "fuse/anchored.hpp"
#include "ir/schema.hpp"
#include "pass/pass.hpp"
#include "pass/values.hpp"
#include "plan/lower.hpp"

namespace tenon::graph {
namespace {

using Chain =
    std::vector<uint32_t>;  // an anchor followed by nodes that each process the result before

// A kernel that computes the same chain at other sizes while its constants are those that it was packed with.
class Like {
 public:
  Like(const std::weak_ptr<const Fused>& known, const tn_graph& backend,
       const std::vector<Fused::Packed>& constants)
      : known_(known.lock()) {
    if (known_ == nullptr || known_->epoch != backend.epoch(backend.self)) return;
    turn_ = std::unique_lock(known_->turn);
    if (known_->packed == constants) kernel_ = &known_->kernel;
  }
  const tn_kernel* kernel() const { return kernel_; }

 private:
  std::shared_ptr<const Fused> known_;
  std::unique_lock<std::mutex> turn_;
  const tn_kernel* kernel_ = nullptr;
};

class Anchors {
 public:
  Anchors(Graph& graph, const tn_graph& backend, const Device& device, bool sized, Anchoring& known,
          std::vector<std::string>& refused)
      : graph_(graph),
        backend_(backend),
        device_(device),
        sized_(sized),
        known_(known),
        chains_(known.chains),
        refused_(refused) {}

  bool run() {
    const ValueMap values(graph_);
    find_readers();
    if (Structure now = structure_of(graph_); now != known_.before || !still_hold(values)) {
      known_ = {std::move(now), {}, {}};
      find(values);
      known_.kernels.resize(chains_.size());
    }
    if (chains_.empty()) return false;
    tn_graph_limits limits{};
    limits.struct_size = sizeof limits;
    backend_.limits(backend_.self, 0, &limits);
    std::vector<bool> turned(graph_.buffers.size());
    if (limits.channels_last != 0) turned = images(graph_, chains_);
    for (Node& node : graph_.nodes) {
      each_view_of(node, [&](View& view) {
        if (turned[view.buffer]) put_channels_last(view);
      });
      join_channels_last(node, turned);
    }
    replace();
    if (std::ranges::find(turned, true) != turned.end())
      graph_ = lower_again(graph_, device_, turned);
    simplify(graph_);  // what was copied for its layout may lie so now
    return true;
  }

 private:
  std::vector<Node> nodes_of(const Chain& chain) const {
    std::vector<Node> nodes;
    for (const uint32_t at : chain) nodes.push_back(graph_.nodes[at]);
    return nodes;
  }

  // Whether the plugin accepts the chain; nothing is made yet.
  bool takes(const Chain& chain) const {
    const std::vector<Node> nodes = nodes_of(chain);
    const AnchoredExpression expression(graph_, nodes);
    double cost = 0;
    tn_status* status = backend_.cost(backend_.self, 0, &expression.get(), &cost);
    tn_status_release(status);
    return status == nullptr;
  }

  void find_readers() {
    readers_.resize(graph_.buffers.size());
    std::vector<uint32_t> touched;
    for (uint32_t at = 0; at < graph_.nodes.size(); ++at) {
      touched.clear();
      reads(graph_.nodes[at], touched);
      for (const uint32_t b : touched) readers_[b].push_back(at);
    }
  }

  // Whether the chains that were found at other sizes are some at these.
  bool still_hold(const ValueMap& values) const {
    return std::ranges::all_of(chains_, [&](const Chain& chain) {
      size_t at = 0;
      if (chain.size() > 1 && copy_before(chain[1], values) == chain[0]) at = 1;
      if (!may_begin(chain[at], values)) return false;
      for (; at + 1 < chain.size(); ++at)
        if (behind(chain[at], values) != chain[at + 1]) return false;
      return true;
    });
  }

  void find(const ValueMap& values) {
    std::vector<bool> taken(graph_.nodes.size());
    for (uint32_t at = 0; at < graph_.nodes.size(); ++at) {
      if (taken[at] || !may_begin(at, values)) continue;
      Chain chain = beginning(at, values);
      if (chain.empty()) continue;
      while (const auto next = behind(chain.back(), values)) {
        Chain longer = chain;
        longer.push_back(*next);
        if (taken[*next] || !takes(longer)) break;
        chain = std::move(longer);
      }
      for (const uint32_t member : chain) taken[member] = true;
      chains_.push_back(std::move(chain));
    }
  }

  // Its operands are whole tensors that nothing writes to afterwards, and only its first result is used.
  bool plain(uint32_t at, const ValueMap& values) const {
    const Node& node = graph_.nodes[at];
    if (node.op == nullptr || node.kernel == nullptr || node.results.empty() || draws(node) ||
        has_symbols(node))
      return false;
    for (size_t k = 1; k < node.results.size(); ++k)
      if (!readers_[node.results[k].buffer].empty() || !values.replaceable(node.results[k].buffer))
        return false;
    bool fits = true;
    each_view_of(node, [&](const View& view) { fits = fits && values.is_value(view.buffer); });
    return fits && std::ranges::none_of(node.args, [](const Argument& argument) {
             return std::holds_alternative<Views>(argument);
           });
  }

  // Elementwise nodes cannot be anchors. To lay out weights takes longer than to plan for a new size.
  bool may_begin(uint32_t at, const ValueMap& values) const {
    const Node& node = graph_.nodes[at];
    return !node.loop && !(sized_ && node.name() == "linear") && plain(at, values);
  }

  // An anchor, with the copy that it reads if the plugin can do without; empty if it takes neither.
  Chain beginning(uint32_t at, const ValueMap& values) const {
    if (const auto copy = copy_before(at, values))
      if (Chain both{*copy, at}; takes(both)) return both;
    Chain alone{at};
    return takes(alone) ? alone : Chain();
  }

  // The copy that an anchor reads first, if nothing else reads it.
  std::optional<uint32_t> copy_before(uint32_t at, const ValueMap& values) const {
    const Node& node = graph_.nodes[at];
    const View* const x = node.args.empty() ? nullptr : std::get_if<View>(&node.args.front());
    if (x == nullptr || !values.replaceable(x->buffer) || readers_[x->buffer].size() != 1)
      return std::nullopt;
    const uint32_t before = values.maker(x->buffer);
    if (before == UINT32_MAX || !plain(before, values)) return std::nullopt;
    const Node& copy = graph_.nodes[before];
    const bool copies = copy.name() == "clone" || copy.name() == "contiguous";
    const bool whole = copy.results[0].contiguous() && x->contiguous() &&
                       x->offset == copy.results[0].offset && x->numel() == copy.results[0].numel();
    return copies && whole ? std::optional(before) : std::nullopt;
  }

  // The only node that reads the result, provided that it is elementwise and reads the result in its layout.
  std::optional<uint32_t> behind(uint32_t at, const ValueMap& values) const {
    const View& made = graph_.nodes[at].results[0];
    if (!values.replaceable(made.buffer) || readers_[made.buffer].size() != 1) return std::nullopt;
    const uint32_t next = readers_[made.buffer][0];
    const Node& node = graph_.nodes[next];
    if (!plain(next, values) || node.results[0].shape != made.shape ||
        node.results[0].dtype != made.dtype)
      return std::nullopt;
    bool alike = true;
    for (const Argument& argument : node.args)
      if (const auto* view = std::get_if<View>(&argument); view && view->buffer == made.buffer)
        alike = alike && same(*view, made);
    return alike ? std::optional(next) : std::nullopt;
  }

  // The kernel of a chain; if the plugin fails to make one, none, and the reason is kept.
  std::optional<Node> made(const Chain& chain, std::weak_ptr<const Fused>& last) {
    auto fused = std::make_shared<Fused>();
    fused->nodes = nodes_of(chain);
    AnchoredExpression expression(graph_, fused->nodes);
    Node node = expression.node();
    const Like like(last, backend_, constants_of(graph_, node, expression.constants()));
    expression.set_like(like.kernel());
    tn_status* status = backend_.compile(backend_.self, 0, &expression.get(), &fused->kernel);
    if (status != nullptr) {
      refused_.push_back(fmt::format("%{} {}: {}", fused->nodes[0].results[0].buffer,
                                     fused->nodes[0].name(),
                                     detail::to_view(tn_status_message(status))));
      tn_status_release(status);
      return std::nullopt;
    }
    fused->backend = &backend_;
    fused->epoch = backend_.epoch(backend_.self);
    fused->constants = expression.constants();
    node.kernel = &fused->kernel;
    node.fused = fused;
    if (fused->constants != 0) pack_constants(graph_, node);
    last = fused;
    return node;
  }

  // A kernel takes the place of the last node in its chain.
  void replace() {
    std::vector<std::optional<Node>> kernels(graph_.nodes.size());
    std::vector<bool> gone(graph_.nodes.size());
    for (size_t c = 0; c < chains_.size(); ++c) {
      const Chain& chain = chains_[c];
      kernels[chain.back()] = made(chain, known_.kernels[c]);
      if (!kernels[chain.back()]) continue;
      for (const uint32_t at : chain) gone[at] = true;
    }
    std::vector<Node> nodes;
    for (uint32_t at = 0; at < graph_.nodes.size(); ++at) {
      if (kernels[at])
        nodes.push_back(std::move(*kernels[at]));
      else if (!gone[at])
        nodes.push_back(std::move(graph_.nodes[at]));
    }
    graph_.nodes = std::move(nodes);
  }

  Graph& graph_;
  const tn_graph& backend_;
  const Device& device_;
  const bool sized_;
  Anchoring& known_;
  std::vector<Chain>& chains_;  // of known_
  std::vector<std::string>& refused_;
  std::vector<std::vector<uint32_t>> readers_;  // by buffer
};

}  // namespace

bool anchor(Graph& graph, const Device& device, bool sized, Anchoring& known,
            std::vector<std::string>& refused) {
  const tn_graph* backend = backend_of(device);
  if (backend == nullptr) return false;
  const bool restored = restore_ops(graph, device);
  return Anchors(graph, *backend, device, sized, known, refused).run() || restored;
}

}  // namespace tenon::graph
