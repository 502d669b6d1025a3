// Elementwise ops of one operand, and activations.
#include "helpers.hpp"

namespace tenon::conformance {
namespace {

using Real = double (*)(double);

// A real function on every usual shape, with values in [low, high]; integers give f32 where
// `fraction`.
struct Domain {
  double low = -2, high = 2;
  uint64_t dtypes = kFloats;
  bool fraction = false;
  double tolerance = 1;
  bool gradient = true;
};

template <class Fn>
void real(Table& t, const std::string& op, Fn fn, Domain d = {}) {
  if (d.fraction) d.dtypes |= kInts;
  for (const Shape& shape : usual_shapes()) {
    Sample& s = t.add(
        op, label_of(shape), d.dtypes,
        [=](DType dtype, Rng& rng) { return Args{random_array(rng, dtype, shape, d.low, d.high)}; },
        [=](const Args& a) {
          const Array& x = array(a, 0);
          return one(map(x, d.fraction ? fractional(x.dtype) : x.dtype,
                         [&](Complex v) { return Complex(fn(v.real())); }));
        });
    s.tolerance = d.tolerance;
    s.gradient = d.gradient && shape.size() != 1;
  }
}

// Where floats are special: infinities, NaN, zeros of both signs, large and tiny.
template <class Fn>
void special(
    Table& t, const std::string& op, Fn fn, DType (*result)(DType) = [](DType d) { return d; }) {
  Sample& s = t.add(
      op, "special", kFloats,
      [](DType dtype, Rng&) {
        Array x(dtype, {10});
        double values[] = {kInf, -kInf, kNan, 0.0, -0.0, 1.0, -1.0, 1e-30, 30000.0, -30000.0};
        std::copy(std::begin(values), std::end(values), x.v.begin());
        round_to_dtype(x);
        return Args{x};
      },
      [fn, result](const Args& a) {
        const Array& x = array(a, 0);
        return one(map(x, result(x.dtype),
                       [&](Complex v) { return Complex(static_cast<double>(fn(v.real()))); }));
      });
  s.gradient = false;
}

template <class Fn>
void complex_valued(Table& t, const std::string& op, Fn fn, bool to_real = false,
                    double tolerance = 4, double low = -2, double high = 2) {
  for (const Shape& shape : {Shape{2, 3, 4}, Shape{}, Shape{0}}) {
    Sample& s = t.add(
        op, "complex " + label_of(shape), kComplex,
        [=](DType dtype, Rng& rng) { return Args{random_array(rng, dtype, shape, low, high)}; },
        [=](const Args& a) {
          const Array& x = array(a, 0);
          return one(map(x, to_real ? real_of(x.dtype) : x.dtype,
                         [&](Complex v) { return Complex(fn(v)); }));
        });
    s.tolerance = tolerance;
  }
}

double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : std::isnan(x) ? x : 0; }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }
// By halving, as erf rises.
double erfinv(double x) {
  if (!(std::abs(x) < 1)) return std::abs(x) == 1 ? std::copysign(INFINITY, x) : NAN;
  double low = -6, high = 6;
  for (int step = 0; step < 200; ++step) {
    const double middle = (low + high) / 2;
    (std::erf(middle) < x ? low : high) = middle;
  }
  return x == 0 ? x : (low + high) / 2;
}
double gelu_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
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
  real(t, "clone", [](double x) { return x; }, {.dtypes = kMovable & ~kComplex});
  real(t, "contiguous", [](double x) { return x; }, {.dtypes = kMovable & ~kComplex});
  special(t, "abs", [](double x) { return std::abs(x); });
  special(t, "sign", sign);
  special(t, "floor", [](double x) { return std::floor(x); });
  special(t, "relu", [](double x) { return std::isnan(x) ? x : x > 0 ? x : 0.0; });
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

