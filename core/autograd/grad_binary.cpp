// Gradients of elementwise ops of two and more operands. x and y are the operands, g the gradient
// of the result.
#include "autograd/grad_tools.hpp"

namespace {

// The larger (or smaller) operand takes the gradient, equal ones share it.
void share_extremum(GradCall& c, bool larger) {
  const Value x(c, 0), y(c, 1);
  const Tensor g = c.grad(), shared = where(equal(x, y), g * 0.5, g);
  if (c.needs(0)) c.set(0, where(larger ? less(x, y) : greater(x, y), 0, shared));
  if (c.needs(1)) c.set(1, where(larger ? greater(x, y) : less(x, y), 0, shared));
}

// d(x^n) = n·x^(n−1)·dx for a number n
Tensor power_gradient(const Tensor& g, const Tensor& x, std::complex<double> n) {
  if (n == 1.0) return g;
  if (n == 2.0) return g * (conj_of(x) * 2);
  if (n.imag() == 0) return g * conj_of(pow(x, n.real() - 1) * n.real());
  const std::complex<double> lower = n - 1.0;
  return g * conj_of(mul(pow(x, lower), n));
}

}  // namespace

// d(x+y) = dx + dy
TN_GRADIENT(add, {}) {
  if (c.needs(0)) c.set(0, c.grad());
  if (c.needs(1)) c.set(1, c.grad());
}

// d(x−y) = dx − dy
TN_GRADIENT(sub, {}) {
  if (c.needs(0)) c.set(0, c.grad());
  if (c.needs(1)) c.set(1, -c.grad());
}

// d(x·y) = y·dx + x·dy
TN_GRADIENT(mul, {.if_needs = {in_(1), in_(0)}}) {
  if (c.needs(0)) c.set(0, mul(c.grad(), Value(c, 1).conjugate()));
  if (c.needs(1)) c.set(1, mul(c.grad(), Value(c, 0).conjugate()));
}

// d(x/y) = dx/y − (x/y)/y·dy
TN_GRADIENT(div, {.if_needs = {in_(1), in_(1) | out_(0)}}) {
  const Value y = Value(c, 1).conjugate();
  if (c.needs(0)) c.set(0, div(c.grad(), y));
  if (c.needs(1)) c.set(1, -c.grad() * div(conj_of(c.out()), y));
}

// x − ⌊x/y⌋·y: dx − ⌊x/y⌋·dy
TN_GRADIENT(remainder, {.if_needs = {0, in_(0) | in_(1)}}) {
  if (c.needs(0)) c.set(0, c.grad());
  if (c.needs(1)) c.set(1, -c.grad() * floor_divide(Value(c, 0), Value(c, 1)));
}

// d(x^y) = y·x^(y−1)·dx + x^y·ln x·dy; 0 to x where y = x = 0, and to y where x = 0 and Re y ≥ 0
TN_GRADIENT(pow, {.if_needs = {in_(0) | in_(1), in_(0) | in_(1) | out_(0)}}) {
  const Value x(c, 0), y(c, 1);
  const Tensor g = c.grad();
  if (c.needs(0) && y.is_number()) {
    if (y.complex() != 0.0) c.set(0, power_gradient(g, x.tensor(), y.complex()));
  } else if (c.needs(0)) {
    const Tensor lower = where(logical_and(equal(x, 0), equal(y, 0)), 0, y.tensor() - 1);
    c.set(0, g * conj_of(mul(y, pow(x, lower))));
  }
  if (!c.needs(1)) return;
  const Tensor z = c.out();
  const Tensor base = x.is_number() ? full_like(z.detach(), c.number(0)) : x.tensor();
  const Tensor flat = logical_and(equal(base, 0), greater_equal(real(y.tensor()), 0));
  c.set(1, g * conj_of(z * log(where(flat, 1, base))));
}

// the larger operand takes dx, equal ones half each
TN_GRADIENT(maximum, {.always = in_(0) | in_(1)}) { share_extremum(c, true); }

// the smaller operand takes dx, equal ones half each
TN_GRADIENT(minimum, {.always = in_(0) | in_(1)}) { share_extremum(c, false); }

// d(atan2(y, x)) = (x·dy − y·dx)/(x²+y²); 0 at 0
TN_GRADIENT(atan2, {.always = in_(0) | in_(1)}) {
  const Value y(c, 0), x(c, 1);
  const Tensor squared = x.is_number()   ? square(y.tensor()) + std::norm(x.complex())
                         : y.is_number() ? square(x.tensor()) + std::norm(y.complex())
                                         : square(x.tensor()) + square(y.tensor());
  const Tensor scaled = c.grad() / where(squared == 0, 1, squared);
  if (c.needs(0)) c.set(0, mul(scaled, x));
  if (c.needs(1)) c.set(1, -mul(scaled, y));
}

// d(√(x²+y²)) = (x·dx + y·dy)/z; 0 at 0
TN_GRADIENT(hypot, {.always = out_(0), .if_needs = {in_(0), in_(1)}}) {
  const Tensor z = c.out(), scaled = c.grad() / where(equal(z, 0), 1, z);
  if (c.needs(0)) c.set(0, scaled * c.in(0));
  if (c.needs(1)) c.set(1, scaled * c.in(1));
}

// |x| with y's sign: sign(x)·sign(z)·dx
TN_GRADIENT(copysign, {.if_needs = {in_(0) | out_(0)}}) {
  if (c.needs(0)) c.set(0, c.grad() * (sign(c.in(0)) * sign(c.out())));
}

// d(ln(eˣ+eʸ)) = σ(x−y)·dx + σ(y−x)·dy
TN_GRADIENT(logaddexp, {.always = in_(0) | in_(1)}) {
  const Value x(c, 0), y(c, 1);
  const Tensor apart = sub(x, y);
  if (c.needs(0)) c.set(0, c.grad() * sigmoid(apart));
  if (c.needs(1)) c.set(1, c.grad() * sigmoid(-apart));
}

// a + b·i: the parts of g
TN_GRADIENT(complex, {}) {
  if (c.needs(0)) c.set(0, real(c.grad()));
  if (c.needs(1)) c.set(1, imag(c.grad()));
}

// condition ? dx : dy
TN_GRADIENT(where, {.always = in_(0)}) {
  if (c.needs(1)) c.set(1, where(c.in(0), c.grad(), 0));
  if (c.needs(2)) c.set(2, where(c.in(0), 0, c.grad()));
}

// dx between the bounds, 0 outside and at them
TN_GRADIENT(clamp, {.always = in_(0)}) {
  const Tensor x = c.in(0);
  Tensor inside = c.has(1) ? x > c.number(1) : x < c.number(2);
  if (c.has(1) && c.has(2)) inside = logical_and(inside, x < c.number(2));
  c.set(0, where(inside, c.grad(), 0));
}
