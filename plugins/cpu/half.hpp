// f16, bf16 and 8-bit floats as storage: arithmetic happens in f32. Conversions round to nearest, ties to even.
#pragma once

#include <cstdint>

#include "../common/float8.hpp"
#include "../common/half.hpp"

namespace tenon::cpu {

struct F16 {
  uint16_t bits;
  F16() = default;
  F16(float value) : bits(float_to_half(value)) {}
  operator float() const { return half_to_float(bits); }
};

struct BF16 {
  uint16_t bits;
  BF16() = default;
  BF16(float value) : bits(float_to_bfloat(value)) {}
  operator float() const { return bfloat_to_float(bits); }
};

template <uint32_t kMantissa>
struct Float8 {
  uint8_t bits;
  Float8() = default;
  Float8(float value) : bits(float_to_float8<kMantissa>(value)) {}
  operator float() const { return float8_to_float<kMantissa>(bits); }
};
using F8E4M3 = Float8<3>;
using F8E5M2 = Float8<2>;

}  // namespace tenon::cpu
