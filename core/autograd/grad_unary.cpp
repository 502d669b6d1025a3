// Gradients of elementwise ops of one operand. x is the operand, y the result, g the gradient of y.
#include <numbers>

#include "autograd/grad_tools.hpp"
#include "tensor/tensor.hpp"

namespace {

uint32_t result_unless_complex(const tn_value* args) {
  return is_complex(args[0].as.tensor->dtype()) ? 0 : out_(0);
}
uint32_t all_unless_complex(const tn_value* args) {
  return is_complex(args[0].as.tensor->dtype()) ? 0 : in_(0) | out_(0);
}

}  // namespace

// d(−x) = −dx
TN_GRADIENT(neg, {}) { c.set(0, -c.grad()); }

// d|x| = sign(x)·dx; complex: g·x/|x|, 0 at 0
TN_GRADIENT(abs, {.always = in_(0) | out_(0), .unread = result_unless_complex}) {
  const Tensor x = c.in(0);
  if (!is_complex(x.dtype())) return c.set(0, c.grad() * sign(x));
  const Tensor y = c.out();
  c.set(0, c.grad() * (x / where(equal(y, 0), 1, y)));
}

// sign is constant; complex, y = x/|x|: (g − y·Re(ȳ·g))/|x|, 0 at 0
TN_GRADIENT(sign, {.always = in_(0) | out_(0), .unread = all_unless_complex}) {
  if (!is_complex(static_cast<DType>(c.dtype(0)))) return;
  const Tensor y = c.out(), g = c.grad(), size = abs(c.in(0));
  const Tensor zero = equal(size, 0);
  c.set(0, where(zero, 0, (g - y * real(conj(y) * g)) / where(zero, 1, size)));
}

// d(x²) = 2x·dx
TN_GRADIENT(square, {.always = in_(0)}) { c.set(0, c.grad() * (conj_of(c.in(0)) * 2)); }

// d(1/x) = −y²·dx
TN_GRADIENT(reciprocal, {.always = out_(0)}) { c.set(0, -c.grad() * square(conj_of(c.out()))); }

// d(eˣ) = y·dx
TN_GRADIENT(exp, {.always = out_(0)}) { c.set(0, c.grad() * conj_of(c.out())); }

// d(2ˣ) = y·ln 2·dx
TN_GRADIENT(exp2, {.always = out_(0)}) {
  c.set(0, c.grad() * (conj_of(c.out()) * std::numbers::ln2));
}

// d(eˣ−1) = (y+1)·dx
TN_GRADIENT(expm1, {.always = out_(0)}) { c.set(0, c.grad() * (conj_of(c.out()) + 1)); }

// d(ln x) = dx/x
TN_GRADIENT(log, {.always = in_(0)}) { c.set(0, c.grad() / conj_of(c.in(0))); }

// d(log₂ x) = dx/(x·ln 2)
TN_GRADIENT(log2, {.always = in_(0)}) {
  c.set(0, c.grad() / (conj_of(c.in(0)) * std::numbers::ln2));
}

// d(log₁₀ x) = dx/(x·ln 10)
TN_GRADIENT(log10, {.always = in_(0)}) {
  c.set(0, c.grad() / (conj_of(c.in(0)) * std::numbers::ln10));
}

// d(ln(1+x)) = dx/(1+x)
TN_GRADIENT(log1p, {.always = in_(0)}) { c.set(0, c.grad() / (conj_of(c.in(0)) + 1)); }

// d(√x) = dx/(2y)
TN_GRADIENT(sqrt, {.always = out_(0)}) { c.set(0, c.grad() / (conj_of(c.out()) * 2)); }

// d(x^−½) = −½·y³·dx
TN_GRADIENT(rsqrt, {.always = out_(0)}) {
  const Tensor y = conj_of(c.out());
  c.set(0, c.grad() * (square(y) * y * -0.5));
}

// d(sin x) = cos x·dx
TN_GRADIENT(sin, {.always = in_(0)}) { c.set(0, c.grad() * cos(conj_of(c.in(0)))); }

// d(cos x) = −sin x·dx
TN_GRADIENT(cos, {.always = in_(0)}) { c.set(0, -c.grad() * sin(conj_of(c.in(0)))); }

// d(tan x) = (1+y²)·dx
TN_GRADIENT(tan, {.always = out_(0)}) { c.set(0, c.grad() * (square(conj_of(c.out())) + 1)); }

// d(asin x) = dx/√(1−x²)
TN_GRADIENT(asin, {.always = in_(0)}) { c.set(0, c.grad() * conj_of(rsqrt(1 - square(c.in(0))))); }

// d(acos x) = −dx/√(1−x²)
TN_GRADIENT(acos, {.always = in_(0)}) { c.set(0, -c.grad() * conj_of(rsqrt(1 - square(c.in(0))))); }

// d(atan x) = dx/(1+x²)
TN_GRADIENT(atan, {.always = in_(0)}) { c.set(0, c.grad() / (square(conj_of(c.in(0))) + 1)); }

// d(sinh x) = cosh x·dx
TN_GRADIENT(sinh, {.always = in_(0)}) { c.set(0, c.grad() * cosh(conj_of(c.in(0)))); }

// d(cosh x) = sinh x·dx
TN_GRADIENT(cosh, {.always = in_(0)}) { c.set(0, c.grad() * sinh(conj_of(c.in(0)))); }

// d(tanh x) = (1−y²)·dx
TN_GRADIENT(tanh, {.always = out_(0)}) {
  const Tensor y = c.out();
  c.set(0, is_complex(y.dtype()) ? c.grad() * (1 - square(conj(y))) : tanh_backward(c.grad(), y));
}

// d(asinh x) = dx/√(x²+1)
TN_GRADIENT(asinh, {.always = in_(0)}) { c.set(0, c.grad() * conj_of(rsqrt(square(c.in(0)) + 1))); }

// d(acosh x) = dx/(√(x−1)·√(x+1))
TN_GRADIENT(acosh, {.always = in_(0)}) {
  const Tensor x = c.in(0);
  c.set(0, c.grad() * conj_of(rsqrt(x - 1) * rsqrt(x + 1)));
}

// d(atanh x) = dx/(1−x²)
TN_GRADIENT(atanh, {.always = in_(0)}) { c.set(0, c.grad() / (1 - square(conj_of(c.in(0))))); }

// d(erf x) = 2/√π·e^(−x²)·dx
TN_GRADIENT(erf, {.always = in_(0)}) {
  c.set(0, c.grad() * (exp(-square(c.in(0))) * (2 * std::numbers::inv_sqrtpi)));
}

// d(erfc x) = −2/√π·e^(−x²)·dx
TN_GRADIENT(erfc, {.always = in_(0)}) {
  c.set(0, c.grad() * (exp(-square(c.in(0))) * (-2 * std::numbers::inv_sqrtpi)));
}

// d(conj z) arrives conjugated
TN_GRADIENT(conj, {}) { c.set(0, conj_of(c.grad())); }

// Re z: g is the real part of the gradient of z
TN_GRADIENT(real, {}) { c.set(0, c.grad()); }

// Im z: g is the imaginary part of the gradient of z; a real x has none
TN_GRADIENT(imag, {}) {
  if (is_complex(static_cast<DType>(c.dtype(0)))) c.set(0, complex(0.0, c.grad()));
}
