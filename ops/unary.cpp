// Elementwise, one operand.
// In formulas x is the operand, y the result, g the gradient of y.
#include <numbers>

#include "ops/gradients.hpp"
#include "ops/number.hpp"
#include "ops/record.hpp"

TN_OP(neg) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "-x.",
    .example = "tenon.neg(t([1., -2.]))",
    .linear = "x",
    .in_place = true,
    .rule = &rule::neg,
    .gradient = &gradient::neg,
};

TN_RULE(neg, neg,
        {.dtypes = "any but bool; the result has x's",
         .shapes = "x's",
         .elementwise = true,
         .unchanged = TN_MASK_FLOAT}) {
  const tn_dtype dtype = operand(frame, arg::x).dtype();
  frame.require(dtype != TN_DTYPE_BOOL, "not defined for bool; use logical_not");
  elementwise(frame, dtype);
}

// d(−x) = −dx
TN_GRADIENT(neg, {}) { c.set(arg::x, -c.grad()); }

TN_OP(abs) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "The magnitude of each element; for a complex element its modulus.",
    .example = "tenon.abs(t([1., -2.]))",
    .in_place = true,
    .rule = &rule::unary_abs,
    .gradient = &gradient::abs,
};

TN_RULE(unary_abs, abs,
        {.dtypes = "any; complex numbers give real ones", .shapes = "x's", .elementwise = true}) {
  elementwise(frame, real_part(operand(frame, arg::x).dtype()));
}

static uint32_t result_unless_complex(const tn_value* args) {
  return is_complex(args[arg::abs::x].as.tensor->dtype()) ? 0 : out_(0);
}

// d|x| = sign(x)·dx; complex: g·x/|x|, 0 at 0
TN_GRADIENT(abs, {.always = in_(arg::x) | out_(0), .unread = result_unless_complex}) {
  const Tensor x = c.in(arg::x);
  if (!is_complex(x.dtype())) return c.set(arg::x, c.grad() * sign(x));
  const Tensor y = c.out();
  c.set(arg::x, c.grad() * (x / where(equal(y, 0), 1, y)));
}

TN_OP(sign) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "-1, 0 or 1; for a complex number x/|x|.",
    .example = "tenon.sign(t([3., 0., -2.]))",
    .in_place = true,
    .rule = &rule::unary_arith,
    .gradient = &gradient::sign,
};

TN_RULE(unary_arith, sign,
        {.dtypes = "any; the result has x's",
         .shapes = "x's",
         .elementwise = true,
         .unchanged = TN_MASK_FLOAT}) {
  elementwise(frame, operand(frame, arg::x).dtype());
}

static uint32_t all_unless_complex(const tn_value* args) {
  using arg = tenon::arg::sign;
  return is_complex(args[arg::x].as.tensor->dtype()) ? 0 : in_(arg::x) | out_(0);
}

// sign is constant; complex, y = x/|x|: (g − y·Re(ȳ·g))/|x|, 0 at 0
TN_GRADIENT(sign, {.always = in_(arg::x) | out_(0), .unread = all_unless_complex}) {
  if (!is_complex(static_cast<DType>(c.dtype(arg::x))))
    return c.set(arg::x, full_like(c.grad(), 0));
  const Tensor y = c.out(), g = c.grad(), size = abs(c.in(arg::x));
  const Tensor zero = equal(size, 0);
  c.set(arg::x, where(zero, 0, (g - y * real(conj(y) * g)) / where(zero, 1, size)));
}

TN_OP(square) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "x².",
    .example = "tenon.square(t([1., 2., 3.]))",
    .in_place = true,
    .rule = &rule::unary_arith,
    .gradient = &gradient::square,
    .decompose = &decomposition::square,
};

// d(x²) = 2x·dx
TN_GRADIENT(square, {.always = in_(arg::x)}) {
  c.set(arg::x, c.grad() * (conj_of(c.in(arg::x)) * 2));
}

TN_DECOMPOSE(square) {
  const Tensor x = in.tensor(arg::x);
  out[0] = x * x;
}

