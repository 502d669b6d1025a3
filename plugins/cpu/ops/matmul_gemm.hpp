// The plugin's own matrix product for f32 and f64: any strides in, nothing allocated, one
// thread a call.
#pragma once

#include <algorithm>
#include <cstdint>

#include "threads.hpp"

namespace tenon::cpu {

// c[i, j] = init + sum over p of a[i, p]·b[p, j], then relu; strides in elements. Columns of c lie
// side by side.
template <class T>
struct Gemm {
  int64_t m, n, k;
  const T* a;
  int64_t a_row, a_col;
  const T* b;
  int64_t b_row, b_col;
  T* c;
  int64_t c_row;
  const T* column_bias = nullptr;  // n values, or
  const T* row_bias = nullptr;     // m values, or
  bool accumulate = false;         // what c holds
  bool relu = false;
  const T* panels = nullptr;  // b as lay_out() made it; b itself is not read
};

// The block of rows [i0, i1) and columns [j0, j1). Blocks of one product may run
// on several threads.
struct GemmBlock {
  int64_t i0, i1, j0, j1;
};
void gemm(const Gemm<float>& g, const GemmBlock& block);
void gemm(const Gemm<double>& g, const GemmBlock& block);

// The whole product, over threads when it pays.
void parallel_gemm(const Gemm<float>& g);
void parallel_gemm(const Gemm<double>& g);

// The columns of a panel of b, which go through a tile at once.
int64_t panel_columns();
// The elements of all panels.
int64_t panels_size(int64_t n, int64_t k);
// The panels of columns [j0, j1) of b, of which j0 begins one, at their places in `panels`: k products of panel_columns() each.
void lay_out(const Gemm<float>& g, int64_t j0, int64_t j1, float* panels);

// Multiplications that are worth a second thread.
constexpr int64_t kGemmGrain = 200'000;
// Rows of a that stay in L2 while the panels pass.
constexpr int64_t kRowBlock = 480;

// body(block) for blocks of a product over threads, which share columns while each gets whole panels, then rows.
template <class T, class Body>
void over_blocks(const Gemm<T>& g, Body&& body) {
  const int64_t work = g.m * g.n * std::max<int64_t>(g.k, 1);
  const int64_t threads =
      work < 2 * kGemmGrain ? 1 : std::min<int64_t>(max_threads(), work / kGemmGrain);
  if (threads <= 1) return body(GemmBlock{0, g.m, 0, g.n});
  int64_t across = threads;
  while (across > 1 && (threads % across != 0 || g.n < across * 64)) --across;
  const int64_t down = threads / across, unit = g.panels == nullptr ? 16 : panel_columns();
  parallel_for(across * down, 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t x = t % across, y = t / across, units = (g.n + unit - 1) / unit;
      body(GemmBlock{g.m * y / down, g.m * (y + 1) / down, std::min(g.n, units * x / across * unit),
                     std::min(g.n, units * (x + 1) / across * unit)});
    }
  });
}

// product(i) for i < count, each of the same size: to threads whole while there are enough of them; otherwise threads share each.
template <class Make>
void parallel_gemms(int64_t count, Make&& product) {
  if (count < max_threads()) {
    for (int64_t i = 0; i < count; ++i) parallel_gemm(product(i));
    return;
  }
  const auto like = product(0);
  const int64_t work = like.m * like.n * std::max<int64_t>(like.k, 1);
  parallel_for(count, std::max<int64_t>(1, kGemmGrain / std::max<int64_t>(1, work)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) gemm(product(i), {0, like.m, 0, like.n});
               });
}

}  // namespace tenon::cpu
