// A row times a matrix whose lines are far apart: a few lines at a time, each read from end to end, are added to the sums.
#if defined(TENON_CPU_MATMUL_GEMM_LINES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CPU_MATMUL_GEMM_LINES_INL
#undef TENON_CPU_MATMUL_GEMM_LINES_INL
#else
#define TENON_CPU_MATMUL_GEMM_LINES_INL
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "ops/matmul_gemm.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// c[j] += x[0]·b[0, j] + … of L lines.
template <int L, class T>
HWY_INLINE void add_lines(const T* x, int64_t x_step, const T* b, int64_t b_row, T* c, int64_t n) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> factor[L];
  for (int l = 0; l < L; ++l) factor[l] = hn::Set(d, x[l * x_step]);
  int64_t j = 0;
  for (; j + lanes <= n; j += lanes) {
    auto sum = hn::LoadU(d, c + j);
#pragma GCC unroll 8
    for (int l = 0; l < L; ++l) sum = hn::MulAdd(factor[l], hn::LoadU(d, b + l * b_row + j), sum);
    hn::StoreU(sum, d, c + j);
  }
  for (; j < n; ++j)
    for (int l = 0; l < L; ++l) c[j] += x[l * x_step] * b[l * b_row + j];
}

template <class T>
void gemm_lines(const Gemm<T>& g, const GemmBlock& block) {
  const int64_t i = block.i0, n = block.j1 - block.j0;
  const T* const x = g.a + i * g.a_row;
  const T* const b = g.b + block.j0;
  T* const c = g.c + i * g.c_row + block.j0;
  if (!g.accumulate && g.column_bias != nullptr)
    std::copy_n(g.column_bias + block.j0, n, c);
  else if (!g.accumulate)
    std::fill_n(c, n, g.row_bias != nullptr ? g.row_bias[i] : T{0});
  int64_t p = 0;
  for (; p + 8 <= g.k; p += 8)
    add_lines<8>(x + p * g.a_col, g.a_col, b + p * g.b_row, g.b_row, c, n);
  for (; p < g.k; ++p) add_lines<1>(x + p * g.a_col, g.a_col, b + p * g.b_row, g.b_row, c, n);
  if (g.relu)
    for (int64_t j = 0; j < n; ++j) c[j] = c[j] < 0 ? T{0} : c[j];  // a NaN stays
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
