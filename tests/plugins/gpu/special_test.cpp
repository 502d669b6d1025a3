// The accuracy of special.hpp in f32, given a C library that rounds well, compared with the same functions in long double.
#include "special.hpp"

#include <gtest/gtest.h>

using namespace tenon::gpu;

namespace {

using Wide = long double;

Wide exact_sigmoid(Wide x) { return 1 / (1 + std::exp(-x)); }
Wide exact_cdf(Wide x) { return std::erfc(-x * std::sqrt(Wide(0.5))) / 2; }
Wide exact_density(Wide x) { return std::exp(-x * x / 2); }
Wide tanh_argument(Wide x) { return Wide(kGeluScale) * (x + Wide(kGeluCube) * x * x * x); }

struct Function {
  const char* name;
  float (*got)(float);
  Wide (*wanted)(Wide);
  double bound;  // ulps
};

const Function kFunctions[] = {
    {"sigmoid", [](float x) { return sigmoid(x); }, exact_sigmoid, 3},
    {"complement",
     [](float x) {
       float rest;
       sigmoid(x, rest);
       return rest;
     },
     [](Wide x) { return exact_sigmoid(-x); }, 3},
    {"silu", [](float x) { return silu(x); }, [](Wide x) { return x * exact_sigmoid(x); }, 5},
    {"softplus_rest", [](float x) { return softplus_rest(x); },
     [](Wide x) { return std::log1p(std::exp(-std::abs(x))); }, 3},
    {"normal_cdf",
     [](float x) {
       float density;
       return normal_cdf(x, density);
     },
     exact_cdf, 8},
    {"density",
     [](float x) {
       float density;
       normal_cdf(x, density);
       return density;
     },
     exact_density, 3},
    {"gelu", [](float x) { return gelu(x); }, [](Wide x) { return x * exact_cdf(x); }, 8},
};

class Special : public testing::TestWithParam<Function> {};

double ulps(float got, Wide wanted) {
  const int exponent = std::max(std::ilogb(wanted), -126);
  return static_cast<double>(std::abs(Wide(got) - wanted) / std::ldexp(Wide(1), exponent - 23));
}

TEST_P(Special, IsAccurate) {
  const Function& f = GetParam();
  double worst = 0;
  float where = 0;
  const auto visit = [&](float x) {
    const double error = ulps(f.got(x), f.wanted(Wide(x)));
    if (!(error <= worst)) worst = error, where = x;
  };
  for (int i = -60000; i <= 60000; ++i) visit(static_cast<float>(i) * 0.0002173f);  // to 13
  for (int i = -140; i <= 140; ++i) visit(static_cast<float>(i) * 0.7317f);         // to 102
  for (float x = 1; x > 1e-30f; x *= 0.37f) visit(x), visit(-x);
  EXPECT_LE(worst, f.bound) << f.name << "(" << where << ") = " << f.got(where) << ", wanted "
                            << static_cast<double>(f.wanted(Wide(where)));
}

INSTANTIATE_TEST_SUITE_P(All, Special, testing::ValuesIn(kFunctions),
                         [](const auto& info) { return std::string(info.param.name); });

// Their terms cancel, so the error is measured relative to 1.
TEST(Slopes, AreAccurateBesideOne) {
  for (int i = -60000; i <= 60000; ++i) {
    const float x = static_cast<float>(i) * 0.0007173f;  // to 43
    const Wide w(x), s = exact_sigmoid(tanh_argument(w)),
                     inner = Wide(kGeluScale) * (1 + 3 * Wide(kGeluCube) * w * w);
    ASSERT_NEAR(gelu_slope(x), exact_cdf(w) + w * Wide(kNormalPeak) * exact_density(w), 5e-7) << x;
    ASSERT_NEAR(gelu_tanh_slope(x), s + w * s * (1 - s) * inner, 1e-6) << x;
    ASSERT_NEAR(gelu_tanh(x), w * s, 1e-6 * std::max(1.0f, std::abs(x))) << x;
  }
}

TEST(Ends, AreLimits) {
  const float inf = HUGE_VALF, nan = std::nanf("");
  for (float (*const f)(float) : {silu<float>, gelu<float>, gelu_tanh<float>}) {
    EXPECT_EQ(f(inf), inf);
    EXPECT_EQ(f(-inf), 0);
    EXPECT_TRUE(std::isnan(f(nan)));
  }
  for (float (*const f)(float) : {gelu_slope<float>, gelu_tanh_slope<float>}) {
    EXPECT_EQ(f(inf), 1);
    EXPECT_EQ(f(-inf), 0);
    EXPECT_TRUE(std::isnan(f(nan)));
  }
  EXPECT_EQ(sigmoid(inf), 1);
  EXPECT_EQ(sigmoid(-inf), 0);
}

}  // namespace
