#include "dispatch/foreign.hpp"

#include <algorithm>

namespace tenon::core {
namespace {

// Arguments with tensors as views, which is how a shape rule over the ABI sees them.
struct ViewArgs {
  tn_value values[kMaxArgs];
  std::vector<std::vector<const tn_view*>> lists;

  explicit ViewArgs(const Frame& frame) {
    lists.reserve(kMaxArgs);
    for (uint32_t i = 0; i < frame.nargs(); ++i) {
      values[i] = frame.arg(i);
      if (values[i].tag == TN_VALUE_TENSOR) {
        values[i].tag = TN_VALUE_VIEW;
        values[i].as.view = &frame.tensor(i).view;
      } else if (values[i].tag == TN_VALUE_TENSORS) {
        auto& list = lists.emplace_back();
        for (const tn_tensor* tensor : frame.tensors(i))
          list.push_back(tensor == nullptr ? nullptr : &tensor->view);
        values[i].tag = TN_VALUE_VIEWS;
        values[i].as.views = list.data();
      }
    }
  }
};

void like_first_tensor(Frame& frame) {
  for (uint32_t i = 0; i < frame.nargs(); ++i)
    if (const tn_tensor* tensor = frame.tensor_or_null(i)) {
      for (uint32_t k = 0; k < frame.nresults(); ++k)
        frame.result(k, tensor->dtype(), tensor->sizes());
      return;
    }
  frame.fail(TN_INVALID_ARGUMENT, "no tensor among the arguments, and the op has no shape rule");
}

}  // namespace

void rule_foreign(Frame& frame) {
  const tn_op_def& def = *frame.op().foreign;
  if (def.infer == nullptr) return frame.nresults() == 0 ? void() : like_first_tensor(frame);
  Roomy<tn_result> results[kMaxResults];
  tn_result* pointers[kMaxResults];
  for (uint32_t k = 0; k < kMaxResults; ++k) pointers[k] = &results[k].value;
  ViewArgs args(frame);
  check(def.infer(def.self, args.values, frame.nargs(), pointers, frame.nresults()));
  for (uint32_t k = 0; k < frame.nresults(); ++k) {
    const tn_result& result = results[k].value;
    frame.require(result.ndim <= TN_MAX_DIMS && result.dtype < TN_DTYPE_COUNT,
                  "the shape rule gave rank {} and dtype code {}", result.ndim, result.dtype);
    frame.result(k, result.dtype, {result.shape, result.ndim});
  }
}

void decompose_foreign(Frame& frame, tn_tensor** outs) {
  const tn_op_def& def = *frame.op().foreign;
  tn_status* status = def.decompose(def.self, frame.args(), frame.nargs(), outs, frame.nresults());
  if (status != nullptr) std::fill_n(outs, frame.nresults(), nullptr);  // an error has no results
  check(status);
  for (uint32_t k = 0; k < frame.nresults(); ++k)
    if (outs[k] == nullptr) frame.fail(TN_INTERNAL, "its decomposition gave no result {}", k);
}

}  // namespace tenon::core
