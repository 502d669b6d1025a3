#include <algorithm>

#include "fuse/group.hpp"
#include "pass/pass.hpp"
#include "pass/values.hpp"

namespace tenon::graph {
namespace {

// The loop's operands that are views: results, then arguments, each with its strides in the loop.
struct Operand {
  View* view;
  const Dims* strides;
};

void operands_of(Node& node, std::vector<Operand>& found) {
  found.clear();
  size_t k = 0;
  for (View& view : node.results) found.push_back({&view, &node.loop->strides[k++]});
  for (Argument& argument : node.args) {
    auto* view = std::get_if<View>(&argument);
    if (view == nullptr && !std::holds_alternative<Number>(argument)) continue;
    if (k == node.loop->strides.size()) break;
    if (view != nullptr) found.push_back({view, &node.loop->strides[k]});
    ++k;
  }
}

// Elementwise kernels read each element before they write it. So do fused kernels, whatever they reduce.
bool goes_in_place(const Node& node) {
  return node.loop && node.kernel != nullptr && !has_symbols(node) &&
         (node.loop->reduced == 0 || node.fused != nullptr) && node.name() != "clone" &&
         node.name() != "contiguous";
}

}  // namespace

void reuse_operands(Graph& graph) {
  const ValueMap values(graph);
  std::vector<uint32_t> last(graph.buffers.size());
  std::vector<uint32_t> touched;
  for (uint32_t at = 0; at < graph.nodes.size(); ++at) {
    touched.clear();
    reads(graph.nodes[at], touched);
    writes(graph.nodes[at], touched);
    for (const uint32_t b : touched) last[b] = at;
  }
  std::vector<uint32_t> place(graph.buffers.size());
  for (uint32_t b = 0; b < place.size(); ++b) place[b] = b;
  const auto inside = [&](uint32_t b) { return values.replaceable(b); };
  std::vector<Operand> operands;
  std::vector<uint32_t> taken;
  for (uint32_t at = 0; at < graph.nodes.size(); ++at) {
    Node& node = graph.nodes[at];
    taken.clear();
    if (goes_in_place(node)) {
      operands_of(node, operands);
      for (size_t k = 0; k < node.results.size(); ++k) {
        const Operand& out = operands[k];
        const Buffer& buffer = graph.buffers[out.view->buffer];
        if (!inside(out.view->buffer)) continue;
        const auto free = std::find_if(
            operands.begin() + static_cast<std::ptrdiff_t>(node.results.size()), operands.end(),
            [&](const Operand& in) {
              const Buffer& other = graph.buffers[in.view->buffer];
              // Both views, and `last`, refer to the buffers as they were before this pass.
              return inside(in.view->buffer) && last[in.view->buffer] == at &&
                     other.dtype == buffer.dtype && other.size == buffer.size &&
                     in.view->offset == out.view->offset && *in.strides == *out.strides &&
                     std::ranges::find(taken, in.view->buffer) == taken.end() &&
                     std::ranges::all_of(operands, [&](const Operand& one) {
                       return one.view->buffer != in.view->buffer ||
                              (one.view->offset == in.view->offset && *one.strides == *in.strides);
                     });
            });
        if (free == operands.end()) continue;
        taken.push_back(free->view->buffer);
        place[out.view->buffer] = place[free->view->buffer];
      }
    }
  }
  for (Node& node : graph.nodes)
    each_view_of(node, [&](View& view) { view.buffer = place[view.buffer]; });
}

}  // namespace tenon::graph
