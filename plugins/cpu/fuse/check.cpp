#include "check.hpp"

#include "fused.hpp"

namespace tenon::cpu {
namespace {

void require(bool holds, const char* what, uint32_t node) {
  if (!holds) fail(TN_INVALID_ARGUMENT, "[tn.graph] node ", node, ": ", what);
}

void check_loop(const tn_graph_expression& expression) {
  if (expression.loop == nullptr || expression.dtypes == nullptr || expression.nodes == nullptr)
    fail(TN_INVALID_ARGUMENT, "[tn.graph] an expression has a loop, dtypes and nodes");
  const tn_loop& loop = *expression.loop;
  if (loop.ndim > TN_MAX_DIMS || loop.reduced > loop.ndim)
    fail(TN_INVALID_ARGUMENT, "[tn.graph] a loop of ", loop.ndim, " dimensions, ", loop.reduced,
         " of them reduced");
  if (expression.noutputs == 0 || expression.noutputs > loop.noperands)
    fail(TN_INVALID_ARGUMENT, "[tn.graph] ", expression.noutputs, " outputs among ", loop.noperands,
         " operands");
  if (loop.noperands > kMostOperands || expression.nnodes > kMostNodes)
    fail(TN_UNIMPLEMENTED, "more than ", kMostOperands, " operands or ", kMostNodes, " nodes");
  for (uint32_t d = 0; d < loop.ndim; ++d)
    if (loop.shape[d] < 1)
      fail(TN_INVALID_ARGUMENT, "[tn.graph] dimension ", d, " of the loop has size ",
           loop.shape[d]);
  for (uint32_t k = 0; k < loop.noperands; ++k)
    if (expression.dtypes[k] >= TN_DTYPE_COUNT)
      fail(TN_INVALID_ARGUMENT, "[tn.graph] operand ", k, " has no dtype");
}

// No two elements of an output lie in one place, but those of reduced dimensions all do, or none.
void check_output(const tn_loop& loop, uint32_t k) {
  uint32_t still = 0;
  for (uint32_t d = 0; d < loop.ndim; ++d) {
    if (loop.shape[d] == 1 || loop.strides[k][d] != 0) continue;
    if (d < loop.ndim - loop.reduced)
      fail(TN_INVALID_ARGUMENT, "[tn.graph] output ", k, " repeats along dimension ", d);
    ++still;
  }
  if (still != 0 && still != loop.reduced)
    fail(TN_INVALID_ARGUMENT, "[tn.graph] output ", k, " repeats along some reduced dimensions");
}

void check_inputs(const tn_graph_expression& expression, uint32_t at) {
  const tn_graph_node& node = expression.nodes[at];
  require(node.nargs <= kMostArguments, "it has too many arguments", at);
  require(node.nargs == 0 || node.inputs != nullptr, "it has no inputs", at);
  for (uint32_t k = 0; k < node.nargs; ++k) {
    if (node.inputs[k] == TN_GRAPH_ATTRIBUTE) continue;
    require(node.inputs[k] < at, "it reads a node behind it", at);
    require(expression.nodes[node.inputs[k]].kind != TN_GRAPH_STORE, "it reads a STORE", at);
  }
}

void check_node(const tn_graph_expression& expression, uint32_t at, uint32_t& stored) {
  const tn_graph_node& node = expression.nodes[at];
  const tn_loop& loop = *expression.loop;
  require(node.dtype < TN_DTYPE_COUNT, "it has no dtype", at);
  switch (node.kind) {
    case TN_GRAPH_LOAD:
      require(node.operand >= expression.noutputs && node.operand < loop.noperands,
              "it loads what is no input", at);
      return require(node.dtype == expression.dtypes[node.operand],
                     "its dtype is not the operand's", at);
    case TN_GRAPH_NUMBER:
      return;
    case TN_GRAPH_OP:
    case TN_GRAPH_REDUCE:
      require(node.kernel != nullptr && node.op != nullptr && node.args != nullptr,
              "it has no op, no kernel or no arguments", at);
      require(node.kind == TN_GRAPH_OP || loop.reduced != 0, "the loop reduces nothing", at);
      return check_inputs(expression, at);
    case TN_GRAPH_STORE:
      check_inputs(expression, at);
      require(node.nargs == 1 && node.inputs[0] != TN_GRAPH_ATTRIBUTE, "it stores one node", at);
      require(node.operand < expression.noutputs, "it stores to what is no output", at);
      require(node.dtype == expression.dtypes[node.operand] &&
                  node.dtype == expression.nodes[node.inputs[0]].dtype,
              "its dtype is not the operand's, or not the node's", at);
      require((stored >> node.operand & 1) == 0, "its output was stored to before", at);
      stored |= 1u << node.operand;
      return;
    default:
      require(false, "there is no such kind of node", at);
  }
}

}  // namespace

void check_expression(const tn_graph_expression& expression) {
  check_loop(expression);
  for (uint32_t k = 0; k < expression.noutputs; ++k) check_output(*expression.loop, k);
  uint32_t stored = 0;
  for (uint32_t at = 0; at < expression.nnodes; ++at) check_node(expression, at, stored);
  if (stored != (1u << expression.noutputs) - 1)
    fail(TN_INVALID_ARGUMENT, "[tn.graph] some output is not stored to");
}

}  // namespace tenon::cpu
