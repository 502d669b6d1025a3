#include "fuse/anchored_kernel.hpp"

#include <algorithm>

#include "dispatch.hpp"
#include "fuse/anchored.hpp"
#include "fuse/image_rows.hpp"
#include "fuse/packed_linear.hpp"
#include "fuse/packed_product.hpp"
#include "tenon/schemas.h"

namespace tenon::cpu {

namespace {

// NULL if there is none.
const tn_graph_node* anchor_of(const tn_graph_expression& expression) {
  if (expression.nodes == nullptr) return nullptr;
  const auto* const end = expression.nodes + expression.nnodes;
  const auto* const found = std::find_if(expression.nodes, end, [](const tn_graph_node& node) {
    return node.kind == TN_GRAPH_ANCHOR;
  });
  return found == end ? nullptr : found;
}

void check_form(const tn_graph_expression& expression) {
  if ((expression.flags & TN_GRAPH_CONTRACT) == 0)
    fail(TN_UNIMPLEMENTED, "anchors round otherwise than their nodes");
  if (expression.noutputs != 1 || expression.views == nullptr)
    fail(TN_INVALID_ARGUMENT, "[tn.graph] an anchor has views, and one output");
}

}  // namespace

bool has_anchor(const tn_graph_expression& expression) { return anchor_of(expression) != nullptr; }

bool knows_anchor(const tn_graph_expression& expression, const KnownKernels& kernels) {
  const auto* const known = kernels.find(*anchor_of(expression)->kernel);
  if (known == nullptr) return false;
  const std::string_view op = sdk::view_of(known->kernel->op);
  return op == TN_SCHEMA_CONV || op == TN_SCHEMA_MAX_POOL || op == TN_SCHEMA_LINEAR_INTEGER ||
         op == TN_SCHEMA_LINEAR_W8A8 || op == TN_SCHEMA_LINEAR || is_of_image_rows(op);
}

double cost_of_anchored(const tn_graph_expression& expression, const KnownKernels& kernels) {
  check_form(expression);
  constexpr double kMultiplications = 200, kElements = 2;  // a nanosecond
  if (const auto rows = read_image_rows(expression, kernels))
    return static_cast<double>(rows->elements()) / kElements;
  if (const auto linear = read_packed_linear(expression, kernels))
    return static_cast<double>(linear->m * linear->n * linear->k) / kMultiplications;
  if (const auto product = read_packed_product(expression, kernels))
    return static_cast<double>(product->rows * product->outputs * product->n) / kMultiplications;
  return read_anchored(expression, kernels).window.work() / kMultiplications;
}

std::unique_ptr<AnchoredKernel> compile_anchored(const tn_graph_expression& expression,
                                                 const KnownKernels& kernels,
                                                 const AnchoredKernel* like) {
  check_form(expression);
  if (auto rows = read_image_rows(expression, kernels))
    return std::make_unique<ImageRows>(expression, std::move(*rows));
  if (auto linear = read_packed_linear(expression, kernels))
    return make_packed_linear(std::move(*linear));
  if (auto product = read_packed_product(expression, kernels))
    return make_packed_product(std::move(*product), like);
  return std::make_unique<Anchored>(expression, kernels, dynamic_cast<const Anchored*>(like));
}

}  // namespace tenon::cpu
