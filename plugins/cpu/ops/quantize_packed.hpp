// Weights of eight bits (out, n) laid out for VPDPBUSD, and rows of integers times them. A strip has kStripColumns rows of the weight: its
// vectors hold four entries of each, one vector after another along n. Zeros fill up what is missing.
#pragma once

#include "ops/quantize_vnni.hpp"
#include "tenon/plugin.h"

namespace tenon::cpu {

constexpr int kStripColumns = 16, kQuad = 4;
constexpr int kTileRows = 6, kTileStrips = 4;  // whose sums stay in registers

struct PackedBytes {
  int8_t* data;
  int32_t* sums;  // of each row of the weight: what a zero point of 1 adds
  int64_t outputs, n;

  int64_t strips() const { return (outputs + kStripColumns - 1) / kStripColumns; }
  int64_t quads() const { return (n + kQuad - 1) / kQuad; }
  int64_t blocks() const { return (strips() + kTileStrips - 1) / kTileStrips; }
  int64_t strip_bytes() const { return quads() * kVnniLanes; }
  int64_t bytes() const { return strips() * strip_bytes(); }
  int64_t columns() const { return strips() * kStripColumns; }
};

// Sixteen vectors of sixteen lanes, transposed.
TENON_VNNI inline void transpose(__m512i (&v)[16]) {
  __m512i t[16];
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    const __m512i a = _mm512_unpacklo_epi32(v[i], v[i + 1]);
    const __m512i b = _mm512_unpackhi_epi32(v[i], v[i + 1]);
    const __m512i c = _mm512_unpacklo_epi32(v[i + 2], v[i + 3]);
    const __m512i d = _mm512_unpackhi_epi32(v[i + 2], v[i + 3]);
    t[i] = _mm512_unpacklo_epi64(a, c), t[i + 1] = _mm512_unpackhi_epi64(a, c);
    t[i + 2] = _mm512_unpacklo_epi64(b, d), t[i + 3] = _mm512_unpackhi_epi64(b, d);
  }
  // t[4 i + j] has columns j, j + 4, … of rows 4 i to 4 i + 3, a quarter each.
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const __m512i a = _mm512_shuffle_i32x4(t[j], t[4 + j], 0x88);
    const __m512i b = _mm512_shuffle_i32x4(t[j], t[4 + j], 0xdd);
    const __m512i c = _mm512_shuffle_i32x4(t[8 + j], t[12 + j], 0x88);
    const __m512i d = _mm512_shuffle_i32x4(t[8 + j], t[12 + j], 0xdd);
    v[j] = _mm512_shuffle_i32x4(a, c, 0x88), v[8 + j] = _mm512_shuffle_i32x4(a, c, 0xdd);
    v[4 + j] = _mm512_shuffle_i32x4(b, d, 0x88), v[12 + j] = _mm512_shuffle_i32x4(b, d, 0xdd);
  }
}

TENON_VNNI inline void pack_strip(const ByteWeight& w, int64_t strip, const PackedBytes& to) {
  const int64_t first = strip * kStripColumns;
  const int64_t rows = std::min<int64_t>(kStripColumns, w.outputs - first);
  int8_t* out = to.data + strip * to.strip_bytes();
  __m512i sum = _mm512_setzero_si512();
  for (int64_t p = 0; p < w.n; p += kVnniLanes) {
    __m512i v[16];
    for (int64_t i = 0; i < 16; ++i)
      v[i] = i < rows ? entries_at(w.data + (first + i) * w.n, p, w.n) : _mm512_setzero_si512();
    transpose(v);
    const int64_t quads = std::min<int64_t>(16, to.quads() - p / kQuad);
    for (int64_t q = 0; q < quads; ++q, out += kVnniLanes) {
      _mm512_storeu_si512(out, v[q]);
      sum = _mm512_dpbusd_epi32(sum, _mm512_set1_epi8(1), v[q]);
    }
  }
  _mm512_storeu_si512(to.sums + first, sum);
}

