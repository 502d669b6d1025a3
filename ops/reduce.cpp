// Reductions; without dims, over all.
// x is always argument 0; kernels get the reduced dimensions last. In formulas y is the result and g the gradient of y.
#include <cmath>
#include <limits>

#include "ops/gradients.hpp"
#include "ops/number.hpp"
#include "ops/record.hpp"

namespace {

// A reduction without an identity needs at least one element for each result.
void require_elements(const Frame& frame, const tn_tensor& x, uint32_t mask) {
  int64_t kept = 1, reduced = 1;
  for (uint32_t d = 0; d < x.ndim(); ++d) ((mask >> d & 1) != 0 ? reduced : kept) *= x.shape()[d];
  frame.require(reduced != 0 || kept == 0, "nothing to reduce in a tensor of shape {}",
                format_shape(x.sizes()));
}

// The rule of an op that reduces x over dims to a result of that dtype; `arg` names the op's arguments.
template <class arg>
void reduce_dims(Frame& frame, tn_dtype dtype) {
  const tn_tensor& x = frame.tensor(arg::x);
  reduce(frame, x, dtype, dim_mask(frame, arg::dims, x.ndim()), frame.flag(arg::keepdim));
}

// A tensor of the result's shape with the reduced dimensions restored as 1. Without `dims` it has rank 0, or already every dimension.
template <class arg>
Tensor keep_dims(const GradCall& c, const Tensor& t) {
  if (c.flag(arg::keepdim) || !c.has(arg::dims)) return t;
  Sizes kept(c.shape(arg::x));
  for (const int64_t dim : c.ints(arg::dims))
    if (kept.size() > 0) kept[wrapped(dim, kept.size())] = 1;
  return reshape(t, kept);
}

// How many elements of x go into one result, for a gradient and for a decomposition.
int64_t reduced_count(const GradCall& c, uint32_t dims_arg) {
  const auto shape = c.shape(arg::sum::x);
  if (!c.has(dims_arg)) return product(shape);
  int64_t n = 1;
  for (const int64_t dim : c.ints(dims_arg))
    if (!shape.empty()) n *= shape[wrapped(dim, shape.size())];
  return n;
}
double reduced_count(const CompositeArgs& in, const Tensor& x, uint32_t dims_arg) {
  const uint32_t mask = dim_mask(in.frame(), dims_arg, static_cast<uint32_t>(x.ndim()));
  double n = 1;
  for (int64_t d = 0; d < x.ndim(); ++d)
    if ((mask >> d & 1u) != 0) n *= static_cast<double>(x.shape(d));
  return n;
}

// By what the gradient of a variance divides.
template <class arg>
double freedom(const GradCall& c) {
  return std::max(static_cast<double>(reduced_count(c, arg::dims)) - c.real(arg::correction), 0.0);
}

// The product of all elements before each one, along the last dimension.
Tensor products_before(const Tensor& x) {
  Sizes shape(x.shape());
  const int64_t n = shape.back();
  shape[shape.size() - 1] = 1;
  return cumprod(concat({ones(shape, x), slice(x, -1, 0, n - 1)}, -1), -1);
}

}  // namespace

TN_OP(sum) = {
    .schema = "(Tensor x, int[]? dims=none, bool keepdim=false, dtype? dtype=none) -> Tensor",
    .gives = "The sum over dims, or over all.",
    .example = "tenon.sum(t([[1., 2.], [3., 4.]]), 0)",
    .autocast = "f32 on GPUs",
    .linear = "x",
    .rule = &rule::reduce_sum,
    .gradient = &gradient::sum,
};

TN_RULE(reduce_sum, sum,
        {.dtypes = "any; integers and bool are summed in 64 bits unless `dtype` says otherwise",
         .shapes = "x's without `dims` (absent: all), of size 1 with `keepdim`"}) {
  reduce_dims<arg>(frame, sum_result(frame, arg::x, arg::dtype));
}

// g to every element
TN_GRADIENT(sum, {}) { c.set(arg::x, expand(keep_dims<arg>(c, c.grad()), c.shape(arg::x))); }

