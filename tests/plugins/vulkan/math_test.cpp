// The accuracy of the shaders' elementary functions, compared with the C library in f64, over their domains and at the edges.
#include "../cpu/ops.hpp"
#include "device.hpp"

using namespace testing_ops;
using test_vulkan::gpu;
using test_vulkan::to_gpu;

namespace {

struct Function {
  const char* name;
  double (*exact)(double);
  double low, high;  // where samples are taken
  double bound;      // ulps of f32
};

double rsqrt(double x) { return 1 / std::sqrt(x); }
double reciprocal(double x) { return 1 / x; }

const Function kFunctions[] = {
    {"exp", std::exp, -105, 89, 2},      {"exp2", std::exp2, -151, 129, 2},
    {"expm1", std::expm1, -90, 89, 2},   {"log", std::log, 0, 1e30, 2},
    {"log2", std::log2, 0, 1e30, 2},     {"log10", std::log10, 0, 1e30, 3},
    {"log1p", std::log1p, -1, 1e30, 2},  {"sqrt", std::sqrt, 0, 1e30, 0.51},
    {"rsqrt", rsqrt, 1e-30, 1e30, 2},    {"reciprocal", reciprocal, -1e30, 1e30, 0.51},
    {"sin", std::sin, -2e5, 2e5, 2},     {"cos", std::cos, -2e5, 2e5, 2},
    {"tan", std::tan, -2e5, 2e5, 4},     {"asin", std::asin, -1.1, 1.1, 3},
    {"acos", std::acos, -1.1, 1.1, 3},   {"atan", std::atan, -1e6, 1e6, 3},
    {"sinh", std::sinh, -90, 90, 3},     {"cosh", std::cosh, -90, 90, 3},
    {"tanh", std::tanh, -12, 12, 3},     {"asinh", std::asinh, -1e20, 1e20, 3},
    {"acosh", std::acosh, 0.9, 1e20, 3}, {"atanh", std::atanh, -1.1, 1.1, 3},
    {"erf", std::erf, -5, 5, 3},         {"erfc", std::erfc, -5, 11, 5},
};

class Math : public testing::TestWithParam<Function> {};

std::vector<float> on_gpu(const char* name, const std::vector<float>& x) {
  return unary(name, to_gpu(tenon::tensor(x))).to_vector<float>();
}

// A device may flush subnormal numbers to zeros of the same sign.
double error_of(float got, double wanted) {
  if (got == 0 && std::abs(wanted) < static_cast<double>(std::numeric_limits<float>::min()))
    return 0;
  return ulps(got, wanted);
}

TEST_P(Math, F32) {
  const Function& f = GetParam();
  std::vector<float> x = spread(f.low, f.high, 40001);
  for (const float v : spread(std::max(f.low, -4.0), std::min(f.high, 4.0), 20001)) x.push_back(v);
  for (const float v : edges()) x.push_back(v);
  const std::vector<float> y = on_gpu(f.name, x);
  double worst = 0;
  size_t where = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double error = error_of(y[i], f.exact(static_cast<double>(x[i])));
    if (std::abs(x[i]) < std::numeric_limits<float>::min())
      error =
          std::min(error, error_of(y[i], f.exact(std::copysign(0.0, static_cast<double>(x[i])))));
    if (error > worst) worst = error, where = i;
  }
  RecordProperty("ulps", std::to_string(worst));
  EXPECT_LE(worst, f.bound) << f.name << "(" << x[where] << ") = " << y[where] << ", wanted "
                            << f.exact(static_cast<double>(x[where]));
}

TEST_P(Math, F64) {
  const Function& f = GetParam();
  std::vector<double> x;
  for (const float v : spread(f.low, f.high, 4001)) x.push_back(v * 1.0000000123);
  for (const float v : spread(std::max(f.low, -4.0), std::min(f.high, 4.0), 4001))
    x.push_back(v * 1.0000000123);
  for (const float v : edges()) x.push_back(v);
  x.insert(x.end(), {1e22, -3e200, 1e300, -1e-300, 1e-308, 7.7e7, 1048576.5});
  const std::vector<double> y = unary(f.name, to_gpu(tenon::tensor(x))).to_vector<double>();
  double worst = 0;
  size_t where = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double wanted = f.exact(x[i]);
    if (std::isnan(wanted) || std::isinf(wanted) || wanted == 0) {
      EXPECT_TRUE(std::isnan(wanted) ? std::isnan(y[i]) : y[i] == wanted)
          << f.name << "(" << x[i] << ") = " << y[i] << ", wanted " << wanted;
      continue;
    }
    if (std::abs(wanted) < std::numeric_limits<double>::min()) continue;
    const double error = std::abs(y[i] - wanted) / std::abs(wanted);
    if (!(error <= worst)) worst = error, where = i;
  }
  RecordProperty("relative", std::to_string(worst * 1e16));
  EXPECT_LE(worst, 1e-15) << f.name << "(" << x[where] << ") = " << y[where] << ", wanted "
                          << f.exact(x[where]);
}

INSTANTIATE_TEST_SUITE_P(Functions, Math, testing::ValuesIn(kFunctions),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