TN_OP(floor) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "The largest integer not above each element.",
    .example = "tenon.floor(t([1.5, -1.5]))",
    .in_place = true,
    .rule = &rule::unary_round,
    .gradient = &gradient::zero,
};

TN_RULE(unary_round, floor,
        {.dtypes = "real and bool; the result has x's",
         .shapes = "x's",
         .elementwise = true,
         .unchanged = TN_MASK_FLOAT}) {
  elementwise(frame, operand(frame, arg::x, TN_MASK_REAL | TN_MASK_BOOL, "a real dtype").dtype());
}

// piecewise constant: dx is 0; ops of other families share it
TN_GRADIENT_OF(zero, floor, {}) { c.set(arg::x, full_like(c.grad(), 0)); }

TN_OP(ceil) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "The smallest integer not below each element.",
    .example = "tenon.ceil(t([1.5, -1.5]))",
    .in_place = true,
    .rule = &rule::unary_round,
    .gradient = &gradient::zero,
};

TN_OP(round) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "The nearest integer; halves are rounded to the even one.",
    .example = "tenon.round(t([0.5, 1.5, 2.6]))",
    .in_place = true,
    .rule = &rule::unary_round,
    .gradient = &gradient::zero,
};

TN_OP(trunc) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "Rounded towards zero.",
    .example = "tenon.trunc(t([1.5, -1.5]))",
    .in_place = true,
    .rule = &rule::unary_round,
    .gradient = &gradient::zero,
};

TN_OP(frac) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "x - trunc(x).",
    .example = "tenon.frac(t([1.5, -1.25]))",
    .in_place = true,
    .rule = &rule::unary_real,
    .gradient = &gradient::identity,
    .decompose = &decomposition::frac,
};

TN_DECOMPOSE(frac) {
  const Tensor x = fraction(in.tensor(arg::x));
  out[0] = x - trunc(x);
}

TN_OP(reciprocal) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "1/x.",
    .example = "tenon.reciprocal(t([2., 4.]))",
    .autocast = "f32 on GPUs",
    .in_place = true,
    .rule = &rule::unary_float,
    .gradient = &gradient::reciprocal,
    .decompose = &decomposition::reciprocal,
};

TN_RULE(unary_float, reciprocal,
        {.dtypes = "any; integers and bool give f32",
         .shapes = "x's",
         .elementwise = true,
         .unchanged = TN_MASK_FLOAT}) {
  unary(frame, arg::x, fractional(operand(frame, arg::x).dtype()));
}

// d(1/x) = −y²·dx
TN_GRADIENT(reciprocal, {.always = out_(0)}) {
  c.set(arg::x, -c.grad() * square(conj_of(c.out())));
}

TN_DECOMPOSE(reciprocal) { out[0] = 1 / in.tensor(arg::x); }

TN_OP(exp) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "e to the power of x.",
    .example = "tenon.exp(t([0., 1.]))",
    .autocast = "f32 on GPUs",
    .in_place = true,
    .rule = &rule::unary_float,
    .gradient = &gradient::exp,
};

// d(eˣ) = y·dx
TN_GRADIENT(exp, {.always = out_(0)}) { c.set(arg::x, c.grad() * conj_of(c.out())); }

TN_OP(exp2) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "2 to the power of x.",
    .example = "tenon.exp2(t([0., 3.]))",
    .in_place = true,
    .rule = &rule::unary_float,
    .gradient = &gradient::exp2,
};

// d(2ˣ) = y·ln 2·dx
TN_GRADIENT(exp2, {.always = out_(0)}) {
  c.set(arg::x, c.grad() * (conj_of(c.out()) * std::numbers::ln2));
}

TN_OP(expm1) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "exp(x) - 1, exact near 0.",
    .example = "tenon.expm1(t([0., 1.]))",
    .autocast = "f32 on GPUs",
    .in_place = true,
    .rule = &rule::unary_float,
    .gradient = &gradient::expm1,
};

