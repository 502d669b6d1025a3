// Conversions of narrow floats: every code is compared with its definition, and rounding with a reference in double precision that shares
// nothing with the code under test.
#include "float_formats.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Format {
  const char* name;
  int bits, mantissa, bias;
  bool has_infinity;

  uint32_t codes() const { return 1u << bits; }
  uint32_t sign() const { return 1u << (bits - 1); }
  uint32_t top() const { return (sign() - 1) >> mantissa; }  // the highest exponent
  uint32_t largest() const { return has_infinity ? (top() << mantissa) - 1 : sign() - 2; }
  double value(uint32_t code) const {
    const uint32_t magnitude = code & (sign() - 1);
    const uint32_t exponent = magnitude >> mantissa, fraction = magnitude & ((1u << mantissa) - 1);
    const double side = (code & sign()) != 0 ? -1 : 1;
    if (magnitude > largest())
      return has_infinity && fraction == 0 ? side * kInf : std::copysign(kNan, side);
    const double significand = std::ldexp(fraction, -mantissa) + (exponent != 0 ? 1 : 0);
    return side * std::ldexp(significand, std::max<int>(static_cast<int>(exponent), 1) - bias);
  }
  // The nearest value as the standard defines it: rounded as if exponents were unlimited; then values that are too large are replaced.
  double nearest(double x) const {
    if (std::isnan(x) || x == 0) return x;
    const double overflow = std::copysign(has_infinity ? kInf : kNan, x);
    if (std::isinf(x)) return overflow;
    const double unit = std::ldexp(1, std::max(std::ilogb(x), 1 - bias) - mantissa);
    const double rounded = std::copysign(std::nearbyint(x / unit) * unit, x);
    return std::fabs(rounded) > value(largest()) ? overflow : rounded;
  }
};
constexpr Format kFormats[] = {{"f16", 16, 10, 15, true},
                               {"bf16", 16, 7, 127, true},
                               {"f8_e4m3", 8, 3, 7, false},
                               {"f8_e5m2", 8, 2, 15, true}};

bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) && std::signbit(a) == std::signbit(b)
                       : std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

class FloatFormats : public testing::TestWithParam<int> {
 protected:
  const Format& format() const { return kFormats[GetParam() % 4]; }
  const Conversion& conversion() const { return (GetParam() < 4 ? in_cpp : in_c)[GetParam() % 4]; }

  void expect_nearest(float x) const {
    const uint32_t code = conversion().narrow(x);
    ASSERT_LT(code, format().codes());
    ASSERT_TRUE(same(format().value(code), format().nearest(static_cast<double>(x))))
        << format().name << ": " << std::hexfloat << x << " became " << format().value(code);
  }
  // The points where the result changes, exact in f32: midpoints between neighbours, and the upper end of the range.
  std::vector<float> boundaries() const {
    std::vector<float> found;
    for (uint32_t code = 0; code <= format().largest(); ++code) {
      const double low = format().value(code);
      const double step = code < format().largest() ? format().value(code + 1) - low
                                                    : low - format().value(code - 1);
      found.push_back(static_cast<float>(low + step / 2));
      EXPECT_EQ(static_cast<double>(found.back()), low + step / 2);
    }
    return found;
  }
};

TEST_P(FloatFormats, EveryCodeWidensAndComesBack) {
  for (uint32_t code = 0; code < format().codes(); ++code) {
    const float wide = conversion().widen(code);
    ASSERT_TRUE(same(static_cast<double>(wide), format().value(code))) << format().name << code;
    if (!std::isnan(wide)) {
      ASSERT_EQ(conversion().narrow(wide), code) << format().name;
    } else {
      ASSERT_TRUE(same(format().value(conversion().narrow(wide)), format().value(code))) << code;
    }
  }
}

TEST_P(FloatFormats, EveryBoundaryRounds) {
  constexpr float kEnd = std::numeric_limits<float>::infinity();
  for (const float at : boundaries())
    for (const float x : {at, std::nextafter(at, 0.0f), std::nextafter(at, kEnd)}) {
      ASSERT_NO_FATAL_FAILURE(expect_nearest(x));
      ASSERT_NO_FATAL_FAILURE(expect_nearest(-x));
    }
}

// The step is coprime to 2^32, so it visits every exponent with varied mantissas.
TEST_P(FloatFormats, WhateverBitsRound) {
  uint32_t bits = 0;
  for (int i = 0; i < 1 << 20; ++i, bits += 4093u * 1021u)
    ASSERT_NO_FATAL_FAILURE(expect_nearest(std::bit_cast<float>(bits)));
  for (const uint32_t edge : {0x00000001u, 0x007fffffu, 0x00800000u, 0x7f7fffffu, 0x7f800000u})
    for (const uint32_t sign : {0u, 0x80000000u})
      ASSERT_NO_FATAL_FAILURE(expect_nearest(std::bit_cast<float>(edge | sign)));
}

// A signalling NaN's fraction begins with a 0; cut to the bits that a half keeps, it would become an infinity.
TEST_P(FloatFormats, NanStaysNan) {
  for (const uint32_t fraction : {0x1u, 0x1fffu, 0x3fffffu, 0x400000u, 0x400001u, 0x7fffffu})
    for (const uint32_t sign : {0u, 0x80000000u}) {
      const uint32_t code =
          conversion().narrow(std::bit_cast<float>(sign | 0x7f800000u | fraction));
      ASSERT_TRUE(same(format().value(code), std::copysign(kNan, sign != 0 ? -1 : 1))) << fraction;
      if (format().bits == 16) {
        const uint32_t kept = fraction >> (23 - format().mantissa);
        EXPECT_EQ(code & ((1u << format().mantissa) - 1), kept | 1u << (format().mantissa - 1));
      }
    }
}

#if defined(__SSE2__)
// A library linked with -ffast-math makes the whole program treat subnormal numbers as 0.
TEST_P(FloatFormats, NeedNoSubnormals) {
  std::vector<float> wide(format().codes());
  const std::vector<float> tried = boundaries();
  std::vector<uint32_t> narrow;
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);  // flush to zero, denormals are zero
  for (uint32_t code = 0; code < format().codes(); ++code) wide[code] = conversion().widen(code);
  for (const float x : tried) narrow.push_back(conversion().narrow(x));
  _mm_setcsr(before);
  for (uint32_t code = 0; code < format().codes(); ++code)
    ASSERT_TRUE(same(static_cast<double>(wide[code]), format().value(code))) << code;
  for (size_t i = 0; i < tried.size(); ++i)
    ASSERT_TRUE(same(format().value(narrow[i]), format().nearest(static_cast<double>(tried[i]))));
}
#endif

INSTANTIATE_TEST_SUITE_P(All, FloatFormats, testing::Range(0, 8), [](const auto& info) {
  return std::string(info.param < 4 ? "cpp_" : "c_") + kFormats[info.param % 4].name;
});

}  // namespace