TN_OP(prod) = {
    .schema = "(Tensor x, int[]? dims=none, bool keepdim=false, dtype? dtype=none) -> Tensor",
    .gives = "The product over dims, or over all.",
    .example = "tenon.prod(t([2., 3., 4.]))",
    .autocast = "f32",
    .rule = &rule::reduce_sum,
    .gradient = &gradient::prod,
};

// The reduced dimensions become the last one.
TN_GRADIENT(prod, {.always = in_(arg::x)}) {
  const Tensor g = c.grad();
  const auto shape = c.shape(arg::x);
  uint32_t mask = c.has(arg::dims) ? 0 : (1u << shape.size()) - 1;
  if (c.has(arg::dims) && !shape.empty())
    for (const int64_t dim : c.ints(arg::dims)) mask |= 1u << wrapped(dim, shape.size());
  if (product(shape) == 0) return;
  if (mask == 0) return c.set(arg::x, g);
  Sizes order, inverse(shape), moved, rows;  // reduced dimensions last, then merged
  for (const bool reduced : {false, true})
    for (size_t d = 0; d < shape.size(); ++d)
      if ((mask >> d & 1u) == reduced) {
        inverse[d] = static_cast<int64_t>(order.size());
        order.push(static_cast<int64_t>(d));
        moved.push(shape[d]);
        if (!reduced) rows.push(shape[d]);
      }
  Sizes columns = rows;
  columns.push(reduced_count(c, arg::dims));
  const Tensor x = reshape(permute(cast(c.in(arg::x), g.dtype()), order), columns);
  c.set(arg::x, permute(reshape(prod_backward(reshape(g, rows), x), moved), inverse));
}

TN_OP(prod_backward) = {
    .schema = "(Tensor g, Tensor x) -> Tensor",
    .gives = "The gradient of prod(x, -1): g times the product of all other elements of the row.",
    .example = "tenon.prod_backward(t([1.]), t([[2., 3., 4.]]))",
    .rule = &rule::prod_backward,
    .through = true,
    .decompose = &decomposition::prod_backward,
};

TN_RULE(prod_backward, prod_backward,
        {.dtypes = "a floating or complex dtype, common to both",
         .shapes = "x's; g has no last dimension"}) {
  const tn_tensor& x = operand(frame, arg::x);
  frame.require(x.ndim() >= 1, "x must have a dimension");
  require_shape(frame, arg::g, x.sizes().first(x.ndim() - 1));
  const tn_dtype dtype = common_dtype(frame, arg::g, arg::x);
  if ((TN_MASK(dtype) & (TN_MASK_FLOAT | TN_MASK_COMPLEX)) == 0)
    refuse(frame, dtype, "a floating or complex dtype");
  frame.cast_all(dtype);
  frame.result(0, dtype, x.sizes());
}

// g times the product of all other elements; needs no division, so zeros are no exception
TN_DECOMPOSE(prod_backward) {
  const Tensor x = conj_of(in.tensor(arg::x));
  if (x.numel() == 0) {
    out[0] = clone(x);
    return;
  }
  const Tensor others = products_before(x) * flip(products_before(flip(x, -1)), -1);
  out[0] = unsqueeze(in.tensor(arg::g), -1) * others;
}

TN_OP(nansum) = {
    .schema = "(Tensor x, int[]? dims=none, bool keepdim=false) -> Tensor",
    .gives = "Sum over dims, or over all, of what is not NaN.",
    .example = "tenon.nansum(t([1., float('nan'), 2.]))",
    .autocast = "f32 on GPUs",
    .rule = &rule::nansum,
    .through = true,
    .decompose = &decomposition::nansum,
};

TN_RULE(nansum, nansum,
        {.dtypes = "real and bool; integers and bool are summed in 64 bits",
         .shapes = "as `sum`"}) {
  const tn_dtype dtype =
      operand(frame, arg::x, TN_MASK_REAL | TN_MASK_BOOL, "a real dtype").dtype();
  reduce_dims<arg>(frame, widened(dtype));
}

