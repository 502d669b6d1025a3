// Optimizers.
// Steps over lists: they write parameters and state in place and return nothing.
#include "ops/operands.hpp"
#include "ops/record.hpp"

namespace {

std::string_view arg_name(const Frame& frame, uint32_t i) { return frame.op().schema.args[i].name; }

// List `i` must match the parameters one to one; a list of state may also be empty. Every optimizer has its parameters first.
void require_match(const Frame& frame, uint32_t i, bool may_be_empty = false) {
  const auto params = frame.tensors(arg::sgd_step::params), others = frame.tensors(i);
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

void require_floats(const Frame& frame, uint32_t i) {
  for (const tn_tensor* tensor : frame.tensors(i))
    frame.require(is_floating(tensor->dtype()), "parameters must have a float dtype, got {}",
                  dtype_name(tensor->dtype()));
}

void require_momenta(const Frame& frame, uint32_t momentum, uint32_t momenta) {
  frame.require(frame.real(momentum) == 0 || !frame.tensors(momenta).empty(),
                "momentum {} needs momenta", frame.real(momentum));
}

void require_counted(const Frame& frame, uint32_t step) {
  frame.require(frame.integer(step) >= 1, "step is {}, counting starts at 1", frame.integer(step));
}

// The lists of adam_step; adam_step_counted has them in the same positions.
void require_adam(const Frame& frame) {
  using arg = tenon::arg::adam_step;
  require_floats(frame, arg::params);
  require_match(frame, arg::grads);
  require_match(frame, arg::exp_avg);
  require_match(frame, arg::exp_avg_sq);
  require_match(frame, arg::max_exp_avg_sq, true);
}

}  // namespace

TN_OP(sgd_step) = {
    .schema =
        "(Tensor![] params, Tensor[] grads, Tensor![] momenta, float lr, float momentum=0.0, "
        "float dampening=0.0, float weight_decay=0.0, bool nesterov=false, bool first=false) -> "
        "()",
    .gives = "One step of stochastic gradient descent, written into the parameters.",
    .example = "tenon.sgd_step([t([1.])], [t([1.])], [], 0.1)",
    .rule = &rule::sgd_step,
};

TN_RULE(sgd_step, sgd_step,
        {.dtypes = "floating; each parameter with its gradient and state",
         .shapes = "written in place, each list entry on its own"}) {
  require_floats(frame, arg::params);
  require_match(frame, arg::grads);
  require_match(frame, arg::momenta, true);
  require_momenta(frame, arg::momentum, arg::momenta);
}

TN_OP(adam_step) = {
    .schema =
        "(Tensor![] params, Tensor[] grads, Tensor![] exp_avg, Tensor![] exp_avg_sq, Tensor![] "
        "max_exp_avg_sq, int step, float lr, float beta1=0.9, float beta2=0.999, float "
        "eps=1e-8, float weight_decay=0.0, bool decoupled=false) -> ()",
    .gives = "One step of Adam, or AdamW (decoupled), written into parameters and state.",
    .example = "tenon.adam_step([t([1.])], [t([1.])], [t([0.])], [t([0.])], [], 1, 0.1)",
    .rule = &rule::adam_step,
};

TN_RULE(adam_step, adam_step,
        {.dtypes = "floating; each parameter with its gradient and state",
         .shapes = "written in place, each list entry on its own"}) {
  require_adam(frame);
  require_counted(frame, arg::step);
}

TN_OP(adam_step_counted) = {
    .schema =
        "(Tensor![] params, Tensor[] grads, Tensor![] exp_avg, Tensor![] exp_avg_sq, Tensor![] "
        "max_exp_avg_sq, Tensor! step, Tensor lr, float beta1=0.9, float beta2=0.999, float "
        "eps=1e-8, float weight_decay=0.0, bool decoupled=false) -> ()",
    .gives =
        "adam_step with its number and rate in tensors; step is increased by one first. A step "
        "that was captured as a graph therefore keeps counting when it is replayed, and uses the "
        "current rate.",
    .example =
        "tenon.adam_step_counted([t([1.])], [t([1.])], [t([0.])], [t([0.])], [], t(0), t(0.1))",
    .rule = &rule::adam_step_counted,
};

TN_RULE(adam_step_counted, adam_step_counted,
        {.dtypes = "floating; each parameter with its gradient and state, lr as f64; step is i64",
         .shapes = "written in place, each list entry on its own; step and lr have one element"}) {
  require_adam(frame);
  const tn_tensor& step = operand(frame, arg::step, TN_MASK(TN_DTYPE_I64), "i64");
  const tn_tensor& lr = operand(frame, arg::lr, TN_MASK_FLOAT, "a floating-point dtype");
  frame.require(step.numel == 1 && lr.numel == 1, "step {} and lr {} must have one element each",
                format_shape(step.sizes()), format_shape(lr.sizes()));
  if (lr.dtype() != TN_DTYPE_F64) frame.cast(arg::lr, TN_DTYPE_F64);
}

TN_OP(rmsprop_step) = {
    .schema =
        "(Tensor![] params, Tensor[] grads, Tensor![] square_avg, Tensor![] grad_avg, Tensor![] "
        "momenta, float lr, float alpha=0.99, float eps=1e-8, float weight_decay=0.0, float "
        "momentum=0.0) -> ()",
    .gives = "One step of RMSprop, written into parameters and state.",
    .example = "tenon.rmsprop_step([t([1.])], [t([1.])], [t([0.])], [], [], 0.1)",
    .rule = &rule::rmsprop_step,
};

TN_RULE(rmsprop_step, rmsprop_step,
        {.dtypes = "floating; each parameter with its gradient and state",
         .shapes = "written in place, each list entry on its own"}) {
  require_floats(frame, arg::params);
  require_match(frame, arg::grads);
  require_match(frame, arg::square_avg);
  require_match(frame, arg::grad_avg, true);
  require_match(frame, arg::momenta, true);
  require_momenta(frame, arg::momentum, arg::momenta);
}

TN_OP(adagrad_step) = {
    .schema =
        "(Tensor![] params, Tensor[] grads, Tensor![] sums, int step, float lr, float "
        "lr_decay=0.0, float eps=1e-10, float weight_decay=0.0) -> ()",
    .gives = "One step of Adagrad, written into parameters and state.",
    .example = "tenon.adagrad_step([t([1.])], [t([1.])], [t([0.])], 1, 0.1)",
    .rule = &rule::adagrad_step,
};

TN_RULE(adagrad_step, adagrad_step,
        {.dtypes = "floating; each parameter with its gradient and state",
         .shapes = "written in place, each list entry on its own"}) {
  require_floats(frame, arg::params);
  require_match(frame, arg::grads);
  require_match(frame, arg::sums);
  require_counted(frame, arg::step);
}

TN_OP(multi_norm) = {
    .schema = "(Tensor[] xs, float p=2.0) -> Tensor",
    .gives = "The joint p-norm of all tensors of a list.",
    .example = "tenon.multi_norm([t([3.]), t([4.])])",
    .rule = &rule::multi_norm,
};

// One norm over all elements of all tensors, in f32, or in f64 if one of them is f64.
TN_RULE(multi_norm, multi_norm,
        {.dtypes = "floating; f64 if one of them is, else f32", .shapes = "rank 0"}) {
  require_floats(frame, arg::xs);
  tn_dtype dtype = TN_DTYPE_F32;
  for (const tn_tensor* tensor : frame.tensors(arg::xs))
    if (tensor->dtype() == TN_DTYPE_F64) dtype = TN_DTYPE_F64;
  frame.require(frame.real(arg::p) > 0, "p is {}, must be positive", frame.real(arg::p));
  frame.result(0, dtype, {});
}

TN_OP(multi_scale) = {
    .schema = "(Tensor![] xs, Tensor factor) -> ()",
    .gives = "Every tensor of a list multiplied by a factor, in place.",
    .example = "tenon.multi_scale([t([1.])], t(0.5))",
    .rule = &rule::multi_scale,
};

TN_RULE(multi_scale, multi_scale,
        {.dtypes = "floating; each tensor and factor may have its own",
         .shapes = "written in place, each list entry on its own; factor has one element"}) {
  require_floats(frame, arg::xs);
  const tn_tensor& factor = operand(frame, arg::factor);
  frame.require(factor.numel == 1, "factor must have one element, got shape {}",
                format_shape(factor.sizes()));
  frame.require(is_floating(factor.dtype()), "factor must have a float dtype, got {}",
                dtype_name(factor.dtype()));
}
