// Divides a graph's nodes into groups such that whole groups can run one after another.
#pragma once

#include "fuse/fused.hpp"
#include "ir/dependence.hpp"

namespace tenon::graph {

class Partition {
 public:
  // `groups`: by node; none for a node that stays alone.
  Partition(const Graph& graph, std::vector<std::optional<Group>> groups,
            const tn_graph_limits& limits);

  // Merges two groups. If they must stay apart, returns false and says why.
  bool join(uint32_t a, uint32_t b, std::string& why);
  // Splits a group into single nodes again.
  void dissolve(uint32_t node);

  bool together(uint32_t a, uint32_t b) const { return root_[a] == root_[b]; }
  const Group* group(uint32_t node) const;
  uint32_t root(uint32_t node) const { return root_[node]; }
  // By buffer: whether anything after the group reads it.
  std::vector<bool> wanted_behind(uint32_t node) const;
  // One node for each group, in an order that respects every dependence.
  std::vector<uint32_t> order() const;

 private:
  bool reaches_around(uint32_t from, uint32_t to) const;
  bool fits(const Group& group) const;
  template <class Use>
  void each_node(uint32_t root, Use&& use) const;

  const Graph& graph_;
  tn_graph_limits limits_;
  Dependence dependence_;
  std::vector<std::vector<uint32_t>> touching_;  // by buffer: the nodes that touch it
  std::vector<bool> kept_;                       // by buffer: something outside the graph uses it
  std::vector<uint32_t> root_;                   // by node
  std::vector<std::optional<Group>> groups_;     // by root
};

}  // namespace tenon::graph