// d(eˣ−1) = (y+1)·dx
TN_GRADIENT(expm1, {.always = out_(0)}) { c.set(arg::x, c.grad() * (conj_of(c.out()) + 1)); }

TN_OP(log) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "Natural logarithm.",
    .example = "tenon.log(t([1., 10.]))",
    .autocast = "f32 on GPUs",
    .in_place = true,
    .rule = &rule::unary_float,
    .gradient = &gradient::log,
};

// d(ln x) = dx/x
TN_GRADIENT(log, {.always = in_(arg::x)}) { c.set(arg::x, c.grad() / conj_of(c.in(arg::x))); }

TN_OP(log2) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "Logarithm to the base 2.",
    .example = "tenon.log2(t([1., 8.]))",
    .autocast = "f32 on GPUs",
    .in_place = true,
    .rule = &rule::unary_float,
    .gradient = &gradient::log2,
};

// d(log₂ x) = dx/(x·ln 2)
TN_GRADIENT(log2, {.always = in_(arg::x)}) {
  c.set(arg::x, c.grad() / (conj_of(c.in(arg::x)) * std::numbers::ln2));
}

TN_OP(log10) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "Logarithm to the base 10.",
    .example = "tenon.log10(t([1., 100.]))",
    .autocast = "f32 on GPUs",
    .in_place = true,
    .rule = &rule::unary_float,
    .gradient = &gradient::log10,
};

// d(log₁₀ x) = dx/(x·ln 10)
TN_GRADIENT(log10, {.always = in_(arg::x)}) {
  c.set(arg::x, c.grad() / (conj_of(c.in(arg::x)) * std::numbers::ln10));
}

TN_OP(log1p) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "log(1 + x), exact near 0.",
    .example = "tenon.log1p(t([0., 1.]))",
    .autocast = "f32 on GPUs",
    .in_place = true,
    .rule = &rule::unary_float,
    .gradient = &gradient::log1p,
};

// d(ln(1+x)) = dx/(1+x)
TN_GRADIENT(log1p, {.always = in_(arg::x)}) {
  c.set(arg::x, c.grad() / (conj_of(c.in(arg::x)) + 1));
}

TN_OP(sqrt) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "Square root.",
    .example = "tenon.sqrt(t([4., 9.]))",
    .in_place = true,
    .rule = &rule::unary_float,
    .gradient = &gradient::sqrt,
};

// d(√x) = dx/(2y)
TN_GRADIENT(sqrt, {.always = out_(0)}) { c.set(arg::x, c.grad() / (conj_of(c.out()) * 2)); }

TN_OP(rsqrt) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "1/sqrt(x).",
    .example = "tenon.rsqrt(t([4., 16.]))",
    .autocast = "f32 on GPUs",
    .in_place = true,
    .rule = &rule::unary_float,
    .gradient = &gradient::rsqrt,
    .decompose = &decomposition::rsqrt,
};

// d(x^−½) = −½·y³·dx
TN_GRADIENT(rsqrt, {.always = out_(0)}) {
  const Tensor y = conj_of(c.out());
  c.set(arg::x, c.grad() * (square(y) * y * -0.5));
}

TN_DECOMPOSE(rsqrt) { out[0] = 1 / sqrt(in.tensor(arg::x)); }

TN_OP(sin) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "Sine.",
    .example = "tenon.sin(t([0., 1.]))",
    .in_place = true,
    .rule = &rule::unary_float,
    .gradient = &gradient::sin,
};

// d(sin x) = cos x·dx
TN_GRADIENT(sin, {.always = in_(arg::x)}) { c.set(arg::x, c.grad() * cos(conj_of(c.in(arg::x)))); }

TN_OP(cos) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "Cosine.",
    .example = "tenon.cos(t([0., 1.]))",
    .in_place = true,
    .rule = &rule::unary_float,
    .gradient = &gradient::cos,
};

// d(cos x) = −sin x·dx
TN_GRADIENT(cos, {.always = in_(arg::x)}) { c.set(arg::x, -c.grad() * sin(conj_of(c.in(arg::x)))); }

