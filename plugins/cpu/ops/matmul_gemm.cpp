// Blocks the matrix product for the caches: panels of b are read where they lie, or copied when
// they are transposed or far apart.
#include "ops/matmul_gemm.hpp"

#include <hwy/cache_control.h>

#include <algorithm>
#include <cstdlib>

#include "threads.hpp"

#include "ops/workspace.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/matmul_gemm.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/matmul_gemm_dot-inl.h"
#include "ops/matmul_gemm_lines-inl.h"
#include "ops/matmul_gemm_pack-inl.h"
#include "ops/matmul_gemm_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using tenon::cpu::workspace;

constexpr int64_t kCacheBytes = 32768;  // most of an L1 cache
// A packed panel of b, which AVX-512's wide tiles may as well read from L2.
constexpr int64_t kPanelBytes = kTileVectors * 16384;
constexpr int64_t kFewDots = 64;  // short ones that cost less than packing
constexpr int64_t kNarrow = 4;    // most of a panel so narrow is padding

// Few rows: dots cost a sum over lanes for each result, packing a pass over b.
template <class T>
bool wants_dots(const Gemm<T>& g, const GemmBlock& block) {
  const int64_t rows = block.i1 - block.i0, cols = block.j1 - block.j0;
  return HWY_TARGET != HWY_SCALAR && g.a_col == 1 && g.b_row == 1 && g.b_col != 1 &&
         (g.k >= 32 ? rows <= 16 || (cols <= 12 && g.k >= 128)
                    : rows * cols <= kFewDots && cols <= kNarrow);
}

// Products of a few numbers, as of many points with small matrices, for which panels and tiles would cost more than they do: b in K vectors.
template <int K, class T>
void gemm_tiny(const Gemm<T>& g, const GemmBlock& block) {
  const hn::ScalableTag<T> d;
  const hn::RebindToSigned<decltype(d)> di;
  using Index = hn::TFromD<decltype(di)>;
  const int64_t cols = block.j1 - block.j0;
  const auto some = hn::FirstN(d, static_cast<size_t>(cols));
  const auto places = hn::Mul(hn::Min(hn::Iota(di, 0), hn::Set(di, static_cast<Index>(cols - 1))),
                              hn::Set(di, static_cast<Index>(g.b_col)));
  hn::Vec<decltype(d)> right[K], columns = hn::Zero(d);
#pragma GCC unroll 4
  for (int p = 0; p < K; ++p) {
    const T* const line = g.b + block.j0 * g.b_col + p * g.b_row;
    right[p] = g.b_col == 1 ? hn::MaskedLoad(some, d, line) : hn::GatherIndex(d, line, places);
  }
  if (g.column_bias != nullptr) columns = hn::MaskedLoad(some, d, g.column_bias + block.j0);
  for (int64_t i = block.i0; i < block.i1; ++i) {
    T* const c = g.c + i * g.c_row + block.j0;
    auto sum = g.row_bias != nullptr ? hn::Set(d, g.row_bias[i]) : columns;
    if (g.accumulate) sum = hn::MaskedLoad(some, d, c);
#pragma GCC unroll 4
    for (int p = 0; p < K; ++p)
      sum = hn::MulAdd(hn::Set(d, g.a[i * g.a_row + p * g.a_col]), right[p], sum);
    if (g.relu) sum = hn::IfThenElse(hn::Lt(sum, hn::Zero(d)), hn::Zero(d), sum);  // a NaN stays
    hn::BlendedStore(sum, some, d, c);
  }
}

// Whether it was one.
template <class T>
bool ran_tiny(const Gemm<T>& g, const GemmBlock& block) {
  const bool fits =
      g.n <= static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>())) && std::abs(g.b_col) < (1 << 24);
  if (!kMasks || !fits || g.k > 4 || g.m > 16 || g.m * g.n == 0) return false;
  switch (g.k) {
    case 1:
      return gemm_tiny<1>(g, block), true;
    case 2:
      return gemm_tiny<2>(g, block), true;
    case 3:
      return gemm_tiny<3>(g, block), true;
    case 4:
      return gemm_tiny<4>(g, block), true;
    default:
      return false;
  }
}

template <class T>
bool wants_packing(const Gemm<T>& g, int64_t rows, int64_t cols, int64_t panel) {
  if (g.b_col != 1 && g.n > 1) return true;
  if (!kMasks && cols < panel) return true;
  return rows >= 96 && g.b_row * static_cast<int64_t>(sizeof(T)) >= 2048;
}

