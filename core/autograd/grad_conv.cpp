// Gradients of convolution: conv, conv_backward_input and conv_backward_weight are linear in both
// operands, and the gradient of each is made of the other two.
#include "autograd/grad_tools.hpp"

namespace {

// The attributes behind the operands: stride, padding, dilation, groups.
struct Window {
  const GradCall& c;
  Tensor forward(const Tensor& x, const Tensor& w) const {
    return conv(x, w, {}, c.ints(3), c.ints(4), c.ints(5), c.integer(6));
  }
  Tensor to_input(const Tensor& g, const Tensor& w, uint32_t like) const {
    return conv_backward_input(g, w, c.shape(like), c.ints(3), c.ints(4), c.ints(5), c.integer(6));
  }
  Tensor to_weight(const Tensor& g, const Tensor& x, uint32_t like) const {
    return conv_backward_weight(g, x, c.shape(like), c.ints(3), c.ints(4), c.ints(5), c.integer(6));
  }
};

}  // namespace

// y = x ⋆ w + b
TN_GRADIENT(conv, {.if_needs = {in_(1), in_(0)}}) {
  const Tensor g = c.grad();
  if (c.needs(0)) c.set(0, Window{c}.to_input(g, conj_of(c.in(1)), 0));
  if (c.needs(1)) c.set(1, Window{c}.to_weight(g, conj_of(c.in(0)), 1));
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
  if (c.needs(0)) c.set(0, Window{c}.forward(u, conj_of(c.in(1))));
  if (c.needs(1)) c.set(1, Window{c}.to_weight(conj_of(c.in(0)), u, 1));
}

// h = adjoint of (w ↦ x ⋆ w) at g: h's gradient u has w's shape; x ⋆ u, and as the input's gradient
// for weight u
TN_GRADIENT(conv_backward_weight, {.if_needs = {in_(1), in_(0)}}) {
  const Tensor u = c.grad();
  if (c.needs(0)) c.set(0, Window{c}.forward(conj_of(c.in(1)), u));
  if (c.needs(1)) c.set(1, Window{c}.to_input(conj_of(c.in(0)), u, 1));
}
