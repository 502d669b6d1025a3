// Rows of integers of eight bits times rows of a weight, by AVX-512 VNNI (Intel 64 and IA-32 Architectures Software Developer's Manual,
// VPDPBUSD). A weight (out, n) is read as it lies: its rows and those of x are dotted along n, so nothing is packed.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ops/quantize_rows.hpp"
#include "threads.hpp"

namespace tenon::cpu {

constexpr int kVnniColumns = 4;       // of the weight, and of the result, at once
constexpr int kVnniRows = 4;          // of x at once
constexpr int64_t kVnniAhead = 8192;  // bytes of the weight that are on their way

// Rows of x, each less its zero point, `stride` bytes apart with zeros up to there.
struct Bytes {
  const uint8_t* data;
  const int32_t* zeros;  // NULL: all are 0
  int64_t rows, stride;
};
struct ByteWeight {
  const int8_t* data;
  int64_t outputs, n;
};
// What a piece of the result is: up to kVnniRows rows of kVnniColumns sums, one after another in a vector.
struct Piece {
  int64_t row, column;
  int rows;
  __mmask8 columns;
};

// A number for each row of a piece, once for each of its columns.
TENON_VNNI inline __m512i by_rows(const void* numbers, int rows) {
  const __m512i spread = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
  const __m128i few = _mm_maskz_loadu_epi32(static_cast<__mmask8>((1 << rows) - 1), numbers);
  return _mm512_permutexvar_epi32(spread, _mm512_castsi128_si512(few));
}

// A number for each column.
TENON_VNNI inline __m512 by_columns(const float* numbers, const Piece& at) {
  return _mm512_broadcast_f32x4(_mm_maskz_loadu_ps(at.columns, numbers + at.column));
}
// The quarters of a vector into rows of a result. Whole vectors are stored under a mask: of quarters GCC makes VEXTRACTI32X4,
// which touches what its mask leaves out.
TENON_VNNI inline void store_rows(__m512i v, const Piece& at, void* out, int64_t outputs) {
  auto* to = static_cast<int32_t*>(out) + at.row * outputs + at.column;
  _mm512_mask_storeu_epi32(to, at.columns, v);
  if (at.rows == 1) return;
  _mm512_mask_storeu_epi32(to + outputs, at.columns, _mm512_shuffle_i32x4(v, v, 1));
  _mm512_mask_storeu_epi32(to + 2 * outputs, at.columns, _mm512_shuffle_i32x4(v, v, 2));
  _mm512_mask_storeu_epi32(to + 3 * outputs, at.columns, _mm512_shuffle_i32x4(v, v, 3));
}

// Four quarters with the sums of the lanes of four vectors, in parts.
TENON_VNNI inline __m512i partial_sums(const __m512i (&v)[kVnniColumns]) {
  const __m512i ab =
      _mm512_add_epi32(_mm512_unpacklo_epi32(v[0], v[1]), _mm512_unpackhi_epi32(v[0], v[1]));
  const __m512i cd =
      _mm512_add_epi32(_mm512_unpacklo_epi32(v[2], v[3]), _mm512_unpackhi_epi32(v[2], v[3]));
  return _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
}
// The quarters of each of four vectors added up, one of them after another.
TENON_VNNI inline __m512i add_quarters(__m512i a, __m512i b, __m512i c, __m512i d) {
  const __m512i ab =
      _mm512_add_epi32(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xdd));
  const __m512i cd =
      _mm512_add_epi32(_mm512_shuffle_i32x4(c, d, 0x88), _mm512_shuffle_i32x4(c, d, 0xdd));
  return _mm512_add_epi32(_mm512_shuffle_i32x4(ab, cd, 0x88), _mm512_shuffle_i32x4(ab, cd, 0xdd));
}

TENON_VNNI inline __m512i entries_at(const int8_t* row, int64_t p, int64_t n) {
  const __mmask64 there = n - p >= kVnniLanes ? ~__mmask64{0} : (__mmask64{1} << (n - p)) - 1;
  return _mm512_maskz_loadu_epi8(there, row + p);
}