// Rows that are done before the next panel: few when all of b stays in L1, so that c is written
// along its rows.
template <class T>
int64_t rows_at_once(const Gemm<T>& g, int64_t m, int64_t n) {
  const bool small =
      g.b_col == 1 && kMasks && g.k * n * static_cast<int64_t>(sizeof(T)) <= kCacheBytes;
  return small ? (m <= 8 ? 8 : 24) : kRowBlock;
}

// Neighbours of a far apart in memory fall into the same sets of the cache.
template <class T>
bool far_apart(const Gemm<T>& g) {
  return std::max(g.a_row, g.a_col) * static_cast<int64_t>(sizeof(T)) >= 2048;
}

// Whether a compact copy of a pays.
template <class T>
bool wants_compact(const Gemm<T>& g, int64_t rows, int64_t columns) {
  return rows >= 96 && columns >= (g.a_row == 1 ? 96 : 128) && far_apart(g);
}

// Points `part` at a compact copy of rows [i, i + rows) and columns [p0, p1) of a, in the order in
// which they lie.
template <class T>
void copy_block(Gemm<T>& part, int64_t i, int64_t rows, int64_t p0, int64_t p1) {
  const int64_t k = p1 - p0;
  const T* from = part.a + i * part.a_row + p0 * part.a_col;
  const bool by_row = part.a_col <= part.a_row;
  const int64_t lines = by_row ? rows : k, length = by_row ? k : rows, pitch = length + 16;
  T* to = workspace<T>(Workspace::Gemm, lines * pitch);
  const int64_t line_step = by_row ? part.a_row : part.a_col,
                step = by_row ? part.a_col : part.a_row;
  for (int64_t l = 0; l < lines; ++l) {
    const T* line = from + l * line_step;
    if (step == 1)
      std::copy(line, line + length, to + l * pitch);
    else
      for (int64_t x = 0; x < length; ++x) to[l * pitch + x] = line[x * step];
  }
  part.a_row = by_row ? pitch : 1;
  part.a_col = by_row ? 1 : pitch;
  part.a = to - i * part.a_row - p0 * part.a_col;
}

// How many slices of products make panels of b that fill no more than their buffer.
template <class T>
int64_t slices_of(int64_t k, int64_t panel) {
  const int64_t depth = kPanelBytes / (panel * static_cast<int64_t>(sizeof(T)));
  return std::max<int64_t>(1, (k + depth - 1) / depth);
}

// The next panel of b: packing it would wait for memory, which the tiles of `rows` rows leave time for.
template <class T>
Coming<T> next_panel(const Gemm<T>& g, int64_t rows, int64_t j, int64_t cols, int64_t p0,
                     int64_t p1) {
  const bool by_row = g.b_col <= g.b_row;
  const int64_t k = p1 - p0, lines = by_row ? k : cols, length = by_row ? cols : k;
  const int64_t pieces = lines * (length * static_cast<int64_t>(sizeof(T)) / 64 + 1);
  const int64_t tiles = (rows + 11) / 12;
  return {g.b + p0 * g.b_row + j * g.b_col, by_row ? g.b_row : g.b_col, lines, length,
          (pieces + tiles - 1) / tiles};
}

// Columns [j, j + cols) of c, in so many vectors, for rows [i, i + rows), products p0 to p1.
template <class T>
Tile<T> tile_of(const Gemm<T>& g, int64_t i, int64_t rows, int64_t j, int64_t cols, int64_t vectors,
                int64_t p0, int64_t p1) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const bool first = p0 == 0, last = p1 == g.k;
  Tile<T> t{p1 - p0,
            g.a + i * g.a_row + p0 * g.a_col,
            g.a_row,
            g.a_col,
            g.b + p0 * g.b_row + j * g.b_col,
            g.b_row,
            g.c + i * g.c_row + j,
            g.c_row,
            nullptr,
            0,
            1,
            cols - (vectors - 1) * lanes,
            g.relu && last};
  t.fetch = rows > 12 && t.k >= 64;  // long enough to hide it
  if (!first || g.accumulate)
    t.init = t.c, t.init_row = g.c_row;
  else if (g.column_bias != nullptr)
    t.init = g.column_bias + j;
  else if (g.row_bias != nullptr)
    t.init = g.row_bias + i, t.init_row = 1, t.init_step = 0;
  return t;
}

