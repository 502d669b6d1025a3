// Panels of b side by side, and tiles at a ragged edge.
#if defined(TENON_CPU_GEMM_PACK_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CPU_GEMM_PACK_TOGGLE
#undef TENON_CPU_GEMM_PACK_TOGGLE
#else
#define TENON_CPU_GEMM_PACK_TOGGLE
#endif

#include <cstring>

#include "ops/matmul_gemm_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
// The 128-bit pieces of v, one to each of out, out + step, ….
template <class D, class V, class T = hn::TFromD<D>>
HWY_INLINE void store_pieces(D d, V v, T* out, int64_t step) {
  constexpr size_t kPieces = hn::MaxLanes(d) * sizeof(T) / 16;
  if constexpr (kPieces <= 1) {
    hn::StoreU(v, d, out);
  } else {
    const hn::Half<D> half;
    store_pieces(half, hn::LowerHalf(half, v), out, step);
    store_pieces(half, hn::UpperHalf(half, v), out + static_cast<int64_t>(kPieces / 2) * step,
                 step);
  }
}

// Four (f32) or two (f64) columns of b, contiguous along k, become that many neighbours in each row
// of the panel.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void transpose_block(D d, const T* b, int64_t b_col, T* out, int64_t panel) {
  constexpr int64_t kGroup = 16 / sizeof(T);
  const auto v0 = hn::LoadU(d, b), v1 = hn::LoadU(d, b + b_col);
  const auto low = hn::InterleaveLower(d, v0, v1), high = hn::InterleaveUpper(d, v0, v1);
  if constexpr (sizeof(T) == 4) {
    const auto v2 = hn::LoadU(d, b + 2 * b_col), v3 = hn::LoadU(d, b + 3 * b_col);
    const hn::RepartitionToWide<D> wide;
    const auto low2 = hn::BitCast(wide, hn::InterleaveLower(d, v2, v3)),
               high2 = hn::BitCast(wide, hn::InterleaveUpper(d, v2, v3));
    const auto low1 = hn::BitCast(wide, low), high1 = hn::BitCast(wide, high);
    const int64_t step = kGroup * panel;
    store_pieces(d, hn::BitCast(d, hn::InterleaveLower(wide, low1, low2)), out, step);
    store_pieces(d, hn::BitCast(d, hn::InterleaveUpper(wide, low1, low2)), out + panel, step);
    store_pieces(d, hn::BitCast(d, hn::InterleaveLower(wide, high1, high2)), out + 2 * panel, step);
    store_pieces(d, hn::BitCast(d, hn::InterleaveUpper(wide, high1, high2)), out + 3 * panel, step);
  } else {
    store_pieces(d, low, out, kGroup * panel);
    store_pieces(d, high, out + panel, kGroup * panel);
  }
}

#endif
// k rows of `panel` columns, those from `cols` on zero.
template <class T>
HWY_NOINLINE void pack_panel(const T* b, int64_t b_row, int64_t b_col, int64_t k, int64_t cols,
                             int64_t panel, T* out) {
  if (b_col == 1) {
    for (int64_t p = 0; p < k; ++p) {
      const T* row = b + p * b_row;
      for (int64_t j = 0; j < cols; ++j) out[p * panel + j] = row[j];
      for (int64_t j = cols; j < panel; ++j) out[p * panel + j] = 0;
    }
    return;
  }
  int64_t j = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)),
                group = 16 / static_cast<int64_t>(sizeof(T));
  for (; b_row == 1 && j + group <= cols; j += group) {
    int64_t p = 0;
    for (; p + lanes <= k; p += lanes)
      transpose_block(d, b + j * b_col + p, b_col, out + p * panel + j, panel);
    for (; p < k; ++p)
      for (int64_t q = 0; q < group; ++q) out[p * panel + j + q] = b[(j + q) * b_col + p];
  }
#endif
  for (; j < panel; ++j)
    for (int64_t p = 0; p < k; ++p) out[p * panel + j] = j < cols ? b[p * b_row + j * b_col] : T(0);
}

// A panel whose last vector is not whole, for instruction sets without masks: tiles go
// through a buffer.
template <Walk W = Walk::Strides, class T>
HWY_NOINLINE void run_ragged(const Tile<T>& t, int vectors, int64_t rows, int64_t cols,
                             int64_t panel) {
  alignas(64) T buffer[12 * 3 * HWY_MAX_BYTES / sizeof(T)];
  const size_t bytes = static_cast<size_t>(cols) * sizeof(T);
  for (int64_t i = 0; i < rows; i += 12) {
    const int64_t n = rows - i < 12 ? rows - i : 12;
    Tile<T> part = t;
    if constexpr (W == Walk::TapsOfA)
      part.a_at += i;
    else
      part.a += i * t.a_row;
    part.c = buffer;
    part.c_row = panel;
    if (t.init != nullptr) {
      part.init += i * t.init_row;
      if (t.init_step != 0) {
        for (int64_t r = 0; r < n; ++r)
          std::memcpy(buffer + r * panel, t.init + (i + r) * t.init_row, bytes);
        part.init = buffer;
        part.init_row = panel;
      }
    }
    run_panel<W>(part, vectors, n);
    for (int64_t r = 0; r < n; ++r) std::memcpy(t.c + (i + r) * t.c_row, buffer + r * panel, bytes);
  }
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
