/* f16, bf16 and the 8-bit floats as bits: conversions to f32, which are exact, and from f32, to
   the nearest value and to the even one of two (roundTiesToEven). Inline only; nothing of
   libtenon is needed. Without a branch, so that loops vectorise; constexpr in C++, so that
   compilers of GPUs take them for devices, too. No step needs subnormal numbers of f32, which a
   program may have switched off. The formats: binary16 of IEEE 754-2019, 3.6; bf16 is the upper
   half of binary32; E4M3 and E5M2 of "OCP 8-bit Floating Point Specification (OFP8)", revision
   1.0, 2023, and P. Micikevicius et al., "FP8 Formats for Deep Learning", 2022,
   arXiv:2209.05433. What is too large for E4M3, which has no infinity, becomes NaN; for the
   others, infinity. NaN keeps its sign; f16 and bf16 keep as much of what it carries as they
   hold, and f32 all; from f32 it becomes quiet. */
#ifndef TENON_FLOAT_FORMATS_H
#define TENON_FLOAT_FORMATS_H

#include <stdint.h>

#ifdef __cplusplus
#define TENON_FORMATS_FN __attribute__((visibility("hidden"))) constexpr
#define TENON_FORMATS_AS(type, value) static_cast<type>(value)
#else
#include <string.h>
#define TENON_FORMATS_FN static inline
#define TENON_FORMATS_AS(type, value) ((type)(value))
#endif

/* ---- What the conversions are made of ------------------------------------------------------------------------------------- */

/* The bits of a binary32, and back. */
TENON_FORMATS_FN uint32_t tn_f32_to_bits(float value) {
#ifdef __cplusplus
  return __builtin_bit_cast(uint32_t, value);
#else
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
#endif
}
TENON_FORMATS_FN float tn_bits_to_f32(uint32_t bits) {
#ifdef __cplusplus
  return __builtin_bit_cast(float, bits);
#else
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
#endif
}

/* All bits where a < b, none elsewhere: a choice by bits stays a choice where one by ?: may become a branch. */
TENON_FORMATS_FN uint32_t tn_bits_if_less(uint32_t a, uint32_t b) {
  return 0u -
         TENON_FORMATS_AS(uint32_t, TENON_FORMATS_AS(int32_t, a) < TENON_FORMATS_AS(int32_t, b));
}

/* A format of so many bits with so many of mantissa, this bias, and codes of infinity or NaN from `special` on: as f32. */
TENON_FORMATS_FN float tn_widen(uint32_t all, uint32_t bits, uint32_t mantissa, uint32_t bias,
                                uint32_t special) {
  const uint32_t last = bits - 1, sign = all >> last, code = all & ((1u << last) - 1);
  const uint32_t subnormal = tn_bits_if_less(code, 1u << mantissa);
  /* The exponent of a subnormal is one more than it says, and there is no leading one: it is taken off again. */
  const uint32_t one = subnormal & ((128 - bias) << 23);
  const uint32_t moved = (code << (23 - mantissa)) + ((127 - bias) << 23) + (subnormal & 0x800000u);
  const uint32_t finite = tn_f32_to_bits(tn_bits_to_f32(moved) - tn_bits_to_f32(one));
  return tn_bits_to_f32(sign << 31 | finite | (tn_bits_if_less(special - 1, code) & 0x7f800000u));
}

/* The code of the nearest number, without its sign, of a magnitude in bits of f32; at most `special`. */
TENON_FORMATS_FN uint32_t tn_narrow(uint32_t magnitude, uint32_t mantissa, uint32_t bias,
                                    uint32_t special) {
  const uint32_t shift = 23 - mantissa, least = (128 - bias) << 23;
  /* A number whose last bit in f32 is worth what a subnormal's is: the sum is rounded there. */
  const uint32_t aligned = least + (shift << 23);
  const uint32_t small =
      tn_f32_to_bits(tn_bits_to_f32(magnitude) + tn_bits_to_f32(aligned)) - aligned;
  /* Half of the last bit where that is odd, just below half where it is even. */
  const uint32_t half = (1u << (shift - 1)) - 1 + (magnitude >> shift & 1);
  const uint32_t normal = (magnitude - ((127 - bias) << 23) + half) >> shift;
  const uint32_t rounded = normal ^ ((normal ^ small) & tn_bits_if_less(magnitude, least));
  return rounded ^ ((rounded ^ special) & tn_bits_if_less(special, rounded));
}

/* ---- Conversions ------------------------------------------------------------------------------------------------------------ */

/* IEEE 754 binary16. [thread-safe] */
TENON_FORMATS_FN float tn_f16_to_f32(uint16_t bits) { return tn_widen(bits, 16, 10, 15, 0x7c00u); }
TENON_FORMATS_FN uint16_t tn_f32_to_f16(float value) {
  const uint32_t all = tn_f32_to_bits(value), magnitude = all & 0x7fffffffu;
  const uint32_t nan = tn_bits_if_less(0x7f800000u, magnitude);
  const uint32_t kept = nan & (0x200u | (magnitude >> 13 & 0x3ffu));
  return TENON_FORMATS_AS(uint16_t,
                          (all >> 16 & 0x8000u) | tn_narrow(magnitude, 10, 15, 0x7c00u) | kept);
}

/* bfloat16. [thread-safe] */
TENON_FORMATS_FN float tn_bf16_to_f32(uint16_t bits) {
  return tn_bits_to_f32(TENON_FORMATS_AS(uint32_t, bits) << 16);
}
TENON_FORMATS_FN uint16_t tn_f32_to_bf16(float value) {
  const uint32_t bits = tn_f32_to_bits(value);
  const uint32_t nan = tn_bits_if_less(0x7f800000u, bits & 0x7fffffffu);
  const uint32_t rounded = bits + (~nan & (0x7fffu + (bits >> 16 & 1)));
  return TENON_FORMATS_AS(uint16_t, (rounded | (nan & 0x400000u)) >> 16);
}

/* OFP8 E4M3: to 448. [thread-safe] */
TENON_FORMATS_FN float tn_f8_e4m3_to_f32(uint8_t bits) { return tn_widen(bits, 8, 3, 7, 0x7fu); }
TENON_FORMATS_FN uint8_t tn_f32_to_f8_e4m3(float value) {
  const uint32_t all = tn_f32_to_bits(value), magnitude = all & 0x7fffffffu;
  const uint32_t nan = tn_bits_if_less(0x7f800000u, magnitude);
  return TENON_FORMATS_AS(uint8_t,
                          (all >> 24 & 0x80u) | tn_narrow(magnitude, 3, 7, 0x7fu) | (nan & 0x7fu));
}

/* OFP8 E5M2: to 57344. [thread-safe] */
TENON_FORMATS_FN float tn_f8_e5m2_to_f32(uint8_t bits) { return tn_widen(bits, 8, 2, 15, 0x7cu); }
TENON_FORMATS_FN uint8_t tn_f32_to_f8_e5m2(float value) {
  const uint32_t all = tn_f32_to_bits(value), magnitude = all & 0x7fffffffu;
  const uint32_t nan = tn_bits_if_less(0x7f800000u, magnitude);
  return TENON_FORMATS_AS(uint8_t,
                          (all >> 24 & 0x80u) | tn_narrow(magnitude, 2, 15, 0x7cu) | (nan & 0x7fu));
}

#undef TENON_FORMATS_AS
#undef TENON_FORMATS_FN
#endif
