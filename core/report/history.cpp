// tn_tensor_step: the tape as a program may see it.
#include "tenon/history.h"

#include <algorithm>
#include <vector>

#include "autograd/engine.hpp"
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