// That tile. `more` columns follow.
template <class T>
void gemm_panel(const Gemm<T>& g, int64_t i, int64_t rows, int64_t j, int64_t cols, int64_t more,
                int64_t p0, int64_t p1, T* buffer) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), vectors = (cols + lanes - 1) / lanes,
                panel = vectors * lanes;
  Tile<T> t = tile_of(g, i, rows, j, cols, vectors, p0, p1);
  if (wants_packing(g, rows, cols, panel)) {
    pack_panel(t.b, g.b_row, g.b_col, p1 - p0, cols, panel, buffer);
    t.b = buffer;
    t.b_row = panel;
    if (more > 0) t.coming = next_panel(g, rows, j + cols, more, p0, p1);
  }
  if (kMasks || cols == panel) return run_panel(t, static_cast<int>(vectors), rows);
  run_ragged(t, static_cast<int>(vectors), rows, cols, panel);
}

// Columns behind the last whole vector of a narrow product that are done as dots: a vector of their own would be nearly empty. 7×7
// places, as of many networks' last convolutions, leave one.
template <class T>
int64_t columns_left(const Gemm<T>& g, int64_t m, int64_t n, int64_t lanes) {
  const int64_t left = n % lanes;
  const bool few = left <= kDotColumns && left * 4 <= lanes && n >= 2 * lanes && n <= 8 * lanes;
  return HWY_TARGET != HWY_SCALAR && few && g.b_col == 1 && g.a_col == 1 && m >= 96 && g.k >= 128
             ? left
             : 0;
}

// Those columns [j, j + cols), for rows [i, i + rows), products p0 to p1, which must lie side by side for dots.
template <class T>
void gemm_columns_left(const Gemm<T>& g, int64_t i, int64_t rows, int64_t j, int64_t cols,
                       int64_t p0, int64_t p1, T* buffer) {
  const int64_t k = p1 - p0;
  for (int64_t c = 0; c < cols; ++c)
    for (int64_t p = 0; p < k; ++p) buffer[c * k + p] = g.b[(p0 + p) * g.b_row + j + c];
  Gemm<T> part = g;
  part.k = k;
  part.a = g.a + p0;
  part.b = buffer - j * k;
  part.b_row = 1;
  part.b_col = k;
  part.accumulate = g.accumulate || p0 > 0;
  if (p0 > 0) part.column_bias = part.row_bias = nullptr;
  part.relu = g.relu && p1 == g.k;
  gemm_dots(part, {i, i + rows, j, j + cols});
}

template <class T>
void gemm_block(const Gemm<T>& g, const GemmBlock& block) {
  if (ran_tiny(g, block)) return;
  if (wants_dots(g, block)) return gemm_dots(g, block);
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), m = block.i1 - block.i0,
                n = block.j1 - block.j0, left = columns_left(g, m, n, lanes), end = block.j1 - left;
  const int64_t panel = (m <= 8 || (n - left) / lanes == 3 ? 3 : kTileVectors) * lanes;
  alignas(64) T buffer[kPanelBytes / sizeof(T)];
  // With few rows b is read once: in slices of some lines, so that each line is read on and on.
  const bool by_lines = m <= 4 && g.b_col == 1 && g.b_row * static_cast<int64_t>(sizeof(T)) >= 1024;
  if (by_lines && m == 1) return gemm_lines(g, block);
  const int64_t slices = by_lines ? std::max<int64_t>(1, (g.k + 3) / 4) : slices_of<T>(g.k, panel);
  const int64_t step = rows_at_once(g, m, n);
  const bool compact = wants_compact(g, m, n);
  for (int64_t i = block.i0; i < block.i1; i += step) {
    const int64_t rows = std::min(step, block.i1 - i);
    for (int64_t s = 0; s < slices; ++s) {
      const int64_t p0 = g.k * s / slices, p1 = g.k * (s + 1) / slices;
      Gemm<T> part = g;
      if (compact) copy_block(part, i, rows, p0, p1);
      for (int64_t j = block.j0; j < end; j += panel)
        gemm_panel(part, i, rows, j, std::min(panel, end - j),
                   std::clamp<int64_t>(end - j - panel, 0, panel), p0, p1, buffer);
      if (left > 0) gemm_columns_left(part, i, rows, end, left, p0, p1, buffer);
    }
  }
}

// Panels that were laid out come from L2 anyway, so they may be as deep as a's rows allow: c is then written less often.
int64_t slices_laid_out(int64_t k) {
  constexpr int64_t kDepth = 512;
  return std::max<int64_t>(1, (k + kDepth - 1) / kDepth);
}

int64_t panel_columns_f32() {
  return kTileVectors * static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>()));
}