TN_OP(tan) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "Tangent.",
    .example = "tenon.tan(t([0., 1.]))",
    .autocast = "f32 on GPUs",
    .in_place = true,
    .rule = &rule::unary_float,
    .gradient = &gradient::tan,
};

// d(tan x) = (1+y²)·dx
TN_GRADIENT(tan, {.always = out_(0)}) { c.set(arg::x, c.grad() * (square(conj_of(c.out())) + 1)); }

TN_OP(asin) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "Inverse sine.",
    .example = "tenon.asin(t([0., 1.]))",
    .autocast = "f32 on GPUs",
    .in_place = true,
    .rule = &rule::unary_float,
    .gradient = &gradient::asin,
};

// d(asin x) = dx/√(1−x²)
TN_GRADIENT(asin, {.always = in_(arg::x)}) {
  c.set(arg::x, c.grad() * conj_of(rsqrt(1 - square(c.in(arg::x)))));
}

TN_OP(acos) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "Inverse cosine.",
    .example = "tenon.acos(t([1., 0.]))",
    .autocast = "f32 on GPUs",
    .in_place = true,
    .rule = &rule::unary_float,
    .gradient = &gradient::acos,
};

// d(acos x) = −dx/√(1−x²)
TN_GRADIENT(acos, {.always = in_(arg::x)}) {
  c.set(arg::x, -c.grad() * conj_of(rsqrt(1 - square(c.in(arg::x)))));
}

TN_OP(atan) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "Inverse tangent.",
    .example = "tenon.atan(t([0., 1.]))",
    .in_place = true,
    .rule = &rule::unary_float,
    .gradient = &gradient::atan,
};

// d(atan x) = dx/(1+x²)
TN_GRADIENT(atan, {.always = in_(arg::x)}) {
  c.set(arg::x, c.grad() / (square(conj_of(c.in(arg::x))) + 1));
}

TN_OP(sinh) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "Hyperbolic sine.",
    .example = "tenon.sinh(t([0., 1.]))",
    .autocast = "f32 on GPUs",
    .in_place = true,
    .rule = &rule::unary_float,
    .gradient = &gradient::sinh,
};

// d(sinh x) = cosh x·dx
TN_GRADIENT(sinh, {.always = in_(arg::x)}) {
  c.set(arg::x, c.grad() * cosh(conj_of(c.in(arg::x))));
}

TN_OP(cosh) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "Hyperbolic cosine.",
    .example = "tenon.cosh(t([0., 1.]))",
    .autocast = "f32 on GPUs",
    .in_place = true,
    .rule = &rule::unary_float,
    .gradient = &gradient::cosh,
};

// d(cosh x) = sinh x·dx
TN_GRADIENT(cosh, {.always = in_(arg::x)}) {
  c.set(arg::x, c.grad() * sinh(conj_of(c.in(arg::x))));
}

TN_OP(tanh) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "Hyperbolic tangent.",
    .example = "tenon.tanh(t([0., 1.]))",
    .in_place = true,
    .rule = &rule::unary_float,
    .gradient = &gradient::tanh,
};

// d(tanh x) = (1−y²)·dx
TN_GRADIENT(tanh, {.always = out_(0)}) {
  const Tensor y = c.out();
  c.set(arg::x,
        is_complex(y.dtype()) ? c.grad() * (1 - square(conj(y))) : tanh_backward(c.grad(), y));
}

TN_OP(asinh) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "Inverse hyperbolic sine.",
    .example = "tenon.asinh(t([0., 1.]))",
    .in_place = true,
    .rule = &rule::unary_float,
    .gradient = &gradient::asinh,
};

// d(asinh x) = dx/√(x²+1)
TN_GRADIENT(asinh, {.always = in_(arg::x)}) {
  c.set(arg::x, c.grad() * conj_of(rsqrt(square(c.in(arg::x)) + 1)));
}

TN_OP(acosh) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "Inverse hyperbolic cosine.",
    .example = "tenon.acosh(t([1., 2.]))",
    .in_place = true,
    .rule = &rule::unary_float,
    .gradient = &gradient::acosh,
};

