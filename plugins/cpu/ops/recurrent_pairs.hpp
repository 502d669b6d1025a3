// Products of rows of bf16 with a panel, summed in f32, by AVX-512 BF16 (Intel 64 and IA-32 Architectures Software Developer's Manual,
// VDPBF16PS): two neighbours in a row at once, so the panel holds pairs, each as the bits of a float.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "half.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tenon::cpu {

template <class F>
inline constexpr bool kPairs = std::is_same_v<F, BF16>;

// Of two rows, side by side as a panel has them.
inline void join_pairs(const BF16* low, const BF16* high, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t pair = low[i].bits | static_cast<uint32_t>(high[i].bits) << 16;
    std::memcpy(out + i, &pair, sizeof pair);
  }
}

// c = a·b: rows of a of 2·k numbers, a panel b of up to three vectors, of which the last has `last` columns.
struct Pairs {
  int64_t k;
  const BF16* a;
  int64_t a_row;
  const float* b;
  int64_t b_row;
  float* c;
  int64_t c_row, last;
};

#if defined(__x86_64__)
#define TENON_BF16 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))

inline bool multiplies_pairs() {
  return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

template <int R, int V>
TENON_BF16 int64_t multiply_tile(const Pairs& t) {
  __m512 sum[R][V];
#pragma GCC unroll 12
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 3
    for (int j = 0; j < V; ++j) sum[i][j] = _mm512_setzero_ps();
  const float* b = t.b;
  for (int64_t p = 0; p < t.k; ++p, b += t.b_row) {
    __m512bh right[V];
#pragma GCC unroll 3
    for (int j = 0; j < V; ++j) right[j] = reinterpret_cast<__m512bh>(_mm512_loadu_ps(b + 16 * j));
#pragma GCC unroll 12
    for (int i = 0; i < R; ++i) {
      int32_t pair;
      std::memcpy(&pair, t.a + i * t.a_row + 2 * p, sizeof pair);
      const auto left = reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair));
#pragma GCC unroll 3
      for (int j = 0; j < V; ++j) sum[i][j] = _mm512_dpbf16_ps(sum[i][j], left, right[j]);
    }
  }
  const auto last = static_cast<__mmask16>((1 << t.last) - 1);
#pragma GCC unroll 12
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 3
    for (int j = 0; j < V; ++j)
      _mm512_mask_storeu_ps(t.c + i * t.c_row + 16 * j, j + 1 == V ? last : __mmask16(-1),
                            sum[i][j]);
  return R;
}
// As many of the rows as one tile takes: more than one where it can, whose sums hide the latency.
template <int V>
int64_t multiply_some(const Pairs& t, int64_t rows) {
  if (V < 3 && rows >= 12) return multiply_tile<12, V>(t);
  if (rows >= 8 && rows != 9) return multiply_tile<8, V>(t);
  if (rows >= 6 && rows != 7) return multiply_tile<6, V>(t);
  if (rows >= 4 && rows != 5) return multiply_tile<4, V>(t);
  if (rows >= 3) return multiply_tile<3, V>(t);
  return rows == 2 ? multiply_tile<2, V>(t) : multiply_tile<1, V>(t);
}
inline void multiply_pairs(Pairs t, int64_t vectors, int64_t rows) {
  while (rows > 0) {
    const int64_t done = vectors == 1   ? multiply_some<1>(t, rows)
                         : vectors == 2 ? multiply_some<2>(t, rows)
                                        : multiply_some<3>(t, rows);
    rows -= done;
    t.a += done * t.a_row;
    t.c += done * t.c_row;
  }
}
#endif

}  // namespace tenon::cpu
