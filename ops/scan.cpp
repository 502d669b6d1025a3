// Running sums and products.
// In formulas x is the argument, y the result and g the gradient of y.
#include "ops/gradients.hpp"
#include "ops/operands.hpp"
#include "ops/record.hpp"

namespace {

// t moved `by` places towards the start of `dim`, zeros behind it.
Tensor shifted(const Tensor& t, int64_t dim, int64_t by) {
  Sizes gap(t.shape());
  const int64_t n = gap[dim];
  gap[dim] = by;
  return concat({slice(t, dim, by, n), zeros(gap, t)}, dim);
}

}  // namespace

TN_OP(cumsum) = {
    .schema = "(Tensor x, int dim, dtype? dtype=none) -> Tensor",
    .gives = "Running sum along dim.",
    .example = "tenon.cumsum(t([1., 2., 3.]), 0)",
    .in_place = true,
    .rule = &rule::scan,
    .gradient = &gradient::cumsum,
};

TN_RULE(scan, cumsum,
        {.dtypes = "any; integers and bool are summed in 64 bits unless `dtype` says otherwise",
         .shapes = "x's; rank 0 counts as one row"}) {
  const tn_dtype out = sum_result(frame, arg::x, arg::dtype);
  const tn_tensor& x = frame.tensor(arg::x);
  frame.result(0, out, x.sizes());
  along(frame, arg::dim, x.ndim());
}

// the sum of g from each element to the end
TN_GRADIENT(cumsum, {}) {
  const int64_t dim = c.integer(arg::dim);
  c.set(arg::x, c.shape(arg::x).empty() ? c.grad() : flip(cumsum(flip(c.grad(), dim), dim), dim));
}

TN_OP(cumprod) = {
    .schema = "(Tensor x, int dim, dtype? dtype=none) -> Tensor",
    .gives = "Running product along dim.",
    .example = "tenon.cumprod(t([1., 2., 3.]), 0)",
    .in_place = true,
    .rule = &rule::scan,
    .gradient = &gradient::cumprod,
};

// dxⱼ = y₍ⱼ₋₁₎·Sⱼ with Sⱼ = gⱼ + x₍ⱼ₊₁₎·S₍ⱼ₊₁₎, a scan of affine maps by doubling (Hillis and
// Steele 1986): no division, so zeros are no exception
TN_GRADIENT(cumprod, {.always = in_(arg::x) | out_(0)}) {
  const auto shape = c.shape(arg::x);
  if (shape.empty() || product(shape) == 0) return c.set(arg::x, c.grad());
  const int64_t dim = wrapped(c.integer(arg::dim), shape.size()), n = shape[dim];
  Tensor total = c.grad();
  Tensor factor = shifted(cast(conj_of(c.in(arg::x)), total.dtype()), dim, 1);
  for (int64_t by = 1; by < n; by *= 2) {
    total = total + factor * shifted(total, dim, by);
    if (by * 2 < n) factor = factor * shifted(factor, dim, by);
  }
  const Tensor y = conj_of(c.out());
  Sizes first(shape);
  first[dim] = 1;
  c.set(arg::x, concat({ones(first, y), slice(y, dim, 0, n - 1)}, dim) * total);
}