// d(acosh x) = dx/(√(x−1)·√(x+1))
TN_GRADIENT(acosh, {.always = in_(arg::x)}) {
  const Tensor x = c.in(arg::x);
  c.set(arg::x, c.grad() * conj_of(rsqrt(x - 1) * rsqrt(x + 1)));
}

TN_OP(atanh) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "Inverse hyperbolic tangent.",
    .example = "tenon.atanh(t([0., 0.5]))",
    .in_place = true,
    .rule = &rule::unary_float,
    .gradient = &gradient::atanh,
};

// d(atanh x) = dx/(1−x²)
TN_GRADIENT(atanh, {.always = in_(arg::x)}) {
  c.set(arg::x, c.grad() / (1 - square(conj_of(c.in(arg::x)))));
}

TN_OP(erf) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "Error function.",
    .example = "tenon.erf(t([0., 1.]))",
    .in_place = true,
    .rule = &rule::unary_real,
    .gradient = &gradient::erf,
};

TN_RULE(unary_real, erf,
        {.dtypes = "real and bool; integers and bool give f32",
         .shapes = "x's",
         .elementwise = true,
         .unchanged = TN_MASK_FLOAT}) {
  elementwise(frame, fractional(float_operand(frame, arg::x).dtype()));
}

// d(erf x) = 2/√π·e^(−x²)·dx
TN_GRADIENT(erf, {.always = in_(arg::x)}) {
  c.set(arg::x, c.grad() * (exp(-square(c.in(arg::x))) * (2 * std::numbers::inv_sqrtpi)));
}

TN_OP(erfc) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "1 - erf(x), exact for large x.",
    .example = "tenon.erfc(t([0., 1.]))",
    .in_place = true,
    .rule = &rule::unary_real,
    .gradient = &gradient::erfc,
};

// d(erfc x) = −2/√π·e^(−x²)·dx
TN_GRADIENT(erfc, {.always = in_(arg::x)}) {
  c.set(arg::x, c.grad() * (exp(-square(c.in(arg::x))) * (-2 * std::numbers::inv_sqrtpi)));
}

TN_OP(erfinv) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "Inverse of the error function: ±inf at ±1, nan beyond.",
    .example = "tenon.erfinv(t([0., 0.5, 1.]))",
    .autocast = "f32 on GPUs",
    .in_place = true,
    .rule = &rule::unary_real,
    .gradient = &gradient::erfinv,
};

// d(erf⁻¹ x) = √π/2·e^(y²)·dx
TN_GRADIENT(erfinv, {.always = out_(0)}) {
  c.set(arg::x, c.grad() * (exp(square(c.out())) * (1 / std::numbers::inv_sqrtpi / 2)));
}

TN_OP(lgamma) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "Logarithm of the magnitude of the gamma function: inf at 0 and negative integers.",
    .example = "tenon.lgamma(t([0.5, 1., 5.]))",
    .in_place = true,
    .rule = &rule::unary_real,
    .gradient = &gradient::lgamma,
};

// d(ln|Γ(x)|) = ψ(x)·dx
TN_GRADIENT(lgamma, {.always = in_(arg::x)}) { c.set(arg::x, c.grad() * digamma(c.in(arg::x))); }

TN_OP(digamma) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "Derivative of lgamma: -inf at 0, inf at -0.0, nan at negative integers.",
    .example = "tenon.digamma(t([0.5, 1., 5.]))",
    .in_place = true,
    .rule = &rule::unary_real,
    .gradient = &gradient::digamma,
};