// Sums for R rows of x and S strips; out.store_strip(sums, row, column) takes those of a row and a strip, less what zero points add.
template <int R, int S, class Out>
TENON_VNNI inline void packed_tile(const Bytes& x, int64_t row, const PackedBytes& w, int64_t strip,
                                   const Out& out) {
  const uint8_t* const from = x.data + row * x.stride;
  const int8_t* const weight = w.data + strip * w.strip_bytes();
  const int64_t quads = w.quads(), step = w.strip_bytes();
  __m512i sum[R][S];
  for (int i = 0; i < R; ++i)
    for (int s = 0; s < S; ++s) sum[i][s] = _mm512_setzero_si512();
  for (int64_t q = 0; q < quads; ++q) {
    __m512i entries[S];
#pragma GCC unroll 4
    for (int s = 0; s < S; ++s) entries[s] = _mm512_loadu_si512(weight + s * step + q * kVnniLanes);
#pragma GCC unroll 6
    for (int i = 0; i < R; ++i) {
      int32_t quad;
      __builtin_memcpy(&quad, from + i * x.stride + q * kQuad, sizeof quad);
      const __m512i all = _mm512_set1_epi32(quad);
#pragma GCC unroll 4
      for (int s = 0; s < S; ++s) sum[i][s] = _mm512_dpbusd_epi32(sum[i][s], all, entries[s]);
    }
  }
#pragma GCC unroll 6
  for (int i = 0; i < R; ++i) {
    const __m512i zero = _mm512_set1_epi32(x.zeros == nullptr ? 0 : x.zeros[row + i]);
#pragma GCC unroll 4
    for (int s = 0; s < S; ++s) {
      const __m512i ones = _mm512_loadu_si512(w.sums + (strip + s) * kStripColumns);
      out.store_strip(_mm512_sub_epi32(sum[i][s], _mm512_mullo_epi32(zero, ones)), row + i,
                      (strip + s) * kStripColumns);
    }
  }
}

// Rows [row, last) of x times S strips.
template <int S, class Out>
TENON_VNNI void packed_strips(const Bytes& x, int64_t row, int64_t last, const PackedBytes& w,
                              int64_t strip, const Out& out) {
  for (; row + kTileRows <= last; row += kTileRows)
    packed_tile<kTileRows, S>(x, row, w, strip, out);
  for (; row + 2 <= last; row += 2) packed_tile<2, S>(x, row, w, strip, out);
  if (row < last) packed_tile<1, S>(x, row, w, strip, out);
}

// All of them times a block of kTileStrips strips.
template <class Out>
void packed_block(const Bytes& x, int64_t row, int64_t last, const PackedBytes& w, int64_t strip,
                  const Out& out) {
  switch (std::min<int64_t>(kTileStrips, w.strips() - strip)) {
    case 4:
      return packed_strips<4>(x, row, last, w, strip, out);
    case 3:
      return packed_strips<3>(x, row, last, w, strip, out);
    case 2:
      return packed_strips<2>(x, row, last, w, strip, out);
    default:
      return packed_strips<1>(x, row, last, w, strip, out);
  }
}

inline void pack_block(const ByteWeight& from, int64_t strip, const PackedBytes& to) {
  const int64_t last = std::min(to.strips(), strip + kTileStrips);
  for (; strip < last; ++strip) pack_strip(from, strip, to);
}
// All of it, over the threads.
inline void pack_bytes(const ByteWeight& from, const PackedBytes& to) {
  const int64_t grain = std::max<int64_t>(1, kGrainCopy / (kTileStrips * to.strip_bytes()));
  parallel_for(to.blocks(), grain, [&](int64_t begin, int64_t end) {
    for (; begin < end; ++begin) pack_block(from, begin * kTileStrips, to);
  });
}

// Multiplies by `w`, over the threads, and first lays `from` out there unless it is NULL. If all of x stays in the second cache, a block of
// the weight is laid out by who uses it next.
template <class Out>
void packed_product(const Bytes& x, const ByteWeight* from, const PackedBytes& w, const Out& out) {
  constexpr int64_t kRowBytes = 192 << 10;  // of x, which stay there
  const int64_t wanted = std::max<int64_t>(1, kRowBytes / x.stride / kTileRows) * kTileRows;
  const int64_t pieces = (x.rows + wanted - 1) / wanted;
  const int64_t height = ((x.rows + pieces - 1) / pieces + kTileRows - 1) / kTileRows * kTileRows;
  if (from != nullptr && pieces > 1) pack_bytes(*from, w);
  const int64_t work = std::min(height, x.rows) * kTileStrips * w.strip_bytes();
  const int64_t grain = std::max<int64_t>(1, 16 * kGrainMath / work);
  parallel_for(pieces * w.blocks(), grain, [&](int64_t begin, int64_t end) {
    for (; begin < end; ++begin) {
      const int64_t row = begin / w.blocks() * height, strip = begin % w.blocks() * kTileStrips;
      if (from != nullptr && pieces == 1) pack_block(*from, strip, w);
      packed_block(x, row, std::min(x.rows, row + height), w, strip, out);
    }
  });
}

// The kernels of linear_w8a8 and linear_integer; `packed`: the weight where it was laid out before, or NULL.
void run_w8a8(const tn_call& call, const PackedBytes* packed);
void run_integer(const tn_call& call, const PackedBytes* packed);

}  // namespace tenon::cpu
