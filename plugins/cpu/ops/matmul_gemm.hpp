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

// Multiplications that are worth a second thread.
constexpr int64_t kGemmGrain = 200'000;

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