TN_DECOMPOSE(nansum) {
  const Tensor x = in.tensor(arg::x);
  out[0] = sum(is_floating(x.dtype()) ? where(isnan(x), 0, x) : x, in.ints_or_none(arg::dims),
               in.flag(arg::keepdim));
}

TN_OP(min) = {
    .schema = "(Tensor x, int[]? dims=none, bool keepdim=false) -> Tensor",
    .gives = "The smallest element over dims, or over all.",
    .example = "tenon.min(t([[1., 2.], [3., 4.]]), 1)",
    .rule = &rule::reduce_order,
    .gradient = &gradient::extremum,
};

TN_RULE(reduce_order, min, {.dtypes = "real and bool; the result has x's", .shapes = "as `sum`"}) {
  tn_tensor& x = ordered_operand(frame, arg::x);
  const uint32_t mask = dim_mask(frame, arg::dims, x.ndim());
  require_elements(frame, x, mask);
  reduce(frame, x, x.dtype(), mask, frame.flag(arg::keepdim));
}

// g shared evenly by the elements equal to y
TN_GRADIENT_OF(extremum, min, {.always = in_(arg::x) | out_(0)}) {
  const Tensor g = keep_dims<arg>(c, c.grad()), y = keep_dims<arg>(c, c.out());
  const Tensor hit = cast(equal(c.in(arg::x), y), g.dtype());
  c.set(arg::x, hit * (g / sum(hit, optional_ints(c, arg::dims), true)));
}

TN_OP(max) = {
    .schema = "(Tensor x, int[]? dims=none, bool keepdim=false) -> Tensor",
    .gives = "The largest element over dims, or over all.",
    .example = "tenon.max(t([[1., 2.], [3., 4.]]), 1)",
    .rule = &rule::reduce_order,
    .gradient = &gradient::extremum,
};

TN_OP(mean) = {
    .schema = "(Tensor x, int[]? dims=none, bool keepdim=false) -> Tensor",
    .gives = "The mean over dims, or over all.",
    .example = "tenon.mean(t([[1., 2.], [3., 4.]]), 0)",
    .linear = "x",
    .rule = &rule::mean,
    .gradient = &gradient::mean,
    .decompose = &decomposition::mean,
};

TN_RULE(mean, mean, {.dtypes = "any; integers and bool give f32", .shapes = "as `sum`"}) {
  reduce_dims<arg>(frame, fractional(float_operand(frame, arg::x, TN_MASK_ALL).dtype()));
}

// g/n to every element
TN_GRADIENT(mean, {}) {
  const Tensor share = c.grad() / static_cast<double>(reduced_count(c, arg::dims));
  c.set(arg::x, expand(keep_dims<arg>(c, share), c.shape(arg::x)));
}

TN_DECOMPOSE(mean) {
  const Tensor x = fraction(in.tensor(arg::x));
  out[0] =
      sum(x, in.ints_or_none(arg::dims), in.flag(arg::keepdim)) / reduced_count(in, x, arg::dims);
}

TN_OP(var) = {
    .schema = "(Tensor x, int[]? dims=none, float correction=1.0, bool keepdim=false) -> Tensor",
    .gives = "The variance over dims; correction 1 divides by n - 1.",
    .example = "tenon.op('var')(t([1., 2., 3.]))",
    .rule = &rule::var,
    .gradient = &gradient::var,
    .decompose = &decomposition::var,
};

TN_RULE(var, var, {.dtypes = "real and bool; integers and bool give f32", .shapes = "as `sum`"}) {
  reduce_dims<arg>(frame, fractional(float_operand(frame, arg::x).dtype()));
}

// d(Σ(x−x̄)²/(n−correction)) = 2(x−x̄)/(n−correction)·dx
TN_GRADIENT(var, {.always = in_(arg::x)}) {
  const Tensor x = c.in(arg::x), g = keep_dims<arg>(c, c.grad());
  c.set(arg::x, (x - mean(x, optional_ints(c, arg::dims), true)) * (g * (2 / freedom<arg>(c))));
}

