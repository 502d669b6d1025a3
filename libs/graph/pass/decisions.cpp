#include "pass/decisions.hpp"

#include <algorithm>

#include "pass/values.hpp"

namespace tenon::graph {

Structure structure_of(const Graph& graph) {
  Structure made;
  made.reserve(graph.nodes.size() * 12);
  const auto add = [&](const auto* pointer) {
    made.push_back(reinterpret_cast<uintptr_t>(pointer));
  };
  const auto add_view = [&](const View& view) {
    made.push_back(uint64_t{view.buffer} << 16 | view.shape.size() << 8 |
                   static_cast<uint64_t>(view.dtype));
  };
  for (const Node& node : graph.nodes) {
    add(node.op);
    add(node.fused == nullptr ? node.kernel : nullptr);  // made anew for each
    add(node.control.get());
    made.push_back(node.args.size() << 32 | node.results.size() << 16 |
                   (node.loop ? node.loop->reduced + 1 : 0));
    for (const Argument& argument : node.args) {
      made.push_back(argument.index());
      if (const auto* views = std::get_if<Views>(&argument)) made.push_back(views->size());
    }
    each_view_of(node, add_view);
  }
  for (const View& result : graph.results) add_view(result);
  return made;
}

int64_t elements_of(const Graph& graph) {
  int64_t count = 1;
  for (const Node& node : graph.nodes)
    for (const View& result : node.results) count += result.numel();
  return count;
}

namespace {

bool serves(const Decisions& one, const Structure& structure, int64_t elements) {
  return one.elements / 4 <= elements && elements / 4 <= one.elements && one.before == structure;
}

}  // namespace

Decisions* Decided::find(const Structure& structure, int64_t elements) {
  const auto found = std::ranges::find_if(
      all_, [&](const Decisions& one) { return serves(one, structure, elements); });
  return found == all_.end() ? nullptr : &*found;
}

Anchoring Decided::anchoring(const Structure& structure) const {
  for (size_t i = all_.size(); i-- > 0;)
    if (all_[i].before == structure) return all_[i].anchoring;
  return {};
}

void Decided::keep(Decisions made) {
  std::erase_if(all_,
                [&](const Decisions& one) { return serves(one, made.before, made.elements); });
  all_.push_back(std::move(made));
}

}  // namespace tenon::graph
