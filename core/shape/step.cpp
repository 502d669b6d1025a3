// Optimizer steps over lists: parameters and state are written in place, nothing is returned.
#include "shape/number.hpp"

using namespace tenon::core;

namespace {

std::string_view arg_name(const Frame& frame, uint32_t i) { return frame.op().schema.args[i].name; }

// List `i` matches the parameters one to one; a list of state may be empty instead.
void require_match(const Frame& frame, uint32_t i, bool may_be_empty) {
  const auto params = frame.tensors(0), others = frame.tensors(i);
  if (may_be_empty && others.empty()) return;
  frame.require(others.size() == params.size(), "{} {} for {} parameters", others.size(),
                arg_name(frame, i), params.size());
  for (size_t k = 0; k < params.size(); ++k) {
    const tn_tensor &param = *params[k], &other = *others[k];
    if (same_shape(param.sizes(), other.sizes()) && param.dtype() == other.dtype()) continue;
    frame.fail(TN_INVALID_ARGUMENT, "parameter {} is {} but its entry of {} is {}", k,
               describe(param), arg_name(frame, i), describe(other));
  }
}

void require_floats(const Frame& frame) {
  for (const tn_tensor* tensor : frame.tensors(0))
    frame.require(is_floating(tensor->dtype()), "parameters must have a float dtype, got {}",
                  dtype_name(tensor->dtype()));
}

}  // namespace

// sgd_step, adam_step, rmsprop_step, adagrad_step(params, grads, state…, …); multi_scale(xs,
// factor)
TN_RULE(step) {
  require_floats(frame);
  const std::string_view op = frame.op().name();
  if (op == "multi_scale") {
    const tn_tensor& factor = operand(frame, 1);
    frame.require(factor.numel == 1, "factor must have one element, got shape {}",
                  format_shape(factor.sizes()));
    frame.require(is_floating(factor.dtype()), "factor must have a float dtype, got {}",
                  dtype_name(factor.dtype()));
    return;
  }
  // Which lists of state an optimizer can do without.
  const bool sgd = op == "sgd_step", adam = op == "adam_step", rmsprop = op == "rmsprop_step";
  require_match(frame, 1, false);
  require_match(frame, 2, sgd);
  if (adam) {
    require_match(frame, 3, false);
    require_match(frame, 4, true);
    frame.require(frame.integer(5) >= 1, "step is {}, counting starts at 1", frame.integer(5));
  } else if (rmsprop) {
    require_match(frame, 3, true);
    require_match(frame, 4, true);
    frame.require(frame.real(9) == 0 || !frame.tensors(4).empty(), "momentum {} needs momenta",
                  frame.real(9));
  } else if (sgd) {
    frame.require(frame.real(4) == 0 || !frame.tensors(2).empty(), "momentum {} needs momenta",
                  frame.real(4));
  } else {
    frame.require(frame.integer(3) >= 1, "step is {}, counting starts at 1", frame.integer(3));
  }
}

// multi_norm(xs, p): one norm over all elements of all tensors, in f32, or f64 where one of them is
TN_RULE(multi_norm) {
  require_floats(frame);
  tn_dtype dtype = TN_DTYPE_F32;
  for (const tn_tensor* tensor : frame.tensors(0))
    if (tensor->dtype() == TN_DTYPE_F64) dtype = TN_DTYPE_F64;
  frame.require(frame.real(1) > 0, "p is {}, must be positive", frame.real(1));
  frame.result(0, dtype, {});
}
