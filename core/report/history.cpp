// tn_tensor_step and tn_tensor_saved: the tape as a program may see it.
#include "tenon/history.h"

#include <algorithm>
#include <vector>

#include "autograd/op_node.hpp"
#include "boundary.hpp"
#include "dispatch/record.hpp"

namespace tenon::core {
namespace {

// What has the history of a tensor that may be gone: a leaf that lives, or else one zero for all
// elements.
Ref stand_in(const TensorMeta& like, Edge edge) {
  if (edge.node->is_leaf)
    if (Ref leaf = static_cast<LeafNode*>(edge.node)->living()) return leaf;
  const Without unrecorded(TN_MODE_GRAD);
  const Ref zero = constant_like({nullptr, like.device, 0, like.dtype}, 0);
  constexpr int64_t kStrides[TN_MAX_DIMS] = {};
  Ref out(make_view(*zero, like.sizes(), {kStrides, like.ndim}, 0));
  retain(edge.node);
  out->grad_fn = edge.node;
  out->output_nr = static_cast<uint16_t>(edge.nr);
  out->flags |= kRequiresGrad;
  return out;
}

std::vector<Ref> places_of(const tn_tensor& tensor, Edge edge, uint32_t capacity) {
  std::vector<Ref> places;
  const Node& node = *edge.node;
  for (uint32_t i = 0; i < std::min(capacity, 1 + node.nedges); ++i) {
    if (i == 0)
      places.push_back(stand_in(meta_of_tensor(tensor), edge));
    else if (const Edge next = node.edges[i - 1]; next.node != nullptr)
      places.push_back(stand_in(node.inputs[i - 1], next));
    else
      places.emplace_back();
  }
  return places;
}

void describe_step(tn_tensor& tensor, tn_step& step, tn_tensor** places, uint32_t capacity) {
  const Edge edge = gradient_edge(tensor);
  const NodeRef held(edge.node);
  if (!held)
    fail(TN_FAILED_PRECONDITION, "[step] {} requires no gradient: it has no history",
         describe(tensor));
  std::vector<Ref> made = places_of(tensor, edge, capacity);
  give(tn_step{0, edge.nr, reinterpret_cast<uintptr_t>(edge.node), edge.node->nedges, 0}, &step);
  for (uint32_t i = 0; i < capacity; ++i) places[i] = i < made.size() ? made[i].take() : nullptr;
}

// The argument or result that a saved tensor is, without the tensor.
tn_saved named(const OpNode& node, uint32_t place) {
  const Schema& schema = node.op.schema;
  if ((place & kResultBit) != 0) {
    const uint32_t place_of_list = static_cast<uint32_t>(schema.results.size()) - 1;
    const uint32_t result = std::min(place & ~kResultBit, place_of_list);
    return {0, (place & ~kResultBit) - result, to_str(schema.results[result]), nullptr};
  }
  for (uint32_t a = 0; a < node.nargs; ++a) {
    const tn_value& value = node.args[a];
    if (value.tag != TN_VALUE_TENSOR && value.tag != TN_VALUE_TENSORS) continue;
    const auto first = static_cast<uint32_t>(value.as.i);
    if (place - first < value.count)
      return {0, place - first, to_str(schema.args[a].name), nullptr};
  }
  fail(TN_INTERNAL, "[{}] saved no argument {}", node.name(), place);
}

void describe_saved(tn_tensor& tensor, uint32_t index, tn_saved& saved) {
  const NodeRef held(gradient_edge(tensor).node);
  if (!held)
    fail(TN_FAILED_PRECONDITION, "[saved] {} requires no gradient: it has no history",
         describe(tensor));
  tn_saved found{};
  auto* node = dynamic_cast<OpNode*>(held.get());
  if (node != nullptr && index < node->nsaved) {
    Unpacked values(*node, true);
    if (node->hooks != nullptr) values.restore(*node);
    found = named(*node, values.at(index)->place);
    found.tensor = with_history(*node, *values.at(index)).take();
  }
  give(found, &saved);
}

}  // namespace
}  // namespace tenon::core

tn_status* tn_tensor_step(const tn_tensor* tensor, tn_step* step, tn_tensor** places,
                          uint32_t capacity) {
  TN_REQUIRE(tensor, step);
  TN_REQUIRE_ARRAY(places, capacity);
  return tenon::core::guarded([&] {
    tenon::core::describe_step(const_cast<tn_tensor&>(*tensor), *step, places, capacity);
  });
}

tn_status* tn_tensor_saved(const tn_tensor* tensor, uint32_t index, tn_saved* saved) {
  TN_REQUIRE(tensor, saved);
  return tenon::core::guarded(
      [&] { tenon::core::describe_saved(const_cast<tn_tensor&>(*tensor), index, *saved); });
}