// Σ(x−x̄)²/(n−correction)
TN_DECOMPOSE(var) {
  const Tensor x = fraction(in.tensor(arg::x));
  const double n = reduced_count(in, x, arg::dims),
               free = std::max(n - in.real(arg::correction), 0.0);
  const Tensor mean = sum(x, in.ints_or_none(arg::dims), true) / n;
  out[0] = sum(square(x - mean), in.ints_or_none(arg::dims), in.flag(arg::keepdim)) / free;
}

TN_OP(std) = {
    .schema = "(Tensor x, int[]? dims=none, float correction=1.0, bool keepdim=false) -> Tensor",
    .gives = "The standard deviation over dims; correction 1 divides by n - 1.",
    .example = "tenon.op('std')(t([1., 2., 3.]))",
    .rule = &rule::std,
    .gradient = &gradient::std,
    .decompose = &decomposition::std,
};

TN_RULE(std, std, {.dtypes = "real and bool; integers and bool give f32", .shapes = "as `sum`"}) {
  reduce_dims<arg>(frame, fractional(float_operand(frame, arg::x).dtype()));
}

// (x−x̄)/((n−correction)·y)·dx, and 0 where y is 0
TN_GRADIENT(std, {.always = in_(arg::x) | out_(0)}) {
  const Tensor x = c.in(arg::x), y = keep_dims<arg>(c, c.out()), flat = y == 0;
  const Tensor slope =
      where(flat, 0, keep_dims<arg>(c, c.grad()) / (where(flat, 1, y) * freedom<arg>(c)));
  c.set(arg::x, (x - mean(x, optional_ints(c, arg::dims), true)) * slope);
}

TN_DECOMPOSE(std) {
  out[0] = sqrt(var(in.tensor(arg::x), in.ints_or_none(arg::dims), in.real(arg::correction),
                    in.flag(arg::keepdim)));
}

TN_OP(logsumexp) = {
    .schema = "(Tensor x, int[]? dims=none, bool keepdim=false) -> Tensor",
    .gives = "log(sum(exp(x))) without overflow.",
    .example = "tenon.logsumexp(t([0., 0.]))",
    .autocast = "f32 on GPUs",
    .rule = &rule::logsumexp,
    .gradient = &gradient::logsumexp,
    .decompose = &decomposition::logsumexp,
};

TN_RULE(logsumexp, logsumexp,
        {.dtypes = "real and bool; integers and bool give f32", .shapes = "as `sum`"}) {
  reduce_dims<arg>(frame, fractional(float_operand(frame, arg::x).dtype()));
}

// g·e^(x−y), the softmax; 0 where all elements are −∞
TN_GRADIENT(logsumexp, {.always = in_(arg::x) | out_(0)}) {
  const Tensor x = c.in(arg::x);
  const Tensor g = keep_dims<arg>(c, c.grad()), y = keep_dims<arg>(c, c.out());
  const Tensor finite = where(equal(y, -std::numeric_limits<double>::infinity()), 0, y);
  c.set(arg::x, g * exp(x - finite));
}

// m + ln Σ e^(x−m), where m is the largest element
TN_DECOMPOSE(logsumexp) {
  const Tensor x = fraction(in.tensor(arg::x));
  const auto dims = in.ints_or_none(arg::dims);
  if (reduced_count(in, x, arg::dims) == 0) {
    out[0] = log(sum(exp(x), dims, in.flag(arg::keepdim)));
    return;
  }
  const Tensor most = max(x, dims, true), shift = where(isfinite(most), most, 0);
  const Tensor total = log(sum(exp(x - shift), dims, in.flag(arg::keepdim)));
  out[0] = total + reshape(shift, total.shape());
}

TN_OP(norm) = {
    .schema = "(Tensor x, float p=2.0, int[]? dims=none, bool keepdim=false) -> Tensor",
    .gives = "The p-norm over dims, or over all.",
    .example = "tenon.norm(t([3., 4.]))",
    .autocast = "f32 on GPUs",
    .rule = &rule::norm,
    .gradient = &gradient::norm,
};

// The norm of complex numbers is real.
TN_RULE(norm, norm,
        {.dtypes = "any; integers and bool give f32, complex numbers real ones",
         .shapes = "as `sum`"}) {
  const tn_tensor& x = float_operand(frame, arg::x, TN_MASK_ALL);
  reduce_dims<arg>(frame, real_part(fractional(x.dtype())));
}

