// Custom functions: a node whose gradient is a callback.
#include <algorithm>
#include <cstring>
#include <string>

#include "autograd/engine.hpp"
#include "boundary.hpp"
#include "dispatch/foreign.hpp"
#include "dispatch/record.hpp"

namespace tenon::core {
namespace {

// Held by the graph, and by a run that uses it.
using Callback = std::shared_ptr<tn_function>;

Callback keep(const tn_function& function) {
  tn_function known{};
  std::memcpy(&known, &function, std::min<size_t>(function.struct_size, sizeof known));
  known.name = to_str(text_of(known.name));
  return own(known);
}

struct FunctionNode final : Node {
  Callback callback;
  std::string title;

  using Node::Node;
  std::string_view name() const override { return title; }

  void apply(Run& run, tn_tensor* const* grads, tn_tensor** results) override {
    Callback held;
    {
      std::lock_guard guard(lock);
      held = run.keeps_graph() ? callback : std::move(callback);
    }
    if (!held) fail_freed(*this);
    check(held->backward(held->ctx, grads, nresults, results, nedges));
    for (uint32_t e = 0; e < nedges; ++e) {
      Ref gradient(std::exchange(results[e], nullptr));
      if (!gradient || edges[e].node == nullptr) continue;
      results[e] =
          conform(std::move(gradient), inputs[e], title, fmt::format("of input {}", e)).take();
    }
  }
};

NodeRef make_node(Callback callback, tn_tensor* const* inputs, uint32_t ninputs,
                  uint32_t noutputs) {
  size_t dims = 0;
  for (uint32_t i = 0; i < ninputs; ++i)
    if (inputs[i] != nullptr) dims += inputs[i]->ndim();
  const size_t bytes =
      sizeof(FunctionNode) + ninputs * (sizeof(Edge) + sizeof(TensorMeta)) + dims * sizeof(int64_t);
  uint8_t block_class;
  char* memory = static_cast<char*>(take_node_memory(bytes, block_class));
  auto* edges = reinterpret_cast<Edge*>(memory + sizeof(FunctionNode));
  auto* metas = reinterpret_cast<TensorMeta*>(edges + ninputs);
  auto* shapes = reinterpret_cast<int64_t*>(metas + ninputs);
  auto* node = new (memory) FunctionNode(noutputs, edges, block_class);
  NodeRef owner(node);
  node->title = to_view(callback->name);
  node->callback = std::move(callback);
  node->inputs = metas;
  for (uint32_t i = 0; i < ninputs; ++i) {
    metas[i] = {};
    edges[i] = {};
    if (inputs[i] != nullptr) {
      metas[i] = meta_of_tensor(*inputs[i]);
      metas[i].shape = shapes;
      shapes = std::copy_n(inputs[i]->shape(), inputs[i]->ndim(), shapes);
      edges[i] = gradient_edge(*inputs[i]);
    }
    node->nedges = i + 1;
  }
  number_node(*node);
  return owner;
}

void record_function(const tn_function& function, tn_tensor* const* inputs, uint32_t ninputs,
                     tn_tensor* const* outputs, uint32_t noutputs) {
  Callback callback = keep(function);
  const std::string_view name = to_view(callback->name);
  if (callback->backward == nullptr)
    fail(TN_INVALID_ARGUMENT, "[{}] a function without backward", name);
  if (noutputs > kMostOutputs)
    fail(TN_INVALID_ARGUMENT, "[{}] {} outputs; at most {} are possible", name, noutputs,
         kMostOutputs);
  if ((ninputs != 0 && inputs == nullptr) || (noutputs != 0 && outputs == nullptr))
    fail(TN_INVALID_ARGUMENT, "[{}] no inputs or outputs given", name);
  for (uint32_t k = 0; k < noutputs; ++k) {
    if (outputs[k] == nullptr)
      fail(TN_INVALID_ARGUMENT, "[{}] output {} is a null handle", name, k);
    if (requires_grad(*outputs[k]))
      fail(TN_FAILED_PRECONDITION,
           "[{}] output {} already has a history; compute it with recording off", name, k);
  }
  const bool needed = std::any_of(inputs, inputs + ninputs,
                                  [](tn_tensor* x) { return x != nullptr && requires_grad(*x); });
  if (!recording() || !needed) return;
  for (uint32_t k = 0; k < noutputs; ++k)
    if (outputs[k]->flags & kInference)
      fail(TN_FAILED_PRECONDITION,
           "[{}] output {} was made in inference mode and cannot join a graph", name, k);
  if (const uint32_t tied = count_differentiable(outputs, noutputs))
    tie(make_node(std::move(callback), inputs, ninputs, noutputs).release(), tied, outputs,
        noutputs);
}

}  // namespace
}  // namespace tenon::core

using namespace tenon::core;

tn_status* tn_function_record(const tn_function* function, tn_tensor* const* inputs,
                              uint32_t ninputs, tn_tensor* const* outputs, uint32_t noutputs) {
  TN_REQUIRE(function);
  return guarded([&] { record_function(*function, inputs, ninputs, outputs, noutputs); });
}
