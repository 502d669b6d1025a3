// f16 and bf16 as storage: arithmetic happens in f32. Conversions round to nearest, ties to even.
#pragma once

#include <cstdint>

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

}  // namespace tenon::cpu