// One panel of a block whose b was laid out; `next`: the one behind it, as long.
void gemm_laid_out(const Gemm<float>& g, const GemmBlock& block, int64_t p0, int64_t p1,
                   const float* panel, const float* next) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>())),
                rows = block.i1 - block.i0, cols = block.j1 - block.j0,
                vectors = (cols + lanes - 1) / lanes;
  auto t = tile_of(g, block.i0, rows, block.j0, cols, vectors, p0, p1);
  t.b = panel;
  t.b_row = panel_columns_f32();
  t.next = reinterpret_cast<const char*>(next == nullptr ? panel : next);
  const int64_t bytes = t.b_row * static_cast<int64_t>(sizeof(float)), tiles = (rows + 7) / 8;
  if (next != nullptr) t.next_step = std::min<int64_t>(64, (bytes + tiles - 1) / tiles);
  if (kMasks || cols == vectors * lanes)
    return run_panel<Walk::Panels>(t, static_cast<int>(vectors), rows);
  run_ragged<Walk::Panels>(t, static_cast<int>(vectors), rows, cols, vectors * lanes);
}

void gemm_laid_out(const Gemm<float>& g, const GemmBlock& block) {
  const int64_t panel = panel_columns_f32(), slices = slices_laid_out(g.k);
  const bool compact = wants_compact(g, block.i1 - block.i0, block.j1 - block.j0);
  const auto place = [&](int64_t s, int64_t j) {
    return s == slices ? nullptr : g.panels + j * g.k + g.k * s / slices * panel;
  };
  for (int64_t i = block.i0; i < block.i1; i += kRowBlock) {
    const int64_t i1 = std::min(i + kRowBlock, block.i1);
    for (int64_t s = 0; s < slices; ++s) {
      const int64_t p0 = g.k * s / slices, p1 = g.k * (s + 1) / slices;
      Gemm<float> part = g;
      if (compact) copy_block(part, i, i1 - i, p0, p1);
      for (int64_t j = block.j0; j < block.j1; j += panel) {
        const int64_t j1 = std::min(j + panel, block.j1);
        gemm_laid_out(part, {i, i1, j, j1}, p0, p1, place(s, j),
                      j1 < block.j1 ? place(s, j1) : place(s + 1, block.j0));
      }
    }
  }
}

void gemm_f32(const Gemm<float>& g, const GemmBlock& block) {
  g.panels != nullptr ? gemm_laid_out(g, block) : gemm_block(g, block);
}
void gemm_f64(const Gemm<double>& g, const GemmBlock& block) { gemm_block(g, block); }

void lay_out_f32(const Gemm<float>& g, int64_t j0, int64_t j1, float* panels) {
  const int64_t panel = panel_columns_f32(), slices = slices_laid_out(g.k);
  for (int64_t s = 0; s < slices; ++s) {
    const int64_t p0 = g.k * s / slices, p1 = g.k * (s + 1) / slices;
    for (int64_t j = j0; j < j1; j += panel)
      pack_panel(g.b + p0 * g.b_row + j * g.b_col, g.b_row, g.b_col, p1 - p0,
                 std::min(panel, j1 - j), panel, panels + j * g.k + p0 * panel);
  }
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(gemm_f32);
HWY_EXPORT(gemm_f64);
HWY_EXPORT(panel_columns_f32);
HWY_EXPORT(lay_out_f32);

void gemm(const Gemm<float>& g, const GemmBlock& block) {
  HWY_DYNAMIC_DISPATCH(gemm_f32)(g, block);
}
void gemm(const Gemm<double>& g, const GemmBlock& block) {
  HWY_DYNAMIC_DISPATCH(gemm_f64)(g, block);
}

int64_t panel_columns() { return HWY_DYNAMIC_DISPATCH(panel_columns_f32)(); }

int64_t panels_size(int64_t n, int64_t k) {
  const int64_t columns = panel_columns();
  return (n + columns - 1) / columns * columns * k;
}

void lay_out(const Gemm<float>& g, int64_t j0, int64_t j1, float* panels) {
  HWY_DYNAMIC_DISPATCH(lay_out_f32)(g, j0, j1, panels);
}

void parallel_gemm(const Gemm<float>& g) {
  over_blocks(g, [&](const GemmBlock& block) { gemm(g, block); });
}
void parallel_gemm(const Gemm<double>& g) {
  over_blocks(g, [&](const GemmBlock& block) { gemm(g, block); });
}

}  // namespace tenon::cpu
#endif