// ψ₁(x): for x < 1/2 π²/sin²(πx) − ψ₁(1−x), otherwise ten steps of ψ₁(z) = ψ₁(z+1) + 1/z² and the asymptotic series. M. Abramowitz,
// I. Stegun, 1964, 6.4.7, 6.4.6, 6.4.12.
static Tensor trigamma(const Tensor& narrow) {
  const Tensor x = wide(narrow), below = x < 0.5, z = where(below, 1 - x, x);
  const Tensor r = reciprocal(z + 10), s = square(r);
  Tensor p = s * (7.0 / 6);
  for (const double b : {-691.0 / 2730, 5.0 / 66, -1.0 / 30, 1.0 / 42, -1.0 / 30}) p = (p + b) * s;
  Tensor y = r + s * 0.5 + r * s * (p + 1.0 / 6);
  for (int i = 0; i < 10; ++i) y = y + reciprocal(square(z + i));
  // For the other branch the sine is 1, because an infinite slope would become a NaN.
  const Tensor sine = sin(where(below, x - round(x), 0.5) * std::numbers::pi);
  return where(below, reciprocal(square(sine)) * (std::numbers::pi * std::numbers::pi) - y, y)
      .to(narrow.dtype());
}

// dψ(x) = ψ₁(x)·dx
TN_GRADIENT(digamma, {.always = in_(arg::x)}) { c.set(arg::x, c.grad() * trigamma(c.in(arg::x))); }

TN_OP(conj) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "Complex conjugate; a real tensor is returned unchanged.",
    .example = "tenon.conj(t([1 + 2j]))",
    .linear = "x",
    .in_place = true,
    .rule = &rule::unary_arith,
    .gradient = &gradient::conj,
};

// d(conj z) arrives conjugated
TN_GRADIENT(conj, {}) { c.set(arg::x, conj_of(c.grad())); }

TN_OP(real) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "Real part.",
    .example = "tenon.real(t([1 + 2j]))",
    .linear = "x",
    .rule = &rule::unary_abs,
    .gradient = &gradient::real,
};

// Re z: g is the real part of the gradient of z
TN_GRADIENT(real, {}) { c.set(arg::x, c.grad()); }

TN_OP(imag) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "Imaginary part.",
    .example = "tenon.imag(t([1 + 2j]))",
    .linear = "x",
    .rule = &rule::unary_abs,
    .gradient = &gradient::imag,
};

// Im z: g is the imaginary part of the gradient of z; a real x has none
TN_GRADIENT(imag, {}) {
  if (is_complex(static_cast<DType>(c.dtype(arg::x)))) c.set(arg::x, complex(0.0, c.grad()));
}

TN_OP(isnan) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "Whether each element is NaN.",
    .example = "tenon.isnan(t([1., float('nan')]))",
    .rule = &rule::unary_test,
};

TN_RULE(unary_test, isnan, {.dtypes = "any; bool", .shapes = "x's", .elementwise = true}) {
  operand(frame, arg::x);
  elementwise(frame, TN_DTYPE_BOOL);
}

TN_OP(isinf) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "Whether each element is an infinity.",
    .example = "tenon.isinf(t([1., float('inf')]))",
    .rule = &rule::unary_test,
};

TN_OP(isfinite) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "Whether each element is neither NaN nor an infinity.",
    .example = "tenon.isfinite(t([1., float('inf')]))",
    .rule = &rule::unary_test,
};

TN_OP(signbit) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "Whether the sign bit is set, as it is in -0.0.",
    .example = "tenon.signbit(t([1., -0.0]))",
    .rule = &rule::signbit,
};

TN_RULE(signbit, signbit, {.dtypes = "real and bool; bool", .shapes = "x's", .elementwise = true}) {
  operand(frame, arg::x, TN_MASK_REAL | TN_MASK_BOOL, "a real dtype");
  elementwise(frame, TN_DTYPE_BOOL);
}

TN_OP(logical_not) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "Whether each element is zero.",
    .example = "tenon.logical_not(t([0, 2]))",
    .rule = &rule::unary_test,
};

TN_OP(bitwise_not) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "Each bit inverted.",
    .example = "tenon.bitwise_not(t([0, 5]))",
    .rule = &rule::bitwise_not,
};

TN_RULE(bitwise_not, bitwise_not,
        {.dtypes = "integers and bool; the result has x's", .shapes = "x's", .elementwise = true}) {
  elementwise(
      frame,
      operand(frame, arg::x, TN_MASK_INT | TN_MASK_BOOL, "an integer dtype or bool").dtype());
}
