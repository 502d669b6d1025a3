// Gradients of ops along one dimension. x is the argument, y the result, g the gradient of y.
#include "autograd/grad_tools.hpp"

namespace {

// t moved `by` places towards the start of `dim`, zeros behind it.
Tensor shifted(const Tensor& t, int64_t dim, int64_t by) {
  Sizes gap(t.shape());
  const int64_t n = gap[dim];
  gap[dim] = by;
  return concat({slice(t, dim, by, n), zeros(gap, t)}, dim);
}

// g put back to the places that `indices` (saved result 1) names.
void scatter_back(GradCall& c, int64_t dim) {
  const Tensor g = c.grad();
  if (!g.defined()) return;
  const auto shape = c.shape(0);
  c.set(0, shape.empty() ? g : put(detail::op_scatter, zeros(shape, g), dim, c.out(1), g));
}

}  // namespace

// the sum of g from each element to the end
TN_GRADIENT(cumsum, {}) {
  const int64_t dim = c.integer(1);
  c.set(0, c.shape(0).empty() ? c.grad() : flip(cumsum(flip(c.grad(), dim), dim), dim));
}

// dxⱼ = y₍ⱼ₋₁₎·Sⱼ with Sⱼ = gⱼ + x₍ⱼ₊₁₎·S₍ⱼ₊₁₎, a scan of affine maps by doubling (Hillis and
// Steele 1986): no division, so zeros are no exception
TN_GRADIENT(cumprod, {.always = in_(0) | out_(0)}) {
  const auto shape = c.shape(0);
  if (shape.empty() || product(shape) == 0) return c.set(0, c.grad());
  const int64_t dim = wrapped(c.integer(1), shape.size()), n = shape[dim];
  Tensor total = c.grad();
  Tensor factor = shifted(cast(conj_of(c.in(0)), total.dtype()), dim, 1);
  for (int64_t by = 1; by < n; by *= 2) {
    total = total + factor * shifted(total, dim, by);
    if (by * 2 < n) factor = factor * shifted(factor, dim, by);
  }
  const Tensor y = conj_of(c.out());
  Sizes first(shape);
  first[dim] = 1;
  c.set(0, concat({ones(first, y), slice(y, dim, 0, n - 1)}, dim) * total);
}

// y·(g − Σ g·y)
TN_GRADIENT(softmax, {.always = out_(0)}) {
  c.set(0, softmax_backward(c.grad(), c.out(), c.integer(1)));
}

// g − eʸ·Σ g
TN_GRADIENT(log_softmax, {.always = out_(0)}) {
  c.set(0, log_softmax_backward(c.grad(), c.out(), c.integer(1)));
}

// g at the places the values came from
TN_GRADIENT(sort, {.always = out_(1)}) { scatter_back(c, c.integer(1)); }

// g at the places the values came from, 0 elsewhere
TN_GRADIENT(topk, {.always = out_(1)}) { scatter_back(c, c.integer(2)); }

// g at the places where the mask is set, 0 elsewhere
TN_GRADIENT(masked_select, {.always = in_(1)}) {
  const Tensor g = c.grad(), mask = c.in(1);
  const auto x = c.shape(0), m = mask.shape();
  Sizes shape(x.size() > m.size() ? x : m);  // the broadcast shape
  for (const auto& other : {x, m})
    for (size_t d = 0; d < other.size(); ++d) {
      int64_t& size = shape[shape.size() - other.size() + d];
      if (size == 1) size = other[d];
    }
  const Tensor places = reshape(nonzero(reshape(expand(mask, shape), -1)), -1);
  c.set(0,
        reshape(put(detail::op_scatter, zeros(product(shape), g), int64_t{0}, places, g), shape));
}