void add_tests(Table& t) {
  auto test = [&](const std::string& op, auto fn, uint64_t dtypes) {
    for (const Shape& shape : usual_shapes())
      t.add(
          op, label_of(shape), dtypes,
          [=](DType dtype, Rng& rng) { return Args{random_array(rng, dtype, shape, -1, 1)}; },
          [=](const Args& a) {
            return one(map(array(a, 0), DType::Bool,
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
  // ~x of u64 is above what a double counts exactly; the narrower types show the same bits.
  t.add(
      "bitwise_not", "ints", (kInts & ~TN_MASK(TN_DTYPE_U64)) | kBool,
      [](DType dtype, Rng& rng) {
        return Args{random_array(rng, dtype, {3, 5}, -100, 100)};
      },
      [](const Args& a) {
        const Array& x = array(a, 0);
        double mask = is_signed(x.dtype) || x.dtype == DType::Bool
                          ? -1
                          : std::ldexp(1.0, static_cast<int>(8 * size_of(x.dtype))) - 1;
        return one(map(x, x.dtype, [&](Complex v) {
          if (x.dtype == DType::Bool) return Complex(v.real() == 0);
          return Complex(mask - v.real());
        }));
      });
}

void add_activations(Table& t) {
  real(t, "relu", [](double x) { return x > 0 ? x : 0; }, {.dtypes = kReals});
  real(t, "sigmoid", sigmoid, {.low = -6, .high = 6, .fraction = true});
  real(t, "silu", [](double x) { return x * sigmoid(x); }, {.low = -6, .high = 6});
  real(t, "mish", [](double x) { return x * std::tanh(std::log1p(std::exp(x))); },
       {.low = -5, .high = 5, .tolerance = 3});
  real(t, "selu",
       [](double x) {
         constexpr double kAlpha = 1.6732632423543772,
                          kScale = 1.0507009873554805;  // Klambauer et al. 2017
         return kScale * (x > 0 ? x : kAlpha * std::expm1(x));
       },
       {.tolerance = 2});
  real(t, "hardsigmoid", [](double x) { return std::clamp(x / 6 + 0.5, 0.0, 1.0); },
       {.low = -4, .high = 4, .tolerance = 2});
  real(t, "hardswish", [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); },
       {.low = -4, .high = 4, .tolerance = 2});
  real(t, "log_sigmoid", [](double x) { return -std::log1p(std::exp(-x)); },
       {.low = -5, .high = 5, .tolerance = 2});
  struct Parameterised {
    const char* op;
    Args rest;
    std::function<double(double)> fn;
  };
  const std::vector<Parameterised> list = {
      {"gelu", {std::string("none")}, [](double x) { return x * normal_cdf(x); }},
      {"gelu", {std::string("tanh")}, gelu_tanh},
      {"elu", {0.7}, [](double x) { return x > 0 ? x : 0.7 * std::expm1(x); }},
      {"leaky_relu", {0.1}, [](double x) { return x > 0 ? x : 0.1 * x; }},
      {"softplus",
       {2.0, 5.0},
       [](double x) { return 2 * x > 5 ? x : std::log1p(std::exp(2 * x)) / 2; }},
  };
  for (const Parameterised& p : list)
    for (const Shape& shape : usual_shapes()) {
      std::string label =
          label_of(shape) + (p.rest.size() == 1 && std::holds_alternative<std::string>(p.rest[0])
                                 ? " " + std::get<std::string>(p.rest[0])
                                 : "");
      Sample& s = t.add(
          p.op, label, kFloats,
          [=](DType dtype, Rng& rng) {
            Args args = {random_array(rng, dtype, shape, -4, 4)};
            args.insert(args.end(), p.rest.begin(), p.rest.end());
            return args;
          },
          [=](const Args& a) {
            return one(map(array(a, 0), array(a, 0).dtype,
                           [&](Complex v) { return Complex(p.fn(v.real())); }));
          });
      s.tolerance = 2;
      s.gradient = shape.size() == 3;
    }
}

// g·f'(x), written with the derivative in closed form.
void add_backwards(Table& t) {
  struct Backward {
    const char* op;
    Args rest;
    std::function<double(double)> derivative;  // of the saved value
    double low, high;
  };
  auto density = [](double x) { return std::exp(-x * x / 2) / std::sqrt(2 * M_PI); };
  auto tanh_slope = [](double x) {
    double k = std::sqrt(2 / M_PI), u = k * (x + 0.044715 * x * x * x), th = std::tanh(u);
    return 0.5 * (1 + th) + 0.5 * x * (1 - th * th) * k * (1 + 3 * 0.044715 * x * x);
  };
  const std::vector<Backward> list = {
      {"gelu_backward",
       {std::string("none")},
       [=](double x) { return normal_cdf(x) + x * density(x); },
       -4,
       4},
      {"gelu_backward", {std::string("tanh")}, tanh_slope, -4, 4},
      {"silu_backward",
       {},
       [](double x) {
         double s = sigmoid(x);
         return s * (1 + x * (1 - s));
       },
       -4,
       4},
      {"sigmoid_backward", {}, [](double y) { return y * (1 - y); }, 0.05, 0.95},
      {"tanh_backward", {}, [](double y) { return 1 - y * y; }, -0.9, 0.9},
      {"relu_backward", {}, [](double y) { return y > 0 ? 1.0 : 0.0; }, -2, 2},
  };
  for (const Backward& b : list)
    for (const Shape& shape : {Shape{2, 3, 4}, Shape{37}, Shape{}, Shape{0}}) {
      std::string kind = b.rest.empty() ? "" : " " + std::get<std::string>(b.rest[0]);
      Sample& s = t.add(
          b.op, label_of(shape) + kind, kFloats,
          [=](DType dtype, Rng& rng) {
            Args args = {random_array(rng, dtype, shape),
                         random_array(rng, dtype, shape, b.low, b.high)};
            args.insert(args.end(), b.rest.begin(), b.rest.end());
            return args;
          },
          [=](const Args& a) {
            return one(zip(array(a, 0), array(a, 1), array(a, 0).dtype,
                           [&](Complex g, Complex x) { return g * b.derivative(x.real()); }));
          });
      s.tolerance = 3;
      s.gradient = shape.size() == 3;
    }
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
  complex_valued(t, "clone", [](Complex x) { return x; });
  real(t, "conj", [](double x) { return x; }, {.dtypes = kReals});
  real(t, "real", [](double x) { return x; }, {.dtypes = kReals});
}

}  // namespace

void add_unary_samples(Table& table) {
  add_arithmetic(table);
  add_functions(table);
  add_tests(table);
  add_activations(table);
  add_backwards(table);
  add_complex(table);
}

}  // namespace tenon::conformance
