// Dot products of rows of a with columns of b that both lie contiguous along k: x·weightᵀ with few
// rows needs no transposed copy.
#if defined(TENON_CPU_GEMM_DOT_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CPU_GEMM_DOT_TOGGLE
#undef TENON_CPU_GEMM_DOT_TOGGLE
#else
#define TENON_CPU_GEMM_DOT_TOGGLE
#endif

#include <hwy/cache_control.h>

#include "ops/matmul_gemm.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kDotColumns = 4;  // done at once

#if HWY_TARGET == HWY_SCALAR
template <class T>
void gemm_dots(const Gemm<T>&, const GemmBlock&) {}
#else

constexpr int kDotRows = HWY_MAX_BYTES == 64 || HWY_ARCH_ARM_A64 ? 6 : 3;

// The sums of the lanes of four vectors.
template <class D, class V, class T = hn::TFromD<D>>
HWY_INLINE void sum_lanes4(D d, const V& v0, const V& v1, const V& v2, const V& v3, T* out) {
  const auto pair = [d](V a, V b) HWY_ATTR {
    return hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
  };
  const V lower = pair(v0, v1), upper = pair(v2, v3);
  const auto fold = [](auto self, auto dd, auto v) HWY_ATTR {
    if constexpr (hn::MaxLanes(dd) * sizeof(T) <= 16) {
      return v;
    } else {
      const hn::Half<decltype(dd)> half;
      return self(self, half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
    }
  };
  const hn::FixedTag<T, 16 / sizeof(T)> d128;
  if constexpr (sizeof(T) == 4) {
    const hn::RepartitionToWide<D> wide;
    const auto a = hn::BitCast(wide, lower), b = hn::BitCast(wide, upper);
    const V all = hn::Add(hn::BitCast(d, hn::InterleaveLower(wide, a, b)),
                          hn::BitCast(d, hn::InterleaveUpper(wide, a, b)));
    hn::StoreU(fold(fold, d, all), d128, out);
  } else {
    hn::StoreU(fold(fold, d, lower), d128, out);
    hn::StoreU(fold(fold, d, upper), d128, out + 2);
  }
}

template <class T, int R>
HWY_NOINLINE void run_dots(const Gemm<T>& g, int64_t i0, int64_t j0, int cols, int64_t block_row) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), whole = g.k / lanes * lanes;
  const T* HWY_RESTRICT a = g.a + i0 * g.a_row;
  const T* b[4];
  for (int j = 0; j < 4; ++j) b[j] = g.b + (j0 + (j < cols ? j : 0)) * g.b_col;
  V sum[R][4];
#pragma GCC unroll 6
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) sum[i][j] = hn::Zero(d);
  const auto step = [&](auto load, int64_t p) HWY_ATTR {
    V right[4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) right[j] = load(b[j] + p);
#pragma GCC unroll 6
    for (int i = 0; i < R; ++i) {
      const V left = load(a + i * g.a_row + p);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) sum[i][j] = hn::MulAdd(left, right[j], sum[i][j]);
    }
  };
  const int64_t ahead = i0 == block_row && j0 + 8 <= g.n ? 4 * g.b_col : 0;
  for (int64_t p = 0; p < whole; p += lanes) {
    if (ahead != 0)
      for (int j = 0; j < 4; ++j) hwy::Prefetch(b[j] + ahead + p);
    step([d](const T* q) HWY_ATTR { return hn::LoadU(d, q); }, p);
  }
  if (HWY_MEM_OPS_MIGHT_FAULT == 0 && whole < g.k) {
    const auto mask = hn::FirstN(d, static_cast<size_t>(g.k - whole));
    step([d, mask](const T* q) HWY_ATTR { return hn::MaskedLoad(mask, d, q); }, whole);
  }
#pragma GCC unroll 6
  for (int i = 0; i < R; ++i) {
    T out[4];
    sum_lanes4(d, sum[i][0], sum[i][1], sum[i][2], sum[i][3], out);
    for (int j = 0; j < cols; ++j) {
      T value = out[j];
      if (HWY_MEM_OPS_MIGHT_FAULT != 0)
        for (int64_t p = whole; p < g.k; ++p) value += a[i * g.a_row + p] * b[j][p];
      T& c = g.c[(i0 + i) * g.c_row + j0 + j];
      if (g.column_bias != nullptr) value += g.column_bias[j0 + j];
      if (g.row_bias != nullptr) value += g.row_bias[i0 + i];
      if (g.accumulate) value += c;
      c = g.relu && value < 0 ? 0 : value;
    }
  }
}

template <class T>
void gemm_dots(const Gemm<T>& g, const GemmBlock& block) {
  for (int64_t j = block.j0; j < block.j1; j += 4) {
    const int cols = static_cast<int>(block.j1 - j < 4 ? block.j1 - j : 4);
    for (int64_t i = block.i0; i < block.i1;) {
      const int64_t rows = block.i1 - i;
      if (kDotRows >= 6 && rows >= 6 && rows != 8)
        run_dots<T, kDotRows>(g, i, j, cols, block.i0), i += kDotRows;
      else if (kDotRows >= 6 && rows >= 4)
        run_dots<T, kDotRows >= 6 ? 4 : 3>(g, i, j, cols, block.i0), i += kDotRows >= 6 ? 4 : 3;
      else if (rows >= 3)
        run_dots<T, 3>(g, i, j, cols, block.i0), i += 3;
      else
        run_dots<T, 1>(g, i, j, cols, block.i0), ++i;
    }
  }
}
#endif  // HWY_SCALAR

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
