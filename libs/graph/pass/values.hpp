// Buffers that hold the same elements from the moment they are made.
#pragma once

#include "ir/graph.hpp"

namespace tenon::graph {

class ValueMap {
 public:
  explicit ValueMap(const Graph& graph);

  // Whether it holds the same elements at every read: at most one node writes it.
  bool is_value(uint32_t buffer) const { return value_[buffer]; }
  // Whether one node makes it and only the graph uses it, so that another buffer may replace it.
  bool replaceable(uint32_t buffer) const { return value_[buffer] && inside_[buffer]; }
  // The node that wrote it, or UINT32_MAX.
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
