// Gradients of activations; the fused backward ops have decompositions, through which second
// gradients go.
#include "autograd/grad_tools.hpp"

// g where y > 0
TN_GRADIENT(relu, {.always = out_(0)}) { c.set(0, relu_backward(c.grad(), c.out())); }

// d(σ(x)) = y·(1−y)·dx
TN_GRADIENT(sigmoid, {.always = out_(0)}) { c.set(0, sigmoid_backward(c.grad(), c.out())); }

// d(x·σ(x)) = σ·(1 + x·(1−σ))·dx
TN_GRADIENT(silu, {.always = in_(0)}) { c.set(0, silu_backward(c.grad(), c.in(0))); }

// d(x·Φ(x)) = (Φ(x) + x·φ(x))·dx, Hendrycks and Gimpel 2016
TN_GRADIENT(gelu, {.always = in_(0)}) { c.set(0, gelu_backward(c.grad(), c.in(0), c.str(1))); }

// x > 0: dx, otherwise α·eˣ·dx; the exponent is cut at 0, so that the side not taken stays finite
TN_GRADIENT(elu, {.always = in_(0)}) {
  const Tensor x = c.in(0), g = c.grad();
  c.set(0, where(greater(x, 0), g, g * (exp(minimum(x, 0)) * c.real(1))));
}

// x > 0: dx, otherwise slope·dx
TN_GRADIENT(leaky_relu, {.always = in_(0)}) {
  const Tensor g = c.grad();
  c.set(0, where(greater(c.in(0), 0), g, g * c.real(1)));
}

// d(ln(1+e^(βx))/β) = σ(βx)·dx; dx beyond the threshold
TN_GRADIENT(softplus, {.always = in_(0)}) {
  const Tensor g = c.grad(), scaled = c.in(0) * c.real(1);
  c.set(0, where(greater(scaled, c.real(2)), g, g * sigmoid(scaled)));
}
