// Rows of f32 as integers of eight bits from 0 to 255, with AVX-512, for products by VNNI.
#pragma once

// GCC takes what these functions leave undefined on purpose for a mistake (its bug 105593).
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop

#define TENON_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))

#include <cmath>
#include <cstdint>

namespace tenon::cpu {

constexpr int64_t kVnniLanes = 64;  // entries of a vector

TENON_VNNI inline __mmask16 first_of(int64_t rest) {
  return static_cast<__mmask16>(rest >= 16 ? 0xffff : rest <= 0 ? 0 : (1 << rest) - 1);
}

struct Range {
  float low, high;
};
// Of a row, 0 included; a NaN is passed over.
TENON_VNNI inline Range range_of(const float* x, int64_t n) {
  __m512 low = _mm512_setzero_ps(), high = low;
  for (int64_t p = 0; p < n; p += 16) {
    const __m512 v = _mm512_maskz_loadu_ps(first_of(n - p), x + p);
    low = _mm512_min_ps(v, low), high = _mm512_max_ps(v, high);
  }
  return {_mm512_reduce_min_ps(low), _mm512_reduce_max_ps(high)};
}

// A row of reals in eight bits, with zeros behind. Returns what one of the integers stands for, and sets the zero point. A row whose
// range is not finite becomes NaN; one whose range is too narrow to be divided by becomes 0.
TENON_VNNI inline float quantize(const float* x, int64_t n, Range range, uint8_t* out,
                                 int64_t stride, int32_t& zero) {
  const float width = range.high - range.low, exact = 255 / width;
  const bool usable = std::isfinite(width) && std::isfinite(exact);
  const float steps = usable ? exact : 1;
  zero = usable ? static_cast<int32_t>(std::nearbyint(-range.low * steps)) : 0;
  const __m512 by = _mm512_set1_ps(steps);
  const __m512i shift = _mm512_set1_epi32(zero);
  for (int64_t p = 0; p < stride; p += 16) {
    const __mmask16 there = first_of(n - p);
    const __m512i whole =
        _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_maskz_loadu_ps(there, x + p), by));
    const __m512i entries =
        _mm512_max_epi32(_mm512_add_epi32(whole, shift), _mm512_setzero_si512());
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + p),
                     _mm512_maskz_cvtusepi32_epi8(there, entries));
  }
  return std::isfinite(width) ? width / 255 : NAN;
}

}  // namespace tenon::cpu
