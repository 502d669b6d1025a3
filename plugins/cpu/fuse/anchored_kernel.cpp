#include "fuse/anchored_kernel.hpp"

#include <algorithm>

#include "dispatch.hpp"
#include "fuse/anchored.hpp"
#include "fuse/image_rows.hpp"
#include "fuse/packed_product.hpp"

namespace tenon::cpu {

bool has_anchor(const tn_graph_expression& expression) {
  return expression.nodes != nullptr &&
         std::any_of(expression.nodes, expression.nodes + expression.nnodes,
                     [](const tn_graph_node& node) { return node.kind == TN_GRAPH_ANCHOR; });
}

namespace {

void check_form(const tn_graph_expression& expression) {
  if ((expression.flags & TN_GRAPH_CONTRACT) == 0)
    fail(TN_UNIMPLEMENTED, "anchors round otherwise than their nodes");
  if (expression.noutputs != 1 || expression.views == nullptr)
    fail(TN_INVALID_ARGUMENT, "[tn.graph] an anchor has views, and one output");
}

}  // namespace

double cost_of_anchored(const tn_graph_expression& expression, const KnownKernels& kernels) {
  check_form(expression);
  constexpr double kMultiplications = 200, kElements = 2;  // a nanosecond
  if (const auto rows = read_image_rows(expression, kernels))
    return static_cast<double>(rows->elements()) / kElements;
  if (const auto product = read_packed_product(expression, kernels))
    return static_cast<double>(product->rows * product->outputs * product->n) / kMultiplications;
  return read_anchored(expression, kernels).window.work() / kMultiplications;
}

std::unique_ptr<AnchoredKernel> compile_anchored(const tn_graph_expression& expression,
                                                 const KnownKernels& kernels) {
  check_form(expression);
  if (auto rows = read_image_rows(expression, kernels))
    return std::make_unique<ImageRows>(expression, std::move(*rows));
  if (auto product = read_packed_product(expression, kernels))
    return make_packed_product(std::move(*product));
  return std::make_unique<Anchored>(expression, kernels);
}

}  // namespace tenon::cpu
