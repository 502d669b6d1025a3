#include "number_bits.hpp"

#include <bit>
#include <cmath>

#include "launch.hpp"

namespace tenon::vulkan {
namespace {

uint32_t half_bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), sign = bits >> 16 & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u;
  if (magnitude >= 0x47800000u) return sign | 0x7c00u;
  // Below the normal range an element counts multiples of 2^-24.
  if (magnitude < 0x38800000u)
    return sign |
           static_cast<uint32_t>(std::nearbyint(std::bit_cast<float>(magnitude) * 16777216.0f));
  return sign | (magnitude + 0xfffu + (magnitude >> 13 & 1u) - 0x38000000u) >> 13;
}

uint32_t bfloat_bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value != value) return bits >> 16 | 0x40u;
  return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}

uint64_t mask_of(tn_dtype dtype) {
  return size_of(dtype) >= 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * size_of(dtype)) - 1;
}

uint64_t whole_bits(tn_dtype dtype, double value) {
  const bool is_signed = dtype >= TN_DTYPE_I8;
  const int digits = static_cast<int>(8 * size_of(dtype)) - (is_signed ? 1 : 0);
  const double end = std::ldexp(1.0, digits), low = is_signed ? -end : 0;
  if (value != value) return 0;
  if (value >= end) return digits == 64 ? ~uint64_t{0} : (uint64_t{1} << digits) - 1;
  if (value <= low) return is_signed ? uint64_t{1} << digits : 0;
  return mask_of(dtype) & (value < 0 ? static_cast<uint64_t>(static_cast<int64_t>(value))
                                     : static_cast<uint64_t>(value));
}

uint64_t whole_bits(tn_dtype dtype, int64_t value) {
  return static_cast<uint64_t>(value) & mask_of(dtype);
}

template <class Number>
uint64_t bits_of(tn_dtype dtype, Number value) {
  switch (dtype) {
    case TN_DTYPE_BOOL:
      return value != 0 ? 1 : 0;
    case TN_DTYPE_F16:
      return half_bits(static_cast<float>(value));
    case TN_DTYPE_BF16:
      return bfloat_bits(static_cast<float>(value));
    case TN_DTYPE_F32:
      return std::bit_cast<uint32_t>(static_cast<float>(value));
    case TN_DTYPE_F64:
      return std::bit_cast<uint64_t>(static_cast<double>(value));
    default:
      return whole_bits(dtype, value);
  }
}

}  // namespace

uint64_t number_bits(tn_dtype dtype, double value) { return bits_of(dtype, value); }
uint64_t number_bits(tn_dtype dtype, int64_t value) { return bits_of(dtype, value); }

}  // namespace tenon::vulkan
