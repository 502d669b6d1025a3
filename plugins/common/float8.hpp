// The 8-bit floats of the OCP specification and f32: 3 bits of mantissa are E4M3 (no infinity), 2 are E5M2. Without a branch,
// so that loops vectorise; constexpr, so that a GPU's compiler takes them for its own side, too.
#pragma once

#include <bit>
#include <cstdint>

namespace tenon {

// Exact. NaN and infinity keep what follows their exponent.
template <uint32_t kMantissa>
constexpr float float8_to_float(uint8_t bits) {
  constexpr bool kWide = kMantissa == 2;
  constexpr uint32_t kShift = 23 - kMantissa;
  const uint32_t sign = static_cast<uint32_t>(bits & 0x80u) << 24, magnitude = bits & 0x7fu;
  const uint32_t special = 0x7f800000u | (kWide ? (magnitude & 3u) << kShift : 0x400000u);
  // The exponents' biases differ by 112 or 120; the product is exact, subnormals included.
  const uint32_t scaled = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude << kShift) *
                                                  (kWide ? 0x1p112f : 0x1p120f));
  return std::bit_cast<float>(sign | (magnitude > (kWide ? 0x7bu : 0x7eu) ? special : scaled));
}

// The nearest, ties to even. Beyond the largest: infinity in E5M2, NaN in E4M3.
template <uint32_t kMantissa>
constexpr uint8_t float_to_float8(float value) {
  constexpr bool kWide = kMantissa == 2;
  constexpr uint32_t kShift = 23 - kMantissa, kBias = kWide ? 0x38000000u : 0x3c000000u;
  constexpr float kAlign = kWide ? 0x1p7f : 0x1p14f;
  const uint32_t all = std::bit_cast<uint32_t>(value), magnitude = all & 0x7fffffffu;
  const uint32_t normal =
      (magnitude - kBias + (1u << (kShift - 1)) - 1 + (magnitude >> kShift & 1u)) >> kShift;
  // The sum of a subnormal and what aligns it rounds the last bit.
  const uint32_t small = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + kAlign) -
                         (kWide ? 0x43000000u : 0x46800000u);
  uint32_t rounded = magnitude < kBias + 0x800000u ? small : normal;
  // Half-way to what would follow the largest goes to the even side.
  rounded = magnitude >= (kWide ? 0x47700000u : 0x43e80001u) ? (kWide ? 0x7cu : 0x7fu) : rounded;
  rounded = magnitude > 0x7f800000u ? 0x7fu : rounded;
  return static_cast<uint8_t>((all >> 24 & 0x80u) | rounded);
}

}  // namespace tenon
