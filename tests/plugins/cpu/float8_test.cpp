// 8-bit floats: each code is compared with its definition, and rounding with a search for the nearest value in double precision.
// TENON_TEST_DEVICE selects a device other than the host.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <vector>

#include "tenon/tenon.hpp"

namespace {

using tenon::DType;
using tenon::F8E4M3;
using tenon::F8E5M2;
using tenon::Tensor;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

const tenon::Device& device() {
  const char* const named = std::getenv("TENON_TEST_DEVICE");
  static const tenon::Device found(named != nullptr ? named : "cpu");
  return found;
}

// A format as specified in OCP 8-bit floating point 1.0, table 1.
struct Format {
  DType dtype;
  int mantissa, bias;
  bool has_infinity;

  double value(uint32_t code) const {
    const uint32_t fraction = code & ((1u << mantissa) - 1), exponent = (code & 0x7fu) >> mantissa;
    const double sign = (code & 0x80u) != 0 ? -1 : 1;
    if (has_infinity && exponent == 31) return fraction == 0 ? sign * kInf : kNan;
    if (!has_infinity && (code & 0x7fu) == 0x7fu) return kNan;
    const double significand = std::ldexp(fraction, -mantissa) + (exponent != 0 ? 1 : 0);
    return sign * std::ldexp(significand, std::max<int>(static_cast<int>(exponent), 1) - bias);
  }
  uint32_t largest() const { return has_infinity ? 0x7bu : 0x7eu; }
  // The code of the nearest value, the even one of two; one step beyond the largest value stands for everything larger.
  uint32_t nearest(double x) const {
    const uint32_t sign = std::signbit(x) ? 0x80u : 0;
    if (std::isnan(x)) return sign | 0x7fu;
    const double step = value(largest()) - value(largest() - 1);
    // Limited, so that distances are exact.
    const double size = std::fmin(std::fabs(x), value(largest()) + 4 * step);
    uint32_t best = 0;
    for (uint32_t code = 0; code <= largest() + 1; ++code) {
      const double at = code > largest() ? value(largest()) + step : value(code);
      const double before = best > largest() ? value(largest()) + step : value(best);
      const double distance = std::fabs(at - size), known = std::fabs(before - size);
      if (distance < known || (distance == known && code % 2 == 0)) best = code;
    }
    return sign | (std::isinf(x) ? largest() + 1 : best);
  }
};
constexpr Format kFormats[] = {{DType::F8E4M3, 3, 7, false}, {DType::F8E5M2, 2, 15, true}};

Tensor bytes_as(const Format& format, const std::vector<uint8_t>& codes) {
  const int64_t n = static_cast<int64_t>(codes.size());
  tn_tensor* made = nullptr;
  tenon::detail::check(tn_tensor_from_host(
      codes.data(), codes.size(), static_cast<tn_dtype>(format.dtype), 1, &n, nullptr, &made));
  return Tensor::adopt(made);
}
std::vector<uint8_t> codes_of(const Tensor& x) {
  std::vector<uint8_t> codes(static_cast<size_t>(x.numel()));
  x.to_host(codes.data(), codes.size());
  return codes;
}
std::vector<uint8_t> all_codes() {
  std::vector<uint8_t> codes(256);
  std::iota(codes.begin(), codes.end(), uint8_t{0});
  return codes;
}
Tensor cast_there(const Tensor& x, DType dtype) {
  return tenon::cast(tenon::to(x, device()), dtype);
}

template <class T>
std::vector<T> decoded(const Format& format) {
  return cast_there(bytes_as(format, all_codes()), tenon::dtype_of<T>).template to_vector<T>();
}

// Casts `numbers` to both formats; `exact` holds their values.
template <class T>
void expect_rounded(const std::vector<T>& numbers, const std::vector<double>& exact) {
  const int64_t n = static_cast<int64_t>(numbers.size());
  const Tensor x = tenon::tensor(numbers, {n});
  for (const Format& format : kFormats) {
    const std::vector<uint8_t> got = codes_of(cast_there(x, format.dtype));
    size_t wrong = 0;
    for (size_t i = 0; i < exact.size(); ++i) {
      const uint32_t wanted = format.nearest(exact[i]);
      if (std::isnan(format.value(wanted)) && std::isnan(format.value(got[i])) &&
          std::isnan(exact[i]))
        continue;
      if (got[i] != wanted && ++wrong <= 5)
        ADD_FAILURE() << exact[i] << " became code " << int{got[i]} << ", wanted " << wanted
                      << " of " << tenon::name_of(format.dtype);
    }
    EXPECT_EQ(wrong, 0u);
  }
}

TEST(Float8, EveryCodeWidens) {
  for (const Format& format : kFormats) {
    const std::vector<float> wide = decoded<float>(format);
    const std::vector<double> wider = decoded<double>(format);
    const auto half = decoded<tenon::F16>(format);
    const auto brain = decoded<tenon::BF16>(format);
    const auto complex = decoded<std::complex<float>>(format);
    const auto same = codes_of(cast_there(bytes_as(format, all_codes()), format.dtype));
    for (uint32_t code = 0; code < 256; ++code) {
      const double wanted = format.value(code);
      if (std::isnan(wanted)) {
        EXPECT_TRUE(std::isnan(wide[code]) && std::isnan(wider[code]) && std::isnan(half[code]) &&
                    std::isnan(brain[code]) && std::isnan(complex[code].real()))
            << code;
      } else {
        EXPECT_EQ(std::bit_cast<uint64_t>(wider[code]), std::bit_cast<uint64_t>(wanted)) << code;
        EXPECT_TRUE(wide[code] == wanted && half[code] == wanted && brain[code] == wanted) << code;
        EXPECT_EQ(complex[code], std::complex<float>(static_cast<float>(wanted))) << code;
      }
      EXPECT_TRUE(std::isnan(wanted) ? std::isnan(format.value(same[code])) : same[code] == code)
          << code;
    }
  }
}

TEST(Float8, EveryHalfRounds) {
  std::vector<tenon::F16> halves(65536);
  std::vector<tenon::BF16> brains(65536);
  std::vector<double> half_values(65536), brain_values(65536);
  for (uint32_t i = 0; i < 65536; ++i) {
    halves[i].bits = brains[i].bits = static_cast<uint16_t>(i);
    half_values[i] = halves[i];
    brain_values[i] = brains[i];
  }
  expect_rounded(halves, half_values);
  expect_rounded(brains, brain_values);
}

// Numbers around each value and each midpoint, and numbers for which rounding to f32 first would land on a midpoint.
TEST(Float8, TiesAndTheirNeighbours) {
  std::vector<double> exact{0.0,    -0.0,  kNan, -kNan, kInf, -kInf,
                            1e-300, 1e300, 3e38, 464,   480,  61440};
  for (const Format& format : kFormats)
    for (uint32_t code = 0; code <= format.largest(); ++code) {
      const double low = format.value(code);
      const double high = code < format.largest()
                              ? format.value(code + 1)
                              : 2 * low - format.value(code - 1);  // where rounding overflows
      for (const double at : {low, (low + high) / 2})
        for (const double x : {at, std::nextafter(at, kInf), std::nextafter(at, -kInf),
                               at * (1 + 1e-9), at * (1 - 1e-9)})
          exact.push_back(x), exact.push_back(-x);
    }
  expect_rounded(exact, exact);
  std::vector<float> singles;
  std::vector<double> single_values;
  for (const double x : exact)
    for (const float f :
         {static_cast<float>(x),
          std::nextafter(static_cast<float>(x), std::numeric_limits<float>::infinity()),
          std::nextafter(static_cast<float>(x), -std::numeric_limits<float>::infinity())}) {
      singles.push_back(f);
      single_values.push_back(f);
    }
  expect_rounded(singles, single_values);
  std::vector<std::complex<float>> complex(singles.begin(), singles.end());
  expect_rounded(complex, single_values);
}

TEST(Float8, IntegersAndBool) {
  std::vector<int32_t> whole;
  for (int32_t i = -1100; i <= 1100; ++i) whole.push_back(i);
  for (int32_t i = 1000; i < 140000; i += 97) whole.push_back(i), whole.push_back(-i);
  expect_rounded(whole, std::vector<double>(whole.begin(), whole.end()));
  const std::vector<int64_t> wide(whole.begin(), whole.end());
  expect_rounded(wide, std::vector<double>(wide.begin(), wide.end()));
  std::vector<uint8_t> small = all_codes();
  expect_rounded(small, std::vector<double>(small.begin(), small.end()));
  for (const Format& format : kFormats) {
    const Tensor x = bytes_as(format, all_codes());
    const auto truth = cast_there(x, DType::Bool).to_vector<bool>();
    const auto integers = cast_there(x, DType::I32).to_vector<int32_t>();
    const auto bytes = cast_there(x, DType::U8).to_vector<uint8_t>();
    for (uint32_t code = 0; code < 256; ++code) {
      const double value = format.value(code);
      EXPECT_EQ(truth[code], value != 0) << code;
      const double whole_part = std::isnan(value) ? 0 : std::trunc(value);
      EXPECT_EQ(integers[code], std::clamp(whole_part, -0x1p31, 0x1p31 - 1)) << code;
      EXPECT_EQ(bytes[code], std::clamp(whole_part, 0.0, 255.0)) << code;
    }
    const Tensor flags = tenon::cast(tenon::tensor({0, 1, 2}), DType::Bool);
    EXPECT_EQ(cast_there(cast_there(flags, format.dtype), DType::F32).to_vector<float>(),
              (std::vector<float>{0, 1, 1}));
  }
}

// Conversion from one format to the other.
TEST(Float8, AcrossFormats) {
  for (int from = 0; from < 2; ++from) {
    const Format &source = kFormats[from], &target = kFormats[1 - from];
    const auto got = codes_of(cast_there(bytes_as(source, all_codes()), target.dtype));
    for (uint32_t code = 0; code < 256; ++code)
      if (!std::isnan(source.value(code))) {
        EXPECT_EQ(got[code], target.nearest(source.value(code))) << code;
      } else {
        EXPECT_TRUE(std::isnan(target.value(got[code]))) << code;
      }
  }
}

// The C++ types convert like the kernels.
TEST(Float8, TypesOfTheApi) {
  for (uint32_t i = 0; i < 65536; ++i) {
    tenon::F16 half;
    half.bits = static_cast<uint16_t>(i);
    const float x = half;
    if (std::isnan(x)) continue;
    ASSERT_EQ(F8E4M3(x).bits, kFormats[0].nearest(x)) << x;
    ASSERT_EQ(F8E5M2(x).bits, kFormats[1].nearest(x)) << x;
  }
  for (uint32_t code = 0; code < 256; ++code) {
    F8E4M3 a;
    F8E5M2 b;
    a.bits = b.bits = static_cast<uint8_t>(code);
    const double x = kFormats[0].value(code), y = kFormats[1].value(code);
    EXPECT_TRUE(std::isnan(x) ? std::isnan(a) : a == x) << code;
    EXPECT_TRUE(std::isnan(y) ? std::isnan(b) : b == y) << code;
  }
}

// Filling with numbers, views, and ops that only move elements.
TEST(Float8, HoldsNumbers) {
  for (const Format& format : kFormats) {
    const Tensor x = tenon::full({2, 3}, 2.7, format.dtype, device());
    EXPECT_EQ(x.dtype(), format.dtype);
    EXPECT_EQ(tenon::cast(x, DType::F32).to_vector<float>(),
              std::vector<float>(6, static_cast<float>(format.value(format.nearest(2.7)))));
    const Tensor y = cast_there(tenon::reshape(tenon::arange(0, 6, 1), {2, 3}), format.dtype);
    const auto floats = [](const Tensor& t) {
      return tenon::cast(t, DType::F32).to_vector<float>();
    };
    EXPECT_EQ(floats(tenon::contiguous(tenon::transpose(y, 0, 1))),
              (std::vector<float>{0, 3, 1, 4, 2, 5}));
    EXPECT_EQ(floats(tenon::concat({y, y}, 1)),
              (std::vector<float>{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}));
    EXPECT_EQ(
        floats(tenon::where(tenon::to(tenon::tensor({true, false, true}), device()), y, x))[3], 3);
  }
}

}  // namespace
