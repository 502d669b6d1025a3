// Elementwise ops of one operand.
#include "unary.hpp"

namespace tenon::conformance {
namespace {

double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : std::isnan(x) ? x : 0; }
// By bisection, because erf is increasing.
double erfinv(double x) {
  if (!(std::abs(x) < 1)) return std::abs(x) == 1 ? std::copysign(INFINITY, x) : NAN;
  double low = -6, high = 6;
  for (int step = 0; step < 200; ++step) {
    const double middle = (low + high) / 2;
    (std::erf(middle) < x ? low : high) = middle;
  }
  return x == 0 ? x : (low + high) / 2;
}
double log_gamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}
// By ψ(x) = ψ(x + 1) − 1/x alone, up to where four terms of the asymptotic series are exact.
double digamma(double x) {
  if (x == 0) return std::copysign(INFINITY, -x);
  if (x < 0 && x == std::floor(x)) return NAN;
  long double z = x, y = 0;
  for (; z < 40; ++z) y -= 1 / z;
  const long double s = 1 / (z * z);
  y += std::log(z) - 1 / (2 * z) - s * (1 / 12.0L - s * (1 / 120.0L - s * (1 / 252.0L - s / 240)));
  return static_cast<double>(y);
}
double to_bool(bool x) { return x ? 1 : 0; }
DType boolean(DType) { return DType::Bool; }

void add_arithmetic(Table& t) {
  real(t, "neg", [](double x) { return -x; }, {.dtypes = kFloats | kSigned});
  real(t, "abs", [](double x) { return std::abs(x); }, {.dtypes = kReals});
  real(t, "sign", sign, {.dtypes = kReals});
  real(t, "square", [](double x) { return x * x; }, {.dtypes = kReals});
  real(t, "floor", [](double x) { return std::floor(x); },
       {.low = -9, .high = 9, .dtypes = kReals, .gradient = false});
  real(t, "ceil", [](double x) { return std::ceil(x); },
       {.low = -9, .high = 9, .dtypes = kReals, .gradient = false});
  real(t, "round", [](double x) { return std::nearbyint(x); },
       {.low = -9, .high = 9, .dtypes = kReals, .gradient = false});
  real(t, "trunc", [](double x) { return std::trunc(x); },
       {.low = -9, .high = 9, .dtypes = kReals, .gradient = false});
  real(t, "frac", [](double x) { return x - std::trunc(x); },
       {.low = 0.1, .high = 0.9, .dtypes = kFloats});
  special(t, "frac", [](double x) { return x - std::trunc(x); });
  special(t, "abs", [](double x) { return std::abs(x); });
  special(t, "sign", sign);
  special(t, "floor", [](double x) { return std::floor(x); });
}

void add_functions(Table& t) {
  real(t, "reciprocal", [](double x) { return 1 / x; }, {.low = 0.3, .high = 4});
  real(t, "exp", [](double x) { return std::exp(x); }, {.low = -5, .high = 5, .fraction = true});
  real(t, "exp2", [](double x) { return std::exp2(x); }, {.low = -5, .high = 5, .fraction = true});
  real(t, "expm1", [](double x) { return std::expm1(x); }, {.fraction = true});
  real(t, "log", [](double x) { return std::log(x); }, {.low = 0.2, .high = 9});
  real(t, "log2", [](double x) { return std::log2(x); }, {.low = 0.2, .high = 9});
  real(t, "log10", [](double x) { return std::log10(x); }, {.low = 0.2, .high = 9});
  real(t, "log1p", [](double x) { return std::log1p(x); },
       {.low = -0.7, .high = 9, .fraction = true});
  real(t, "sqrt", [](double x) { return std::sqrt(x); }, {.low = 0.2, .high = 9, .fraction = true});
  real(t, "rsqrt", [](double x) { return 1 / std::sqrt(x); }, {.low = 0.2, .high = 9});
  real(t, "sin", [](double x) { return std::sin(x); }, {.low = -9, .high = 9, .fraction = true});
  real(t, "cos", [](double x) { return std::cos(x); }, {.low = -9, .high = 9, .fraction = true});
  real(t, "tan", [](double x) { return std::tan(x); }, {.low = -1.2, .high = 1.2, .tolerance = 2});
  real(t, "asin", [](double x) { return std::asin(x); }, {.low = -0.9, .high = 0.9});
  real(t, "acos", [](double x) { return std::acos(x); }, {.low = -0.9, .high = 0.9});
  real(t, "atan", [](double x) { return std::atan(x); }, {.low = -5, .high = 5, .fraction = true});
  real(t, "sinh", [](double x) { return std::sinh(x); }, {.fraction = true});
  real(t, "cosh", [](double x) { return std::cosh(x); }, {.fraction = true});
  real(t, "tanh", [](double x) { return std::tanh(x); }, {.low = -4, .high = 4, .fraction = true});
  real(t, "asinh", [](double x) { return std::asinh(x); },
       {.low = -5, .high = 5, .fraction = true});
  real(t, "acosh", [](double x) { return std::acosh(x); }, {.low = 1.3, .high = 7});
  real(t, "atanh", [](double x) { return std::atanh(x); }, {.low = -0.9, .high = 0.9});
  real(t, "erf", [](double x) { return std::erf(x); }, {.fraction = true});
  real(t, "erfc", [](double x) { return std::erfc(x); }, {.fraction = true});
  real(t, "erfinv", erfinv, {.low = -0.95, .high = 0.95});
  special(t, "erfinv", erfinv);
  special(t, "exp", [](double x) { return std::exp(x); });
  special(t, "log", [](double x) { return std::log(x); });
  special(t, "sqrt", [](double x) { return std::sqrt(x); });
  special(t, "tanh", [](double x) { return std::tanh(x); });
  special(t, "atan", [](double x) { return std::atan(x); });
  special(t, "erf", [](double x) { return std::erf(x); });
}