// d‖x‖ₚ = sign(x)·|x|^(p−1)·y^(1−p)·dx; p = ∞: shared evenly by the largest elements; 0 if y = 0
TN_GRADIENT(norm, {.always = in_(arg::x) | out_(0)}) {
  const double p = c.real(arg::p);
  if (p == 0) return;
  const Tensor x = c.in(arg::x), g = keep_dims<arg>(c, c.grad()), y = keep_dims<arg>(c, c.out());
  const Tensor safe = where(equal(y, 0), 1, y);
  if (p == 2) return c.set(arg::x, x * (g / safe));
  if (p == 1) return c.set(arg::x, sign(x) * g);
  const Tensor size = abs(x);
  if (std::isinf(p)) {
    const Tensor hit = cast(equal(size, y), g.dtype());
    return c.set(arg::x, sign(x) * (hit * (g / sum(hit, optional_ints(c, arg::dims), true))));
  }
  c.set(arg::x, sign(x) * pow(where(equal(size, 0), 1, size), p - 1) * (g * pow(safe, 1 - p)));
}

TN_OP(any) = {
    .schema = "(Tensor x, int[]? dims=none, bool keepdim=false) -> Tensor",
    .gives = "Whether at least one element is not zero.",
    .example = "tenon.any(t([0, 1]))",
    .rule = &rule::reduce_bool,
};

TN_RULE(reduce_bool, any, {.dtypes = "any; bool", .shapes = "as `sum`"}) {
  operand(frame, arg::x);
  reduce_dims<arg>(frame, TN_DTYPE_BOOL);
}

TN_OP(all) = {
    .schema = "(Tensor x, int[]? dims=none, bool keepdim=false) -> Tensor",
    .gives = "Whether no element is zero.",
    .example = "tenon.all(t([0, 1]))",
    .rule = &rule::reduce_bool,
};

TN_OP(count_nonzero) = {
    .schema = "(Tensor x, int[]? dims=none, bool keepdim=false) -> Tensor",
    .gives = "How many elements are not zero.",
    .example = "tenon.count_nonzero(t([0, 1, 2]))",
    .rule = &rule::count_nonzero,
    .decompose = &decomposition::count_nonzero,
};

TN_RULE(count_nonzero, count_nonzero, {.dtypes = "any; i64", .shapes = "as `sum`"}) {
  operand(frame, arg::x);
  reduce_dims<arg>(frame, TN_DTYPE_I64);
}

TN_DECOMPOSE(count_nonzero) {
  out[0] =
      sum(in.tensor(arg::x) != 0, in.ints_or_none(arg::dims), in.flag(arg::keepdim), DType::I64);
}

TN_OP(argmin) = {
    .schema = "(Tensor x, int? dim=none, bool keepdim=false) -> Tensor",
    .gives = "The position of the smallest element along dim, or in the flattened tensor.",
    .example = "tenon.argmin(t([3., 1., 2.]))",
    .rule = &rule::reduce_arg,
};

// Without `dim` the result is the position in row-major order.
TN_RULE(reduce_arg, argmin,
        {.dtypes = "real and bool; i64",
         .shapes = "x's without `dim`; rank 0 if it is absent",
         .ordered = true}) {
  tn_tensor& x = ordered_operand(frame, arg::x);
  const uint32_t all = (1u << x.ndim()) - 1;
  const uint32_t mask =
      frame.has(arg::dim) ? 1u << wrap_dim(frame, frame.integer(arg::dim), x.ndim()) : all;
  require_elements(frame, x, mask);
  reduce(frame, x, TN_DTYPE_I64, mask, frame.flag(arg::keepdim));
}

TN_OP(argmax) = {
    .schema = "(Tensor x, int? dim=none, bool keepdim=false) -> Tensor",
    .gives = "The position of the largest element along dim, or in the flattened tensor.",
    .example = "tenon.argmax(t([3., 1., 2.]))",
    .rule = &rule::reduce_arg,
};
