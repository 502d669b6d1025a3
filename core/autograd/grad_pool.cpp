// Gradients of pooling, resampling and padding. All but max_pool are linear: the gradient of the
// backward op is the forward op.
#include "autograd/grad_tools.hpp"

namespace {

// (N, C, spatial…) with the spatial dimensions as one
Tensor planes(const Tensor& x) {
  const auto shape = x.shape();
  return reshape(x, {shape[0], shape[1], product(shape.subspan(2))});
}

}  // namespace

// g at the largest element of each window; also adaptive_max_pool
TN_GRADIENT(max_pool, {.always = out_(1)}) {
  if (c.grad().defined()) c.set(0, max_pool_backward(c.grad(), c.out(1), c.shape(0)));
}

// linear in g: picks what arrives at the places that g went to
TN_GRADIENT(max_pool_backward, {.always = in_(1)}) {
  const Tensor picked = gather(planes(c.grad()), 2, planes(c.in(1)));
  c.set(0, reshape(picked, c.shape(0)));
}

// g/window to every element of each window
TN_GRADIENT(avg_pool, {}) {
  c.set(0, avg_pool_backward(c.grad(), c.shape(0), c.ints(1), optional_ints(c, 2), c.ints(3),
                             c.flag(4), c.flag(5)));
}

// linear in g: its adjoint is avg_pool
TN_GRADIENT(avg_pool_backward, {}) {
  c.set(0, avg_pool(c.grad(), c.ints(2), optional_ints(c, 3), c.ints(4), c.flag(5), c.flag(6)));
}

// g/window to every element of each window
TN_GRADIENT(adaptive_avg_pool, {}) { c.set(0, adaptive_avg_pool_backward(c.grad(), c.shape(0))); }

// linear in g: its adjoint is adaptive_avg_pool
TN_GRADIENT(adaptive_avg_pool_backward, {}) {
  c.set(0, adaptive_avg_pool(c.grad(), c.shape(0).subspan(2)));
}

// the weights that each element had
TN_GRADIENT(interpolate, {}) {
  c.set(0, interpolate_backward(c.grad(), c.shape(0), c.str(2), c.flag(3)));
}

// linear in g: its adjoint is interpolate
TN_GRADIENT(interpolate_backward, {}) {
  c.set(0, interpolate(c.grad(), c.shape(0).subspan(2), c.str(2), c.flag(3)));
}

// the inner part, and what was mirrored from it
TN_GRADIENT(pad, {}) { c.set(0, pad_backward(c.grad(), c.ints(1), c.str(2))); }

// linear in g: its adjoint is pad
TN_GRADIENT(pad_backward, {}) { c.set(0, pad(c.grad(), c.ints(1), c.str(2))); }
