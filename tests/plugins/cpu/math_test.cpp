// The accuracy of float functions, compared with the C library in f64, over their domains and at the edges.
#include <algorithm>
#include <cstring>

#include "ops.hpp"

using namespace testing_ops;

namespace {

struct Function {
  const char* name;
  double (*exact)(double);
  double low, high;  // where samples are taken
  double bound;      // ulps of f32
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double silu(double x) { return x == -HUGE_VAL ? 0 : x * sigmoid(x); }  // its limit
double gelu(double x) { return x == -HUGE_VAL ? 0 : 0.5 * x * std::erfc(-x * M_SQRT1_2); }
double elu(double x) { return x > 0 ? x : std::expm1(x); }
double selu(double x) {
  return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x));
}
double softplus(double x) { return x > 20 ? x : std::log1p(std::exp(x)); }
double rsqrt(double x) { return 1 / std::sqrt(x); }
double reciprocal(double x) { return 1 / x; }
double square(double x) { return x * x; }
double log_gamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

const Function kFunctions[] = {
    {"exp", std::exp, -105, 89, 1.5},      {"exp2", std::exp2, -151, 129, 1.5},
    {"expm1", std::expm1, -90, 89, 2},     {"log", std::log, 0, 1e30, 1.5},
    {"log2", std::log2, 0, 1e30, 1},       {"log10", std::log10, 0, 1e30, 1},
    {"log1p", std::log1p, -1, 1e30, 1},    {"sqrt", std::sqrt, 0, 1e30, 0.51},
    {"rsqrt", rsqrt, 1e-30, 1e30, 1.6},    {"reciprocal", reciprocal, -1e30, 1e30, 0.51},
    {"square", square, -1e18, 1e18, 0.51}, {"sin", std::sin, -2e5, 2e5, 1},
    {"cos", std::cos, -2e5, 2e5, 1},       {"tan", std::tan, -2e5, 2e5, 1},
    {"asin", std::asin, -1.1, 1.1, 1},     {"acos", std::acos, -1.1, 1.1, 1},
    {"atan", std::atan, -1e6, 1e6, 1},     {"sinh", std::sinh, -90, 90, 1},
    {"cosh", std::cosh, -90, 90, 1},       {"tanh", std::tanh, -12, 12, 2},
    {"asinh", std::asinh, -1e20, 1e20, 1}, {"acosh", std::acosh, 0.9, 1e20, 1},
    {"atanh", std::atanh, -1.1, 1.1, 1},   {"erf", std::erf, -5, 5, 2},
    {"erfc", std::erfc, -5, 11, 5},        {"lgamma", log_gamma, -30, 1e30, 2},
    {"sigmoid", sigmoid, -105, 105, 2.5},  {"silu", silu, -105, 105, 3.5},
    {"gelu", gelu, -14, 14, 5.5},          {"elu", elu, -100, 100, 2},
    {"selu", selu, -100, 100, 3},          {"softplus", softplus, -105, 30, 2},
    {"floor", std::floor, -1e7, 1e7, 0},   {"ceil", std::ceil, -1e7, 1e7, 0},
    {"trunc", std::trunc, -1e7, 1e7, 0},   {"round", std::nearbyint, -1e7, 1e7, 0},
};

class Math : public testing::TestWithParam<Function> {};

TEST_P(Math, F32) {
  const Function& f = GetParam();
  std::vector<float> x = spread(f.low, f.high, 40001);
  const std::vector<float> special = edges();
  x.insert(x.end(), special.begin(), special.end());
  const std::vector<float> y = unary(f.name, tenon::tensor(x)).to_vector<float>();
  double worst = 0;
  size_t where = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double error = ulps(y[i], f.exact(static_cast<double>(x[i])));
    if (error > worst) worst = error, where = i;
  }
  RecordProperty("ulps", std::to_string(worst));
  EXPECT_LE(worst, f.bound) << f.name << "(" << x[where] << ") = " << y[where] << ", wanted "
                            << f.exact(static_cast<double>(x[where]));
}

TEST_P(Math, F64) {
  const Function& f = GetParam();
  std::vector<double> x;
  for (float v : spread(f.low, f.high, 2001)) x.push_back(v);
  for (float v : edges()) x.push_back(v);
  const std::vector<double> y = unary(f.name, tenon::tensor(x)).to_vector<double>();
  for (size_t i = 0; i < x.size(); ++i) {
    const double wanted = f.exact(x[i]);
    if (std::isnan(wanted)) {
      EXPECT_TRUE(std::isnan(y[i])) << f.name << "(" << x[i] << ") = " << y[i];
    } else if (wanted != y[i]) {
      EXPECT_NEAR(y[i], wanted, 8e-16 * std::abs(wanted) + 1e-308) << f.name << "(" << x[i] << ")";
    }
  }
}

