// Softmax along one dimension.
// In formulas x is the argument, m its largest element along the dimension, y the result and g the gradient of y.
#include "ops/gradients.hpp"
#include "ops/operands.hpp"
#include "ops/record.hpp"

TN_OP(softmax) = {
    .schema = "(Tensor x, int dim) -> Tensor",
    .gives = "exp(x)/sum(exp(x)) along dim.",
    .example = "tenon.softmax(t([0., 0.]), 0)",
    .autocast = "f32 on GPUs",
    .rule = &rule::softmax,
    .gradient = &gradient::softmax,
    .decompose = &decomposition::softmax,
};

TN_RULE(softmax, softmax,
        {.dtypes = "real and bool; integers and bool give f32",
         .shapes = "x's; `dim` counts from the end if it is negative"}) {
  const tn_tensor& x = float_operand(frame, arg::x);
  frame.result(0, fractional(x.dtype()), x.sizes());
  along(frame, arg::dim, x.ndim());
}

// y·(g − Σ g·y)
TN_GRADIENT(softmax, {.always = out_(0)}) {
  c.set(arg::x, softmax_backward(c.grad(), c.out(), c.integer(arg::dim)));
}

// e^(x−m)/Σ e^(x−m)
TN_DECOMPOSE(softmax) {
  const Tensor x = fraction(in.tensor(arg::x));
  if (x.numel() == 0 || x.ndim() == 0) {
    out[0] = x.ndim() == 0 ? x / x : clone(x);
    return;
  }
  const Tensor e = exp(x - max(x, in.integer(arg::dim), true));
  out[0] = e / sum(e, in.integer(arg::dim), true);
}

TN_OP(log_softmax) = {
    .schema = "(Tensor x, int dim) -> Tensor",
    .gives = "log(softmax(x)) along dim, without overflow.",
    .example = "tenon.log_softmax(t([0., 0.]), 0)",
    .autocast = "f32 on GPUs",
    .rule = &rule::softmax,
    .gradient = &gradient::log_softmax,
    .decompose = &decomposition::log_softmax,
};

// g − eʸ·Σ g
TN_GRADIENT(log_softmax, {.always = out_(0)}) {
  c.set(arg::x, log_softmax_backward(c.grad(), c.out(), c.integer(arg::dim)));
}

// x − m − ln Σ e^(x−m)
TN_DECOMPOSE(log_softmax) {
  const Tensor x = fraction(in.tensor(arg::x));
  if (x.numel() == 0 || x.ndim() == 0) {
    out[0] = x.ndim() == 0 ? x - x : clone(x);
    return;
  }
  const Tensor shifted = x - max(x, in.integer(arg::dim), true);
  out[0] = shifted - log(sum(exp(shifted), in.integer(arg::dim), true));
}

TN_OP(softmax_backward) = {
    .schema = "(Tensor g, Tensor y, int dim) -> Tensor",
    .gives = "The gradient of softmax, computed from its result y.",
    .example = "tenon.softmax_backward(t([1., 0.]), t([0.5, 0.5]), 0)",
    .rule = &rule::softmax_backward,
    .through = true,
    .decompose = &decomposition::softmax_backward,
};

TN_RULE(softmax_backward, softmax_backward,
        {.dtypes = "a floating dtype, common to both", .shapes = "y's"}) {
  tn_tensor& g = operand(frame, arg::g);
  tn_tensor& y = operand(frame, arg::y);
  frame.require(same_shape(g.sizes(), y.sizes()), "shapes {} and {} differ",
                format_shape(g.sizes()), format_shape(y.sizes()));
  const tn_dtype out = promote(g.dtype(), y.dtype());
  frame.require((TN_MASK(out) & TN_MASK_FLOAT) != 0, "wants a floating dtype, got {}",
                dtype_name(out));
  frame.cast_all(out);
  frame.result(0, out, y.sizes());
  along(frame, arg::dim, g.ndim());
}

// y·(g − Σ g·y)
TN_DECOMPOSE(softmax_backward) {
  const Tensor g = in.tensor(arg::g), y = in.tensor(arg::y);
  out[0] = y * (g - sum(g * y, in.integer(arg::dim), true));
}

TN_OP(log_softmax_backward) = {
    .schema = "(Tensor g, Tensor y, int dim) -> Tensor",
    .gives = "The gradient of log_softmax, computed from its result y.",
    .example = "tenon.log_softmax_backward(t([1., 0.]), t([-0.5, -0.5]), 0)",
    .rule = &rule::softmax_backward,
    .through = true,
    .decompose = &decomposition::log_softmax_backward,
};

// g − eʸ·Σ g
TN_DECOMPOSE(log_softmax_backward) {
  const Tensor g = in.tensor(arg::g), y = in.tensor(arg::y);
  out[0] = g - exp(y) * sum(g, in.integer(arg::dim), true);
}
