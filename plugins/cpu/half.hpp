// f16, bf16 and 8-bit floats as storage: arithmetic happens in f32. Conversions round to nearest, ties to even.
#pragma once

#include <cstdint>

#include "tenon/float_formats.h"

namespace tenon::cpu {

struct F16 {
  uint16_t bits;
  F16() = default;
  F16(float value) : bits(tn_f32_to_f16(value)) {}
  operator float() const { return tn_f16_to_f32(bits); }
};

struct BF16 {
  uint16_t bits;
  BF16() = default;
  BF16(float value) : bits(tn_f32_to_bf16(value)) {}
  operator float() const { return tn_bf16_to_f32(bits); }
};

template <uint32_t kMantissa>
struct Float8 {
  uint8_t bits;
  Float8() = default;
  Float8(float value)
      : bits(kMantissa == 3 ? tn_f32_to_f8_e4m3(value) : tn_f32_to_f8_e5m2(value)) {}
  operator float() const {
    return kMantissa == 3 ? tn_f8_e4m3_to_f32(bits) : tn_f8_e5m2_to_f32(bits);
  }
};
using F8E4M3 = Float8<3>;
using F8E5M2 = Float8<2>;

}  // namespace tenon::cpu
