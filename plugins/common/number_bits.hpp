// A number as the bits of an element, for values that the host computes ahead of a kernel.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "tenon/dtype.h"
#include "tenon/float_formats.h"

namespace tenon {

// The bits of an integer's element, and how many of them hold its magnitude.
inline int whole_width(tn_dtype dtype) { return 8 << (dtype - 1) % 4; }
inline int whole_digits(tn_dtype dtype) {
  return whole_width(dtype) - (dtype >= TN_DTYPE_I8 ? 1 : 0);
}
inline uint64_t whole_mask(tn_dtype dtype) { return ~uint64_t{0} >> (64 - whole_width(dtype)); }

inline uint64_t whole_bits(tn_dtype dtype, double value) {
  const bool is_signed = dtype >= TN_DTYPE_I8;
  const int digits = whole_digits(dtype);
  const double end = std::ldexp(1.0, digits), low = is_signed ? -end : 0;
  if (value != value) return 0;
  if (value >= end) return ~uint64_t{0} >> (64 - digits);
  if (value <= low) return is_signed ? uint64_t{1} << digits : 0;
  return whole_mask(dtype) & (value < 0 ? static_cast<uint64_t>(static_cast<int64_t>(value))
                                        : static_cast<uint64_t>(value));
}
inline uint64_t whole_bits(tn_dtype dtype, int64_t value) {
  return static_cast<uint64_t>(value) & whole_mask(dtype);
}

// Converts like a cast: rounds to nearest, clamps to the range of integers, where NaN gives 0; for bool anything but 0 is true. `Number`
// is double or int64_t; complex dtypes have no bits here.
template <class Number>
uint64_t number_bits(tn_dtype dtype, Number value) {
  switch (dtype) {
    case TN_DTYPE_BOOL:
      return value != 0 ? 1 : 0;
    case TN_DTYPE_F16:
      return tn_f32_to_f16(static_cast<float>(value));
    case TN_DTYPE_BF16:
      return tn_f32_to_bf16(static_cast<float>(value));
    case TN_DTYPE_F32:
      return std::bit_cast<uint32_t>(static_cast<float>(value));
    case TN_DTYPE_F64:
      return std::bit_cast<uint64_t>(static_cast<double>(value));
    case TN_DTYPE_F8_E4M3:
      return tn_f32_to_f8_e4m3(static_cast<float>(value));
    case TN_DTYPE_F8_E5M2:
      return tn_f32_to_f8_e5m2(static_cast<float>(value));
    default:
      return whole_bits(dtype, value);
  }
}

}  // namespace tenon
