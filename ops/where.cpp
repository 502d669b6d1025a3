// Elementwise: selection and clamping.
#include <limits>

#include "ops/gradients.hpp"
#include "ops/number.hpp"
#include "ops/record.hpp"

namespace {

double greatest_finite(tn_dtype dtype) {
  switch (dtype) {
    case TN_DTYPE_F16:
      return 65504;
    case TN_DTYPE_BF16:
      return 0x1.fep127;
    case TN_DTYPE_F32:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

}  // namespace

TN_OP(where) = {
    .schema = "(Tensor condition, Tensor x, Tensor y) -> Tensor",
    .gives = "x where the condition is true, else y.",
    .example = "tenon.where(t([True, False]), t([1., 2.]), 0)",
    .linear = "x y",
    .rule = &rule::where,
    .gradient = &gradient::where,
};

TN_RULE(where, where,
        {.dtypes = "x and y promoted; the condition is converted to bool",
         .shapes = "broadcast",
         .elementwise = true,
         .numbers = "x y"}) {
  operand(frame, arg::condition);
  const tn_dtype dtype = common_dtype(frame, arg::x, arg::y);
  frame.cast(arg::condition, TN_DTYPE_BOOL);
  frame.cast(arg::x, dtype);
  frame.cast(arg::y, dtype);
  elementwise(frame, dtype);
}

// condition ? dx : dy
TN_GRADIENT(where, {.always = in_(arg::condition)}) {
  if (c.needs(arg::x)) c.set(arg::x, where(c.in(arg::condition), c.grad(), 0));
  if (c.needs(arg::y)) c.set(arg::y, where(c.in(arg::condition), 0, c.grad()));
}

TN_OP(clamp) = {
    .schema = "(Tensor x, Scalar? min=none, Scalar? max=none) -> Tensor",
    .gives = "x limited to [min, max]; either may be omitted.",
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

// dx between the bounds, 0 outside and at the bounds
TN_GRADIENT(clamp, {.always = in_(arg::x)}) {
  const auto bound = [&](uint32_t i) {
    return c.has(i) ? OptionalScalar(c.number(i)) : OptionalScalar();
  };
  c.set(arg::x, clamp_backward(c.grad(), c.in(arg::x), bound(arg::min), bound(arg::max)));
}

TN_OP(clamp_backward) = {
    .schema = "(Tensor g, Tensor x, Scalar? min=none, Scalar? max=none) -> Tensor",
    .gives = "0 where x is at or outside a bound of clamp, else g.",
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

TN_OP(where_between) = {
    .schema = "(Tensor x, Tensor inside, Tensor outside, float low, float high) -> Tensor",
    .gives = "inside where low ≤ x ≤ high, else outside, also for NaN.",
    .example = "tenon.where_between(t([-2., 0.5, 2.]), 0, t([1., 1., 1.]), -1, 1)",
    .linear = "inside outside",
    .rule = &rule::where_between,
    .gradient = &gradient::where_between,
    .decompose = &decomposition::where_between,
};

TN_RULE(where_between, where_between,
        {.dtypes = "promoted; real and bool; integers and bool give f32",
         .shapes = "broadcast",
         .elementwise = true,
         .numbers = "inside outside"}) {
  operand(frame, arg::x, TN_MASK_REAL | TN_MASK_BOOL, "a real dtype");
  const tn_dtype dtype =
      fractional(common_dtype(frame, std::array{arg::x, arg::inside, arg::outside}));
  if (is_complex(dtype)) refuse(frame, dtype, "a real dtype");
  binary(frame, dtype);
}

// each element passes its gradient to the operand it took; x has no slope
TN_GRADIENT(where_between, {.always = in_(arg::x)}) {
  const Tensor x = c.in(arg::x), g = c.grad();
  const double low = c.real(arg::low), high = c.real(arg::high);
  if (c.needs(arg::inside)) c.set(arg::inside, where_between(x, g, 0, low, high));
  if (c.needs(arg::outside)) c.set(arg::outside, where_between(x, 0, g, low, high));
}

TN_DECOMPOSE(where_between) {
  const Tensor x = in.tensor(arg::x);
  const Tensor within =
      logical_and(greater_equal(x, in.real(arg::low)), less_equal(x, in.real(arg::high)));
  // Two numbers would not have x's dtype, so one becomes a tensor.
  out[0] = where(within, in.operand(arg::inside), in.tensor(arg::outside));
}

TN_OP(nan_to_num) = {
    .schema = "(Tensor x, float nan=0.0, float? posinf=none, float? neginf=none) -> Tensor",
    .gives =
        "NaN, ∞ and -∞ replaced; by default the infinities become the largest finite numbers of "
        "the dtype.",
    .example = "tenon.nan_to_num(t([float('nan'), 1., float('inf')]), 0.0, 9.0)",
    .rule = &rule::nan_to_num,
    .gradient = &gradient::nan_to_num,
    .decompose = &decomposition::nan_to_num,
};

TN_RULE(nan_to_num, nan_to_num,
        {.dtypes = "floating; the result has x's", .shapes = "x's", .elementwise = true}) {
  const tn_dtype dtype = operand(frame, arg::x, TN_MASK_FLOAT, "a floating dtype").dtype();
  elementwise(frame, dtype);
  const double most = greatest_finite(dtype);
  if (!frame.has(arg::posinf)) frame.set_real(arg::posinf, most);
  if (!frame.has(arg::neginf)) frame.set_real(arg::neginf, -most);
}

// dx where x is finite
TN_GRADIENT(nan_to_num, {.always = in_(arg::x)}) {
  c.set(arg::x, where(isfinite(c.in(arg::x)), c.grad(), 0));
}

TN_DECOMPOSE(nan_to_num) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const Tensor x = in.tensor(arg::x);
  const Tensor finite =
      where(equal(x, kInf), in.real(arg::posinf), where(equal(x, -kInf), in.real(arg::neginf), x));
  out[0] = where(isnan(x), in.real(arg::nan), finite);
}

TN_OP(masked_fill) = {
    .schema = "(Tensor x, Tensor mask, Tensor value) -> Tensor",
    .gives = "value where the mask is true, else x.",
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

// keeps x's dtype, whatever the value's dtype
TN_DECOMPOSE(masked_fill) {
  const Tensor x = in.tensor(arg::x), mask = in.tensor(arg::mask);
  require_dtype(in.frame(), arg::mask, TN_MASK_BOOL, "a bool mask");
  const bool other = in.frame().is_tensor(arg::value) && in.tensor(arg::value).dtype() != x.dtype();
  out[0] = other ? where(mask, in.tensor(arg::value).to(x.dtype()), x)
                 : where(mask, in.operand(arg::value), x);
}
