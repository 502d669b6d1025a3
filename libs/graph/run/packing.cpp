#include "run/packing.hpp"

#include <set>

#include "file/mapped.hpp"
#include "fuse/fused.hpp"

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
    tn_view& made = views.emplace_back();
    made.struct_size = sizeof made;
    made.dtype = static_cast<tn_dtype>(view.dtype);
    made.ndim = static_cast<uint32_t>(view.shape.size());
    made.flags = view.contiguous() ? TN_VIEW_CONTIGUOUS : 0;
    made.shape = view.shape.data();
    made.strides = view.strides.data();
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

void Packing::begin(const Graph& graph) {
  graph_ = &graph;
  std::set<const tn_tensor*> known;
  for (const Node& node : graph.nodes) {
    if (node.fused == nullptr || node.fused->constants == 0) continue;
    nodes_.push_back(&node);
    for (size_t k = 0; k < node.args.size(); ++k) {
      if ((node.fused->constants >> (node.results.size() + k) & 1) == 0) continue;
      const tn_tensor* tensor = graph.buffers[std::get<View>(node.args[k]).buffer].constant.get();
      if (known.insert(tensor).second) weights_.push_back(tensor);
    }
  }
  pack();
}

void Packing::pack() {
  const uint64_t now = versions();
  for (const Node* node : nodes_) {
    const Operands operands(*graph_, *node);
    const tn_graph& backend = *node->fused->backend;
    detail::check(backend.pack(backend.self, node->kernel, operands.pointers.data()));
    for (size_t k = 0; k < node->args.size(); ++k)
      if ((node->fused->constants >> (node->results.size() + k) & 1) != 0) {
        const uint32_t buffer = std::get<View>(node->args[k]).buffer;
        const Tensor& weight = graph_->buffers[buffer].constant;
        drop_pages(tn_tensor_view(weight.get())->data, weight.nbytes());
      }
  }
  packed_.store(now, std::memory_order_release);
}

}  // namespace tenon::graph
