// A graph's nodes in groups, such that whole groups can run one after another.
#pragma once

#include <set>

#include "fuse/fused.hpp"
#include "ir/dependence.hpp"

namespace tenon::graph {

class Partition {
 public:
  // `groups`: by node; none for those that stay alone.
  Partition(const Graph& graph, std::vector<std::optional<Group>> groups,
            const tn_graph_limits& limits);

  // Makes one of the groups of two nodes. False, and why, where they stay apart.
  bool join(uint32_t a, uint32_t b, std::string& why);
  // Its nodes stand alone again.
  void dissolve(uint32_t node);

  bool together(uint32_t a, uint32_t b) const { return root_[a] == root_[b]; }
  const Group* group(uint32_t node) const;
  uint32_t root(uint32_t node) const { return root_[node]; }
  // By buffer: whether something behind the group wants its elements.
  std::vector<bool> wanted_behind(uint32_t node) const;
  // Roots, each behind what it waits for.
  std::vector<uint32_t> order() const;

 private:
  bool reaches_around(uint32_t from, uint32_t to) const;
  bool fits(const Group& group) const;
  std::vector<uint32_t> nodes_of(uint32_t root) const;

  const Graph& graph_;
  tn_graph_limits limits_;
  Dependence dependence_;
  std::vector<std::vector<uint32_t>> touching_;  // nodes, by buffer
  std::vector<bool> kept_;                       // by buffer: not the graph's alone
  std::vector<uint32_t> root_;                   // by node
  std::vector<std::optional<Group>> groups_;     // by root
};

}  // namespace tenon::graph
