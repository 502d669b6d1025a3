// Running sums and products.
// In formulas x is the argument, y the result and g the gradient of y.
#include <array>

#include "ops/gradients.hpp"
#include "ops/number.hpp"
#include "ops/operands.hpp"
#include "ops/record.hpp"

namespace {

// t moved `by` places towards the start of `dim`, filled with zeros.
Tensor shifted(const Tensor& t, int64_t dim, int64_t by) {
  Sizes gap(t.shape());
  const int64_t n = gap[dim];
  gap[dim] = by;
  return concat({slice(t, dim, by, n), zeros(gap, t)}, dim);
}

// Positions along a dimension, in the shape of x.
Tensor positions(const Tensor& x, int64_t dim) {
  Sizes column(x.shape());
  for (size_t d = 0; d < x.shape().size(); ++d)
    column[d] = d == static_cast<size_t>(dim) ? x.shape(dim) : 1;
  return expand(reshape(arange(0, x.shape(dim), 1, DType::I64, x.device()), column), x.shape());
}

// The extreme up to each element and its position: the last of equal elements, or a NaN from its position on. Prefixes are joined by
// doubling (Hillis and Steele 1986), which keeps their order.
void running_extreme(const Tensor& x, int64_t given, bool largest, Tensor* out) {
  if (x.shape().empty()) {
    out[0] = clone(x);
    out[1] = full({}, 0, DType::I64, x.device());
    return;
  }
  const int64_t dim = wrapped(given, x.shape().size()), n = x.shape(dim);
  Tensor values = clone(x), places = clone(positions(x, dim));
  for (int64_t by = 1; by < n; by *= 2) {
    const Tensor before = slice(values, dim, 0, n - by), here = slice(values, dim, by, n);
    Tensor stays = largest ? greater(before, here) : less(before, here);
    if (is_floating(x.dtype()))
      stays = logical_or(stays, logical_and(isnan(before), logical_not(isnan(here))));
    const Tensor joined = where(stays, before, here);
    const Tensor from = where(stays, slice(places, dim, 0, n - by), slice(places, dim, by, n));
    values = concat({slice(values, dim, 0, by), joined}, dim);
    places = concat({slice(places, dim, 0, by), from}, dim);
  }
  out[0] = values;
  out[1] = places;
}

}  // namespace

TN_OP(cumsum) = {
    .schema = "(Tensor x, int dim, dtype? dtype=none) -> Tensor",
    .gives = "Running sum along dim.",
    .example = "tenon.cumsum(t([1., 2., 3.]), 0)",
    .autocast = "f32 on GPUs",
    .linear = "x",
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
    .autocast = "f32 on GPUs",
    .in_place = true,
    .rule = &rule::scan,
    .gradient = &gradient::cumprod,
};

TN_GRADIENT(cumprod, {.always = in_(arg::x) | out_(0)}) {
  if (c.shape(arg::x).empty()) return c.set(arg::x, c.grad());
  const Tensor g = c.grad();
  c.set(arg::x, cumprod_backward(g, cast(c.in(arg::x), g.dtype()), c.out(), c.integer(arg::dim)));
}

TN_OP(cumprod_backward) = {
    .schema = "(Tensor g, Tensor x, Tensor y, int dim) -> Tensor",
    .gives = "The gradient of cumprod(x, dim) from x and the result y.",
    .example = "tenon.cumprod_backward(t([1., 1.]), t([2., 3.]), t([2., 6.]), 0)",
    .rule = &rule::cumprod_backward,
    .through = true,
    .decompose = &decomposition::cumprod_backward,
};

TN_RULE(cumprod_backward, cumprod_backward,
        {.dtypes = "a floating or complex dtype, common to all", .shapes = "x's"}) {
  const tn_tensor& x = operand(frame, arg::x);
  for (const uint32_t i : {arg::g, arg::y}) require_shape(frame, i, x.sizes());
  const tn_dtype dtype = common_dtype(frame, std::array{arg::g, arg::x, arg::y});
  if ((TN_MASK(dtype) & (TN_MASK_FLOAT | TN_MASK_COMPLEX)) == 0)
    refuse(frame, dtype, "a floating or complex dtype");
  frame.cast_all(dtype);
  frame.result(0, dtype, x.sizes());
  along(frame, arg::dim, x.ndim());
}

// dxⱼ = y₍ⱼ₋₁₎·Sⱼ with Sⱼ = gⱼ + x₍ⱼ₊₁₎·S₍ⱼ₊₁₎, a scan of affine maps by doubling (Hillis and Steele 1986); needs no division, so zeros
// are no exception
TN_DECOMPOSE(cumprod_backward) {
  Tensor total = in.tensor(arg::g);
  const Sizes shape(total.shape());
  if (shape.size() == 0 || total.numel() == 0) {
    out[0] = clone(total);
    return;
  }
  const int64_t dim = wrapped(in.integer(arg::dim), shape.size()), n = shape[dim];
  Tensor factor = shifted(conj_of(in.tensor(arg::x)), dim, 1);
  for (int64_t by = 1; by < n; by *= 2) {
    total = total + factor * shifted(total, dim, by);
    if (by * 2 < n) factor = factor * shifted(factor, dim, by);
  }
  const Tensor y = conj_of(in.tensor(arg::y));
  Sizes first(shape);
  first[dim] = 1;
  out[0] = concat({ones(first, y), slice(y, dim, 0, n - 1)}, dim) * total;
}

// x, dim and the results have the same positions as in sort, so its rule serves.
TN_OP(cummax) = {
    .schema = "(Tensor x, int dim) -> Tensor values, Tensor indices",
    .gives =
        "The running maximum along dim and its position, the last one among equals. NaN "
        "propagates.",
    .example = "tenon.cummax(t([1., 3., 2.]), 0)",
    .rule = &rule::sort,
    .gradient = &gradient::running_extreme,
    .decompose = &decomposition::cummax,
};

// an element gets the sum of g over the prefixes in which it is the extreme
TN_GRADIENT_OF(running_extreme, cummax, {.always = out_(arg::result::indices)}) {
  const Tensor g = c.grad(arg::result::values);
  if (!g.defined()) return;
  const auto shape = c.shape(arg::x);
  c.set(arg::x, shape.empty() ? g
                              : put(detail::op_scatter_add, zeros(shape, g), c.integer(arg::dim),
                                    c.out(arg::result::indices), g));
}

TN_DECOMPOSE(cummax) { running_extreme(in.tensor(arg::x), in.integer(arg::dim), true, out); }

TN_OP(cummin) = {
    .schema = "(Tensor x, int dim) -> Tensor values, Tensor indices",
    .gives =
        "The running minimum along dim and its position, the last one among equals. NaN "
        "propagates.",
    .example = "tenon.cummin(t([3., 1., 2.]), 0)",
    .rule = &rule::sort,
    .gradient = &gradient::running_extreme,
    .decompose = &decomposition::cummin,
};

TN_DECOMPOSE(cummin) { running_extreme(in.tensor(arg::x), in.integer(arg::dim), false, out); }