// For a half type the result is f32's result, rounded.
TEST_P(Math, Half) {
  const Function& f = GetParam();
  const std::vector<float> x = spread(f.low, f.high, 1001);
  for (DType dtype : {DType::F16, DType::BF16}) {
    const Tensor rounded = tenon::tensor(x, {}, dtype);
    const Tensor wide = unary(f.name, tenon::cast(rounded, DType::F32));
    const std::vector<float> wanted =
        tenon::cast(tenon::cast(wide, dtype), DType::F32).to_vector<float>();
    const Tensor got = unary(f.name, rounded);
    ASSERT_EQ(got.dtype(), dtype);
    const std::vector<float> values = tenon::cast(got, DType::F32).to_vector<float>();
    for (size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(wanted[i]) && std::isnan(values[i])) continue;
      ASSERT_EQ(values[i], wanted[i]) << f.name << "(" << x[i] << ")";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, Math, testing::ValuesIn(kFunctions),
                         [](const auto& info) { return std::string(info.param.name); });

struct Function2 {
  const char* name;
  double (*exact)(double, double);
  double bound;
};
double logaddexp(double a, double b) {
  if (a == b) return a + M_LN2;
  return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b))) +
         (std::isnan(a) || std::isnan(b) ? std::nan("") : 0);
}
double remainder_of(double a, double b) {
  const double r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? static_cast<double>(static_cast<float>(r + b)) : r;
}
double maximum(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::nan("") : std::max(a, b);
}
double minimum(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::nan("") : std::min(a, b);
}
double add(double a, double b) { return a + b; }
double sub(double a, double b) { return a - b; }
double mul(double a, double b) { return a * b; }
double divide(double a, double b) { return a / b; }
double nextafter_f32(double a, double b) {
  return static_cast<double>(std::nextafter(static_cast<float>(a), static_cast<float>(b)));
}
const Function2 kFunctions2[] = {{"add", add, 0.51},
                                 {"sub", sub, 0.51},
                                 {"mul", mul, 0.51},
                                 {"div", divide, 0.51},
                                 {"pow", std::pow, 1},
                                 {"atan2", std::atan2, 1},
                                 {"hypot", std::hypot, 1},
                                 {"logaddexp", logaddexp, 2},
                                 {"copysign", std::copysign, 0},
                                 {"maximum", maximum, 0},
                                 {"minimum", minimum, 0},
                                 {"remainder", remainder_of, 1},
                                 {"nextafter", nextafter_f32, 0}};

class Math2 : public testing::TestWithParam<Function2> {};

TEST_P(Math2, F32) {
  const Function2& f = GetParam();
  std::vector<float> values = edges();
  for (float v :
       {3.0f, -3.0f, 7.5f, -7.5f, 0.1f, -0.1f, 1e10f, 33.0f, -33.0f, 1e-3f, 1.0000001f, 0.9999999f})
    values.push_back(v);
  const auto n = static_cast<int64_t>(values.size());
  const Tensor x = tenon::tensor(values, {n, 1}), y = tenon::tensor(values, {1, n});
  const std::vector<float> got = binary(f.name, x, y).to_vector<float>();
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      const float a = values[static_cast<size_t>(i)], b = values[static_cast<size_t>(j)];
      const float result = got[static_cast<size_t>(i * n + j)];
      const double wanted = f.exact(static_cast<double>(a), static_cast<double>(b));
      EXPECT_LE(ulps(result, wanted), f.bound)
          << f.name << "(" << a << ", " << b << ") = " << result << ", wanted " << wanted;
    }
}

INSTANTIATE_TEST_SUITE_P(Functions, Math2, testing::ValuesIn(kFunctions2),
                         [](const auto& info) { return std::string(info.param.name); });

// All finite numbers of a half type, ascending: the next of each is the one behind it.
TEST(Nextafter, OfEveryHalf) {
  for (const auto& [dtype, infinity] : {std::pair{DType::F16, 0x7c00}, {DType::BF16, 0x7f80}}) {
    std::vector<uint16_t> bits;
    for (int code = infinity; code > 0; --code)
      bits.push_back(static_cast<uint16_t>(code | 0x8000));
    for (int code = 0; code <= infinity; ++code) bits.push_back(static_cast<uint16_t>(code));
    const std::vector<uint16_t> lower(bits.begin(), bits.end() - 1),
        upper(bits.begin() + 1, bits.end());
    const auto numbers = [type = dtype](const std::vector<uint16_t>& codes) {
      Tensor x = tenon::empty({static_cast<int64_t>(codes.size())}, type);
      std::memcpy(tn_tensor_data(x.get()), codes.data(), 2 * codes.size());
      return x;
    };
    const auto codes_of = [](const Tensor& x) {
      std::vector<uint16_t> codes(static_cast<size_t>(x.numel()));
      std::memcpy(codes.data(), tn_tensor_data(x.get()), 2 * codes.size());
      return codes;
    };
    const Tensor low = numbers(lower), high = numbers(upper);
    // From the smallest number below 0 the step leads to -0.
    std::vector<uint16_t> above = upper;
    *std::find(above.begin(), above.end(), 0) = 0x8000;
    EXPECT_EQ(codes_of(binary("nextafter", low, high)), above);
    EXPECT_EQ(codes_of(binary("nextafter", high, low)), lower);
    EXPECT_EQ(codes_of(binary("nextafter", low, low)), lower);
  }
}

