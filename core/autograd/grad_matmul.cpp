// Gradients of matrix products.
#include "autograd/grad_tools.hpp"
#include "autograd/record.hpp"

namespace {

// xᴴ of the last two dimensions
Tensor adjoint(const Tensor& x) { return transpose(conj_of(x), -2, -1); }

// x with all dimensions but the last as one
Tensor rows(const Tensor& x) {
  return x.ndim() == 2 ? x
                       : reshape(x, {x.numel() == 0 ? product(x.shape().first(x.ndim() - 1)) : -1,
                                     x.shape(-1)});
}

// What no activation, or this one, needs: gelu and silu start from x·weightᵀ + bias, which is
// computed again.
uint32_t linear_unread(const tn_value* args) {
  const std::string_view activation{args[3].as.str, args[3].count};
  if (activation.starts_with("gelu") || activation == "silu") return out_(0);
  uint32_t unread = in_(2) | (activation == "none" ? out_(0) : 0);
  if (!requires_grad(*args[1].as.tensor)) unread |= in_(0);
  if (!requires_grad(*args[0].as.tensor)) unread |= in_(1);
  return unread;
}

// The gradient in front of the activation.
Tensor before_activation(const GradCall& c) {
  const std::string_view activation = c.str(3);
  Tensor g = c.grad();
  if (activation == "none") return g;
  if (activation == "relu") return relu_backward(g, c.out());
  if (activation == "sigmoid") return sigmoid_backward(g, c.out());
  if (activation == "tanh") return tanh_backward(g, c.out());
  const Tensor z = linear(c.in(0), c.in(1), c.in(2));
  if (activation == "silu") return silu_backward(g, z);
  return gelu_backward(g, z, activation == "gelu" ? "none" : "tanh");
}

}  // namespace

// y = s·(a b) + bias, of which a, b and the scales are constants
TN_GRADIENT(scaled_matmul, {}) {
  if (c.needs(2) || c.needs(3))
    fail(TN_UNIMPLEMENTED, "[scaled_matmul] scales have no gradient: detach() them");
  if (c.needs(4)) c.set(4, c.grad());
}

// d(x·y) = dx·y + x·dy: g·yᴴ and xᴴ·g; a vector is a row on the left and a column on the right
TN_GRADIENT(matmul, {.if_needs = {in_(1), in_(0)}}) {
  const auto x = c.shape(0), y = c.shape(1);
  Tensor g = c.grad();
  if (x.size() == 1 && y.size() == 1) {
    if (c.needs(0)) c.set(0, g * conj_of(c.in(1)));
    if (c.needs(1)) c.set(1, g * conj_of(c.in(0)));
    return;
  }
  if (x.size() == 1) g = unsqueeze(g, -2);
  if (y.size() == 1) g = unsqueeze(g, -1);
  if (c.needs(0)) {
    const Tensor right = y.size() == 1 ? unsqueeze(c.in(1), -1) : c.in(1);
    const Tensor gx = matmul(g, adjoint(right));
    c.set(0, x.size() == 1 ? squeeze(gx, -2) : gx);
  }
  if (c.needs(1)) {
    const Tensor left = x.size() == 1 ? unsqueeze(c.in(0), 0) : c.in(0);
    // One matrix on the right for a batch on the left: one product instead of a batch and a sum.
    const Tensor gy = y.size() <= 2 && left.ndim() > 2 ? matmul(adjoint(rows(left)), rows(g))
                                                       : matmul(adjoint(left), g);
    c.set(1, y.size() == 1 ? squeeze(gy, -1) : gy);
  }
}

// z = x·wᵀ + b: g·w, gᵀ·x and g, after the activation's own gradient
TN_GRADIENT(linear, {.always = in_(0) | in_(1) | in_(2) | out_(0), .unread = linear_unread}) {
  const Tensor g = before_activation(c);
  if (c.needs(0)) c.set(0, matmul(g, conj_of(c.in(1))));
  if (c.needs(1)) {
    const Tensor x = c.in(0);
    const bool vector = x.ndim() == 1;
    const Tensor left = vector ? unsqueeze(g, 0) : rows(g),
                 right = vector ? unsqueeze(x, 0) : rows(x);
    c.set(1, matmul(transpose(left, 0, 1), conj_of(right)));
  }
  if (c.needs(2)) c.set(2, g.ndim() == 1 ? g : sum(rows(g), 0));
}
