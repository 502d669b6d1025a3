// Gradients of convolution: conv, conv_backward_input and conv_backward_weight are linear in both
// operands, and the gradient of each is made of the other two.
#include "autograd/grad_tools.hpp"

using namespace tenon;
using namespace tenon::core;

// y = x ⋆ w + b
TN_GRADIENT(conv, {.if_needs = {in_(1), in_(0)}}) {
  const Tensor g = c.grad();
  const auto stride = c.ints(3), padding = c.ints(4), dilation = c.ints(5);
  const int64_t groups = c.integer(6);
  if (c.needs(0))
    c.set(0,
          conv_backward_input(g, conj_of(c.in(1)), c.shape(0), stride, padding, dilation, groups));
  if (c.needs(1))
    c.set(1,
          conv_backward_weight(g, conj_of(c.in(0)), c.shape(1), stride, padding, dilation, groups));
  if (!c.needs(2)) return;
  Sizes others;
  others.push(0);
  for (int64_t d = 2; d < g.ndim(); ++d) others.push(d);
  c.set(2, sum(g, std::span<const int64_t>(others)));
}

// h = adjoint of (x ↦ x ⋆ w) at g: h's gradient u has x's shape; u ⋆ w, and as the weight's
// gradient for input u
TN_GRADIENT(conv_backward_input, {.if_needs = {in_(1), in_(0)}}) {
  const Tensor u = c.grad();
  const auto stride = c.ints(3), padding = c.ints(4), dilation = c.ints(5);
  const int64_t groups = c.integer(6);
  if (c.needs(0)) c.set(0, conv(u, conj_of(c.in(1)), {}, stride, padding, dilation, groups));
  if (c.needs(1))
    c.set(1,
          conv_backward_weight(conj_of(c.in(0)), u, c.shape(1), stride, padding, dilation, groups));
}

// h = adjoint of (w ↦ x ⋆ w) at g: h's gradient u has w's shape; x ⋆ u, and as the input's gradient
// for weight u
TN_GRADIENT(conv_backward_weight, {.if_needs = {in_(1), in_(0)}}) {
  const Tensor u = c.grad();
  const auto stride = c.ints(3), padding = c.ints(4), dilation = c.ints(5);
  const int64_t groups = c.integer(6);
  if (c.needs(0)) c.set(0, conv(conj_of(c.in(1)), u, {}, stride, padding, dilation, groups));
  if (c.needs(1))
    c.set(1,
          conv_backward_input(conj_of(c.in(0)), u, c.shape(1), stride, padding, dilation, groups));
}