// A function with poles at 0 and the negative integers, on numbers at least 0.2 away from these.
void with_poles(Table& t, const std::string& op, double (*fn)(double)) {
  real(t, op, fn, {.low = 0.2, .high = 12, .fraction = true});
  special(t, op, fn);
  t.add(
      op, "between poles", kFloats,
      [](DType dtype, Rng& rng) {
        Array x = random_array(rng, dtype, {4, 5}, 0.2, 0.8);
        for (Complex& value : x.v) value -= static_cast<double>(rng.integer(1, 8));
        round_to_dtype(x);
        return Args{x};
      },
      [fn](const Args& a) {
        const Array& x = array(a, arg::lgamma::x);
        return one(map(x, x.dtype, [&](Complex v) { return Complex(fn(v.real())); }));
      });
}

void add_tests(Table& t) {
  auto test = [&](const std::string& op, auto fn, uint64_t dtypes) {
    for (const Shape& shape : usual_shapes())
      t.add(
          op, label_of(shape), dtypes,
          [=](DType dtype, Rng& rng) { return Args{random_array(rng, dtype, shape, -1, 1)}; },
          [=](const Args& a) {
            return one(map(array(a, arg::isnan::x), DType::Bool,
                           [&](Complex v) { return Complex(to_bool(fn(v.real()))); }));
          });
  };
  test(
      "isnan", [](double x) { return std::isnan(x); }, kReals);
  test(
      "isinf", [](double x) { return std::isinf(x); }, kReals);
  test(
      "isfinite", [](double x) { return std::isfinite(x); }, kReals);
  test(
      "signbit", [](double x) { return std::signbit(x); }, kReals);
  test(
      "logical_not", [](double x) { return x == 0; }, kReals | kBool);
  special(
      t, "isnan", [](double x) { return std::isnan(x); }, boolean);
  special(
      t, "isinf", [](double x) { return std::isinf(x); }, boolean);
  special(
      t, "isfinite", [](double x) { return std::isfinite(x); }, boolean);
  special(
      t, "logical_not", [](double x) { return x == 0; }, boolean);
  // ~x of u64 exceeds what a double represents exactly; the narrower types show the same bits.
  t.add(
      "bitwise_not", "ints", (kInts & ~TN_MASK(TN_DTYPE_U64)) | kBool,
      [](DType dtype, Rng& rng) {
        return Args{random_array(rng, dtype, {3, 5}, -100, 100)};
      },
      [](const Args& a) {
        const Array& x = array(a, arg::bitwise_not::x);
        double mask = is_signed(x.dtype) || x.dtype == DType::Bool
                          ? -1
                          : std::ldexp(1.0, static_cast<int>(8 * size_of(x.dtype))) - 1;
        return one(map(x, x.dtype, [&](Complex v) {
          if (x.dtype == DType::Bool) return Complex(v.real() == 0);
          return Complex(mask - v.real());
        }));
      });
}

void add_complex(Table& t) {
  complex_valued(t, "neg", [](Complex x) { return -x; });
  complex_valued(
      t, "abs", [](Complex x) { return std::abs(x); }, true);
  complex_valued(t, "square", [](Complex x) { return x * x; });
  complex_valued(
      t, "reciprocal", [](Complex x) { return 1.0 / x; }, false, 8, 0.3, 2);
  complex_valued(t, "exp", [](Complex x) { return std::exp(x); });
  complex_valued(
      t, "log", [](Complex x) { return std::log(x); }, false, 4, 0.3, 2);
  complex_valued(
      t, "sqrt", [](Complex x) { return std::sqrt(x); }, false, 4, 0.3, 2);
  complex_valued(t, "sin", [](Complex x) { return std::sin(x); });
  complex_valued(t, "cos", [](Complex x) { return std::cos(x); });
  complex_valued(
      t, "tanh", [](Complex x) { return std::tanh(x); }, false, 8, -0.7, 0.7);
  complex_valued(t, "conj", [](Complex x) { return std::conj(x); });
  complex_valued(
      t, "real", [](Complex x) { return x.real(); }, true);
  complex_valued(
      t, "imag", [](Complex x) { return x.imag(); }, true);
  real(t, "conj", [](double x) { return x; }, {.dtypes = kReals});
  real(t, "real", [](double x) { return x; }, {.dtypes = kReals});
}

}  // namespace

void add_unary_samples(Table& table) {
  add_arithmetic(table);
  add_functions(table);
  with_poles(table, "lgamma", log_gamma);
  with_poles(table, "digamma", digamma);
  add_tests(table);
  add_complex(table);
}

}  // namespace tenon::conformance
