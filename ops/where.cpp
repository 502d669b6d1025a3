// Elementwise, chosen and clamped.
#include "ops/gradients.hpp"
#include "ops/number.hpp"
#include "ops/record.hpp"

TN_OP(where) = {
    .schema = "(Tensor condition, Tensor x, Tensor y) -> Tensor",
    .gives = "x where the condition holds, else y.",
    .example = "tenon.where(t([True, False]), t([1., 2.]), 0)",
    .linear = "x y",
    .rule = &rule::where,
    .gradient = &gradient::where,
};

TN_RULE(where, where,
        {.dtypes = "x and y promoted; the condition as bool",
         .shapes = "broadcast",
         .elementwise = true,
         .numbers = "x y"}) {
  operand(frame, arg::condition);
  const tn_dtype dtype = common_dtype(frame, arg::x, arg::y);
  frame.cast(arg::condition, TN_DTYPE_BOOL);
  frame.cast(arg::x, dtype);
  frame.cast(arg::y, dtype);
  frame.elementwise(dtype);
}

// condition ? dx : dy
TN_GRADIENT(where, {.always = in_(arg::condition)}) {
  if (c.needs(arg::x)) c.set(arg::x, where(c.in(arg::condition), c.grad(), 0));
  if (c.needs(arg::y)) c.set(arg::y, where(c.in(arg::condition), 0, c.grad()));
}

TN_OP(clamp) = {
    .schema = "(Tensor x, Scalar? min=none, Scalar? max=none) -> Tensor",
    .gives = "Into [min, max]; either may be left out.",
    .example = "tenon.clamp(t([-2., 0.5, 2.]), 0, 1)",
    .in_place = true,
    .rule = &rule::clamp,
    .gradient = &gradient::clamp,
};

TN_RULE(clamp, clamp,
        {.dtypes = "real; integers with a fractional bound give f32",
         .shapes = "x's",
         .elementwise = true}) {
  const tn_dtype x = operand(frame, arg::x, TN_MASK_REAL, "a real dtype").dtype();
  frame.require(frame.has(arg::min) || frame.has(arg::max), "min or max must be given");
  tn_dtype dtype = x;
  for (const uint32_t i : {arg::min, arg::max}) {
    if (!frame.has(i)) continue;
    frame.require(frame.arg(i).tag != TN_VALUE_COMPLEX, "bounds must be real");
    dtype = raised(dtype, kind_of(frame.arg(i)));
  }
  unary(frame, arg::x, dtype);
}

// dx between the bounds, 0 outside and at them
TN_GRADIENT(clamp, {.always = in_(arg::x)}) {
  const auto bound = [&](uint32_t i) {
    return c.has(i) ? OptionalScalar(c.number(i)) : OptionalScalar();
  };
  c.set(arg::x, clamp_backward(c.grad(), c.in(arg::x), bound(arg::min), bound(arg::max)));
}

TN_OP(clamp_backward) = {
    .schema = "(Tensor g, Tensor x, Scalar? min=none, Scalar? max=none) -> Tensor",
    .gives = "0 where x is at a bound of clamp or outside, else g.",
    .example = "tenon.clamp_backward(t([1., 1., 1.]), t([-2., 0.5, 2.]), 0, 1)",
    .rule = &rule::clamp_backward,
    .through = true,
    .decompose = &decomposition::clamp_backward,
};

TN_RULE(clamp_backward, clamp_backward,
        {.dtypes = "promoted to a common dtype, which the result has; real",
         .shapes = "broadcast",
         .elementwise = true,
         .numbers = "g x",
         .unchanged = TN_MASK_FLOAT}) {
  const tn_dtype dtype = common_real_number(frame, arg::g, arg::x);
  for (const uint32_t i : {arg::min, arg::max})
    frame.require(!frame.has(i) || frame.arg(i).tag != TN_VALUE_COMPLEX, "bounds must be real");
  binary(frame, dtype);
}

TN_DECOMPOSE(clamp_backward) {
  const Tensor x = in.tensor(arg::x);
  Tensor g = in.tensor(arg::g);
  if (in.has(arg::min)) g = where(less_equal(x, in.operand(arg::min)), 0, g);
  if (in.has(arg::max)) g = where(greater_equal(x, in.operand(arg::max)), 0, g);
  out[0] = g;
}

TN_OP(lerp) = {
    .schema = "(Tensor x, Tensor y, Tensor weight) -> Tensor",
    .gives = "x + weight·(y - x).",
    .example = "tenon.lerp(t([0., 10.]), t([10., 20.]), 0.25)",
    .dtypes = "numeric, promoted; integers give f32",
    .shapes = "broadcast",
    .numbers = "y weight",
    .elementwise = true,
    .in_place = true,
    .through = true,
    .decompose = &decomposition::lerp,
};

// x + weight·(y−x)
TN_DECOMPOSE(lerp) {
  const Tensor x = in.tensor(arg::x);
  out[0] = x + mul(sub(in.operand(arg::y), x), in.operand(arg::weight));
}

TN_OP(masked_fill) = {
    .schema = "(Tensor x, Tensor mask, Tensor value) -> Tensor",
    .gives = "value where the mask holds, else x.",
    .example = "tenon.masked_fill(t([1., 2.]), t([True, False]), 9)",
    .dtypes = "any x and value, promoted; a bool mask",
    .shapes = "broadcast",
    .numbers = "value",
    .linear = "x value",
    .elementwise = true,
    .in_place = true,
    .through = true,
    .decompose = &decomposition::masked_fill,
};

// keeps x's dtype, whatever the value's
TN_DECOMPOSE(masked_fill) {
  const Tensor x = in.tensor(arg::x), mask = in.tensor(arg::mask);
  require_dtype(in.frame(), arg::mask, TN_MASK_BOOL, "a bool mask");
  const bool other = in.frame().is_tensor(arg::value) && in.tensor(arg::value).dtype() != x.dtype();
  out[0] = other ? where(mask, in.tensor(arg::value).to(x.dtype()), x)
                 : where(mask, in.operand(arg::value), x);
}
