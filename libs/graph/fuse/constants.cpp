// Constants that anchored kernels keep copies of.
#include "file/mapped.hpp"
#include "fuse/fused.hpp"
#include "run/plain_value.hpp"

namespace tenon::graph {
namespace {

// The node's operands, results first, as pack() expects them.
struct Operands {
  Operands(const Graph& graph, const Node& node) {
    for (const View& result : node.results) add(graph, result, false);
    for (size_t k = 0; k < node.args.size(); ++k)
      add(graph, std::get<View>(node.args[k]),
          (node.fused->constants >> (node.results.size() + k) & 1) != 0);
    for (const tn_view& view : views) pointers.push_back(&view);
  }
  void add(const Graph& graph, const View& view, bool constant) {
    tn_view& made = views.emplace_back(form_of(view));
    if (!constant) return;
    const tn_view& base = *tn_tensor_view(graph.buffers[view.buffer].constant.get());
    if ((base.flags & TN_VIEW_RELEASED) != 0)
      throw Error(TN_FAILED_PRECONDITION,
                  "[graph] the storage of a weight was released; restore it first");
    made.data =
        static_cast<char*>(base.data) + view.offset * static_cast<int64_t>(size_of(view.dtype));
  }
  std::vector<tn_view> views;
  std::vector<const tn_view*> pointers;
};

}  // namespace

std::vector<Fused::Packed> constants_of(const Graph& graph, const Node& node, uint64_t constants) {
  std::vector<Fused::Packed> found;
  for (size_t k = 0; k < node.args.size(); ++k) {
    if ((constants >> (node.results.size() + k) & 1) == 0) continue;
    const tn_tensor* held = graph.buffers[std::get<View>(node.args[k]).buffer].constant.get();
    found.emplace_back(held, tn_tensor_version(held));
  }
  return found;
}

void pack_constants(const Graph& graph, const Node& node) {
  const Fused& fused = *node.fused;
  const std::lock_guard turn(fused.turn);
  auto constants = constants_of(graph, node, fused.constants);
  if (fused.packed == constants) return;
  const Operands operands(graph, node);
  detail::check(fused.backend->pack(fused.backend->self, node.kernel, operands.pointers.data()));
  for (size_t k = 0; k < node.args.size(); ++k) {
    if ((fused.constants >> (node.results.size() + k) & 1) == 0) continue;
    const Tensor& weight = graph.buffers[std::get<View>(node.args[k]).buffer].constant;
    drop_pages(tn_tensor_view(weight.get())->data, weight.nbytes());
  }
  fused.packed = std::move(constants);
}

}  // namespace tenon::graph
