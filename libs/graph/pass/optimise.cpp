#include <algorithm>
#include <iterator>
#include <numeric>

#include "fuse/anchored.hpp"
#include "fuse/fuse.hpp"
#include "pass/pass.hpp"

namespace tenon::graph {
namespace {

// Puts nodes into the order given by `order`.
void put_in_order(std::vector<Node>& nodes, const std::vector<uint32_t>& order) {
  std::vector<Node> made;
  made.reserve(nodes.size());
  for (const uint32_t at : order) made.push_back(std::move(nodes[at]));
  nodes = std::move(made);
}

// Removes nodes that repeat others or change nothing. Returns false if there are none.
bool tidy(Graph& graph) {
  const size_t count = graph.nodes.size();
  share_equal(graph);
  simplify(graph);
  drop_dead(graph);
  return graph.nodes.size() != count;
}

class Optimiser {
 public:
  Optimiser(Graph& graph, const Device& device, Rules rules, Decided* decided)
      : graph_(graph), device_(device), rules_(rules), decided_(decided) {}

  std::vector<std::string> run() {
    separate(graph_);
    if (decided_ != nullptr) {
      made_.before = structure_of(graph_);
      made_.elements = elements_of(graph_);
      known_ = decided_->find(made_.before, made_.elements);
    }
    remove_nodes();
    if (!rules_.exact) make_anchors();
    if (known_ != nullptr && !fuse_again(graph_, device_, known_->steps)) known_ = nullptr;
    if (known_ == nullptr) fuse(graph_, device_, made_);
    reuse_operands(graph_);
    return known_ != nullptr ? follow() : decide();
  }

 private:
  // What was known holds on if the graph is as it was then.
  void compare(Structure Decisions::*at) {
    if (decided_ == nullptr) return;
    made_.*at = structure_of(graph_);
    if (known_ != nullptr && known_->*at != made_.*at) known_ = nullptr;
  }

  // What could be removed at these sizes alone may stay.
  void remove_nodes() {
    if (known_ != nullptr && !known_->tidies) {
      made_.tidied = made_.before;
      return;
    }
    made_.tidies = tidy(graph_);
    compare(&Decisions::tidied);
  }

  void make_anchors() {
    if (known_ != nullptr && !known_->anchors) return;
    if (decided_ != nullptr) made_.anchoring = decided_->anchoring(made_.before);
    made_.anchors = anchor(graph_, device_, rules_.sized, made_.anchoring, made_.refused);
    if (made_.anchors) compare(&Decisions::anchored);
  }

  std::vector<std::string> follow() {
    known_->anchoring = std::move(made_.anchoring);
    const bool same = structure_of(graph_) == known_->behind;
    put_in_order(graph_.nodes, same ? known_->order : best_order(graph_));
    return known_->refused;
  }

  std::vector<std::string> decide() {
    made_.order = best_order(graph_);
    if (decided_ == nullptr) {
      put_in_order(graph_.nodes, made_.order);
      return std::move(made_.refused);
    }
    made_.behind = structure_of(graph_);
    put_in_order(graph_.nodes, made_.order);
    std::vector<std::string> refused = made_.refused;
    decided_->keep(std::move(made_));
    return refused;
  }

  Graph& graph_;
  const Device& device_;
  const Rules rules_;
  Decided* decided_;
  Decisions made_;
  Decisions* known_ = nullptr;  // as far as it holds
};

}  // namespace

std::vector<std::string> optimise(Graph& graph, const Device& device, bool bound, Rules rules,
                                  Decided* decided) {
  if (bound) return Optimiser(graph, device, rules, decided).run();
  tidy(graph);
  put_in_order(graph.nodes, best_order(graph));
  return {};
}

}  // namespace tenon::graph