TEST(Nextafter, F64) {
  const double inf = std::numeric_limits<double>::infinity(), tiny = 5e-324;
  const std::vector<double> values = {0.0,         -0.0, tiny,  -tiny, 1,    -1,
                                      1 + 0x1p-52, 2,    1e308, inf,   -inf, std::nan("")};
  const auto n = static_cast<int64_t>(values.size());
  const Tensor x = tenon::tensor(values, {n, 1}), y = tenon::tensor(values, {1, n});
  const std::vector<double> got = binary("nextafter", x, y).to_vector<double>();
  for (size_t i = 0; i < values.size(); ++i)
    for (size_t j = 0; j < values.size(); ++j) {
      const double result = got[i * values.size() + j],
                   wanted = std::nextafter(values[i], values[j]);
      EXPECT_TRUE(std::isnan(wanted)
                      ? std::isnan(result)
                      : std::bit_cast<uint64_t>(result) == std::bit_cast<uint64_t>(wanted))
          << values[i] << ", " << values[j];
    }
}

TEST(Gradients, OfActivationsMatchDifferences) {
  const std::vector<float> x = spread(-9, 9, 301);
  const Tensor xs = tenon::tensor(x), g = tenon::tensor(std::vector<float>(x.size(), 2.0f));
  const std::vector<float> ge = tenon::gelu_backward(g, xs).to_vector<float>();
  const std::vector<float> gt = tenon::gelu_backward(g, xs, "tanh").to_vector<float>();
  const std::vector<float> si = tenon::silu_backward(g, xs).to_vector<float>();
  const auto gelu_tanh = [](double v) {
    return 0.5 * v * (1 + std::tanh(std::sqrt(M_2_PI) * (v + 0.044715 * v * v * v)));
  };
  const auto slope = [](auto f, double v) {
    return (f(v + 1e-5) - f(v - 1e-5)) / 1e-5;
  };  // twice the derivative
  for (size_t i = 0; i < x.size(); ++i) {
    const double v = static_cast<double>(x[i]);
    EXPECT_NEAR(ge[i], slope(gelu, v), 2e-6) << v;
    EXPECT_NEAR(gt[i], slope(gelu_tanh, v), 2e-6) << v;
    EXPECT_NEAR(si[i], slope(silu, v), 2e-6) << v;
  }
  const std::vector<float> y = tenon::gelu(xs, "tanh").to_vector<float>();
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_NEAR(y[i], gelu_tanh(static_cast<double>(x[i])), 1e-6);
}

// The square of this number is between two floats; a logarithm and an exponential may round it to the other one.
TEST(Math, PowersDoNotDependOnTheirNeighbours) {
  const float x = 5.4931640625F;
  const std::vector<float> y = {2, 0.5F, 2, 2.5F, 3, -1, 2, -0.5F, 2};
  const std::vector<float> found =
      tenon::pow(tenon::full({9}, double{x}), tenon::tensor(y)).to_vector<float>();
  for (const size_t i : {0, 2, 6, 8}) EXPECT_EQ(found[i], x * x) << i;
  EXPECT_EQ(found[4], x * x * x);
  EXPECT_EQ(found[5], 1 / x);
  EXPECT_EQ(found[1], std::sqrt(x));
  EXPECT_EQ(found[7], 1 / std::sqrt(x));
}

TEST(Math, RootsAreThoseOfC) {
  const std::vector<float> x = {0.0F, -0.0F, 2.25F, -1.0F, INFINITY, -INFINITY, NAN, 1e-40F};
  for (const double power : {0.5, -0.5}) {
    const std::vector<float> found = tenon::pow(tenon::tensor(x), power).to_vector<float>();
    for (size_t i = 0; i < x.size(); ++i) {
      const float wanted = std::pow(x[i], static_cast<float>(power));
      EXPECT_EQ(std::isnan(found[i]), std::isnan(wanted)) << x[i];
      if (std::isnan(wanted)) continue;
      EXPECT_FLOAT_EQ(found[i], wanted) << x[i];
      EXPECT_EQ(std::signbit(found[i]), std::signbit(wanted)) << x[i];
    }
  }
}

}  // namespace
