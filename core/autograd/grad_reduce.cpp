// Gradients of reductions. x is the argument, y the result, g the gradient of y.
#include <cmath>
#include <limits>

#include "autograd/grad_tools.hpp"

namespace {

// A result-shaped tensor with the reduced dimensions back as 1. Without `dims` it has rank 0, or
// every dimension.
Tensor keep_dims(const GradCall& c, const Tensor& t, uint32_t dims_arg, uint32_t keep_arg) {
  if (c.flag(keep_arg) || !c.has(dims_arg)) return t;
  Sizes kept(c.shape(0));
  for (const int64_t dim : c.ints(dims_arg))
    if (kept.size() > 0) kept[wrapped(dim, kept.size())] = 1;
  return reshape(t, kept);
}

int64_t reduced_count(const GradCall& c, uint32_t dims_arg) {
  const auto shape = c.shape(0);
  if (!c.has(dims_arg)) return product(shape);
  int64_t n = 1;
  for (const int64_t dim : c.ints(dims_arg))
    if (!shape.empty()) n *= shape[wrapped(dim, shape.size())];
  return n;
}

// Products of all elements before each one along the last dimension.
Tensor products_before(const Tensor& x) {
  Sizes shape(x.shape());
  const int64_t n = shape.back();
  shape[shape.size() - 1] = 1;
  return cumprod(concat({ones(shape, x), slice(x, -1, 0, n - 1)}, -1), -1);
}

}  // namespace

// g to every element
TN_GRADIENT(sum, {}) { c.set(0, expand(keep_dims(c, c.grad(), 1, 2), c.shape(0))); }

// g/n to every element
TN_GRADIENT(mean, {}) {
  const Tensor share = c.grad() / static_cast<double>(reduced_count(c, 1));
  c.set(0, expand(keep_dims(c, share, 1, 2), c.shape(0)));
}

// g times the product of all other elements, without a division, so zeros are no exception
TN_GRADIENT(prod, {.always = in_(0)}) {
  const Tensor g = c.grad();
  const auto shape = c.shape(0);
  uint32_t mask = c.has(1) ? 0 : (1u << shape.size()) - 1;
  if (c.has(1) && !shape.empty())
    for (const int64_t dim : c.ints(1)) mask |= 1u << wrapped(dim, shape.size());
  if (product(shape) == 0) return;
  if (mask == 0) return c.set(0, g);
  Sizes order, inverse(shape), moved, rows;  // reduced dimensions last, then as one
  for (const bool reduced : {false, true})
    for (size_t d = 0; d < shape.size(); ++d)
      if ((mask >> d & 1u) == reduced) {
        inverse[d] = static_cast<int64_t>(order.size());
        order.push(static_cast<int64_t>(d));
        moved.push(shape[d]);
        if (!reduced) rows.push(shape[d]);
      }
  Sizes columns = rows, single = rows;
  columns.push(reduced_count(c, 1));
  single.push(1);
  const Tensor x = reshape(permute(cast(conj_of(c.in(0)), g.dtype()), order), columns);
  const Tensor others = products_before(x) * flip(products_before(flip(x, -1)), -1);
  c.set(0, permute(reshape(reshape(g, single) * others, moved), inverse));
}

// g shared evenly by the elements equal to y
TN_GRADIENT(extremum, {.always = in_(0) | out_(0)}) {
  const Tensor g = keep_dims(c, c.grad(), 1, 2), y = keep_dims(c, c.out(), 1, 2);
  const Tensor hit = cast(equal(c.in(0), y), g.dtype());
  c.set(0, hit * (g / sum(hit, optional_ints(c, 1), true)));
}

// d(Σ(x−x̄)²/(n−correction)) = 2(x−x̄)/(n−correction)·dx
TN_GRADIENT(var, {.always = in_(0)}) {
  const Tensor x = c.in(0), g = keep_dims(c, c.grad(), 1, 3);
  const double free = std::max(static_cast<double>(reduced_count(c, 1)) - c.real(2), 0.0);
  c.set(0, (x - mean(x, optional_ints(c, 1), true)) * (g * (2 / free)));
}

// g·e^(x−y), the softmax; 0 where all elements are −∞
TN_GRADIENT(logsumexp, {.always = in_(0) | out_(0)}) {
  const Tensor g = keep_dims(c, c.grad(), 1, 2), y = keep_dims(c, c.out(), 1, 2);
  const Tensor finite = where(equal(y, -std::numeric_limits<double>::infinity()), 0, y);
  c.set(0, g * exp(c.in(0) - finite));
}

// d‖x‖ₚ = sign(x)·|x|^(p−1)·y^(1−p)·dx; p = ∞: shared evenly by the largest; 0 where y = 0
TN_GRADIENT(norm, {.always = in_(0) | out_(0)}) {
  const double p = c.real(1);
  if (p == 0) return;
  const Tensor x = c.in(0), g = keep_dims(c, c.grad(), 2, 3), y = keep_dims(c, c.out(), 2, 3);
  const Tensor safe = where(equal(y, 0), 1, y);
  if (p == 2) return c.set(0, x * (g / safe));
  if (p == 1) return c.set(0, sign(x) * g);
  const Tensor size = abs(x);
  if (std::isinf(p)) {
    const Tensor hit = cast(equal(size, y), g.dtype());
    return c.set(0, sign(x) * (hit * (g / sum(hit, optional_ints(c, 2), true))));
  }
  c.set(0, sign(x) * pow(where(equal(size, 0), 1, size), p - 1) * (g * pow(safe, 1 - p)));
}