// R rows of x times kVnniColumns rows of the weight.
template <int R>
TENON_VNNI inline __m512i dots(const uint8_t* x, int64_t stride, const int8_t* const* weight,
                               int64_t n) {
  __m512i sum[R][kVnniColumns];
  for (int i = 0; i < R; ++i)
    for (int j = 0; j < kVnniColumns; ++j) sum[i][j] = _mm512_setzero_si512();
  for (int64_t p = 0; p < n; p += kVnniLanes) {
    __m512i entries[kVnniColumns];
#pragma GCC unroll 4
    for (int j = 0; j < kVnniColumns; ++j) entries[j] = entries_at(weight[j], p, n);
#pragma GCC unroll 4
    for (int i = 0; i < R; ++i) {
      const __m512i row = _mm512_loadu_si512(x + i * stride + p);
#pragma GCC unroll 4
      for (int j = 0; j < kVnniColumns; ++j)
        sum[i][j] = _mm512_dpbusd_epi32(sum[i][j], row, entries[j]);
    }
  }
  __m512i part[kVnniRows];
#pragma GCC unroll 4
  for (int i = 0; i < kVnniRows; ++i) part[i] = partial_sums(sum[i < R ? i : 0]);
  return add_quarters(part[0], part[1], part[2], part[3]);
}

// Of kVnniColumns rows of the weight, once for each row of a piece: what a zero point of 1 adds.
TENON_VNNI inline __m512i row_sums(const int8_t* const* weight, int64_t n) {
  const __m512i ones = _mm512_set1_epi8(1);
  __m512i sum[kVnniColumns];
  for (__m512i& one : sum) one = _mm512_setzero_si512();
  for (int64_t p = 0; p < n; p += kVnniLanes)
#pragma GCC unroll 4
    for (int j = 0; j < kVnniColumns; ++j) {
      _mm_prefetch(weight[j] + p + kVnniAhead, _MM_HINT_T0);  // behind the end it does nothing
      sum[j] = _mm512_dpbusd_epi32(sum[j], ones, entries_at(weight[j], p, n));
    }
  const __m512i all = partial_sums(sum);
  return add_quarters(all, all, all, all);
}

// The result for x, rows [row, last_row), and these columns; out.store(sums, piece) takes it.
template <class Out>
TENON_VNNI void vnni_block(const Bytes& x, int64_t row, int64_t last_row, const ByteWeight& w,
                           int64_t column, int64_t last_column, const Out& out) {
  for (; column < last_column; column += kVnniColumns) {
    const int count = static_cast<int>(std::min<int64_t>(kVnniColumns, last_column - column));
    const int8_t* rows[kVnniColumns];
    for (int j = 0; j < kVnniColumns; ++j) rows[j] = w.data + (column + (j < count ? j : 0)) * w.n;
    const __m512i of_zeros = x.zeros == nullptr ? _mm512_setzero_si512() : row_sums(rows, w.n);
    Piece piece = {row, column, 0, static_cast<__mmask8>((1 << count) - 1)};
    for (; piece.row < last_row; piece.row += piece.rows) {
      piece.rows = piece.row + kVnniRows <= last_row ? kVnniRows : 1;
      const uint8_t* const from = x.data + piece.row * x.stride;
      const __m512i sums = piece.rows == 1 ? dots<1>(from, x.stride, rows, w.n)
                                           : dots<kVnniRows>(from, x.stride, rows, w.n);
      if (x.zeros == nullptr) {
        out.store(sums, piece);
        continue;
      }
      const __m512i zeros = by_rows(x.zeros + piece.row, piece.rows);
      out.store(_mm512_sub_epi32(sums, _mm512_mullo_epi32(zeros, of_zeros)), piece);
    }
  }
}

// All of it, over the threads.
template <class Out>
void vnni_product(const Bytes& x, const ByteWeight& w, const Out& out) {
  constexpr int64_t kBytes = 32 << 10;  // of x, which stay in the first cache
  constexpr int64_t kColumns = 64;
  const int64_t height = std::max<int64_t>(kVnniRows, kBytes / x.stride / kVnniRows * kVnniRows);
  const int64_t across = (w.outputs + kColumns - 1) / kColumns;
  const int64_t count = (x.rows + height - 1) / height * across;
  const int64_t work = std::min(height, x.rows) * std::min(kColumns, w.outputs) * w.n;
  const int64_t grain = std::max<int64_t>(1, 16 * kGrainMath / work);
  parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      const int64_t row = at / across * height, column = at % across * kColumns;
      vnni_block(x, row, std::min(x.rows, row + height), w, column,
                 std::min(w.outputs, column + kColumns), out);
    }
  });
}

}  // namespace tenon::cpu
