// What reads expressions with an anchor.
#pragma once

#include <optional>
#include <vector>

#include "fuse/compile.hpp"

namespace tenon::cpu {

class AnchorReader {
 public:
  AnchorReader(const tn_graph_expression& expression, const KnownKernels& kernels)
      : expression_(expression), kernels_(kernels) {}

 protected:
  [[noreturn]] static void cannot(const char* what) { fail(TN_UNIMPLEMENTED, what); }

  std::string_view schema(const tn_graph_node& node) const {
    const auto* known = kernels_.find(*node.kernel);
    if (known == nullptr) cannot("its kernel is another plugin's");
    return sdk::view_of(known->kernel->op);
  }

  // The operand that an argument is; none where it is something else.
  std::optional<uint32_t> operand(const tn_graph_node& node, uint32_t arg) const {
    const uint32_t from = node.inputs[arg];
    if (from == TN_GRAPH_ATTRIBUTE || expression_.nodes[from].kind != TN_GRAPH_LOAD)
      return std::nullopt;
    return expression_.nodes[from].operand;
  }
  // A weight; 0 where the argument is none.
  uint32_t constant(const tn_graph_node& node, uint32_t arg, tn_dtype dtype = TN_DTYPE_F32) const {
    if (node.inputs[arg] == TN_GRAPH_ATTRIBUTE) return 0;
    const auto found = operand(node, arg);
    if (!found || (expression_.constants >> *found & 1) == 0)
      cannot("its weights are no constants");
    const tn_view& view = *expression_.views[*found];
    if (view.dtype != dtype || (view.flags & TN_VIEW_CONTIGUOUS) == 0)
      cannot("its weights are not dense, or of another dtype");
    return *found;
  }

  // use(the node's call, as geometries read it); the result is the expression's.
  template <class Use>
  void with_call(const tn_graph_node& node, Use&& use) const {
    std::vector<tn_value> args(node.args, node.args + node.nargs);
    for (uint32_t k = 0; k < node.nargs; ++k)
      if (const auto view = operand(node, k)) {
        args[k].tag = TN_VALUE_VIEW;
        args[k].as.view = expression_.views[*view];
      }
    const tn_view* const outs[] = {expression_.views[0]};
    tn_call call{};
    call.struct_size = sizeof call;
    call.args = args.data();
    call.nargs = node.nargs;
    call.outs = outs;
    call.nouts = 1;
    use(call);
  }

  const tn_graph_expression& expression_;
  const KnownKernels& kernels_;
};

}  // namespace tenon::cpu
