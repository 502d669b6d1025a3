// Buffers as values: those that hold one thing only.
#pragma once

#include "ir/graph.hpp"

namespace tenon::graph {

class ValueMap {
 public:
  explicit ValueMap(const Graph& graph);

  // Whenever it is read it holds the same: one node wrote it, or none.
  bool is_value(uint32_t buffer) const { return value_[buffer]; }
  // It is made by one node and lives in the graph alone, so another may stand for it.
  bool replaceable(uint32_t buffer) const { return value_[buffer] && inside_[buffer]; }
  // The node that made it; UINT32_MAX for none.
  uint32_t maker(uint32_t buffer) const { return maker_[buffer]; }

 private:
  std::vector<bool> value_, inside_;
  std::vector<uint32_t> maker_;
};

// Every view of a node's arguments and results.
template <class Of, class Use>
void each_view_of(Of& node, Use&& use) {
  for (auto& argument : node.args) {
    if (auto* view = std::get_if<View>(&argument)) use(*view);
    if (auto* views = std::get_if<Views>(&argument))
      for (auto& view : *views)
        if (view) use(*view);
  }
  for (auto& view : node.results) use(view);
}

}  // namespace tenon::graph
