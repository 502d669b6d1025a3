// matmul and linear for the dtypes without a kernel of their own: complex by plain loops, halves
// through f32.
#include <algorithm>

#include "dispatch.hpp"
#include "kernels.hpp"
#include "ops/halves.hpp"
#include "ops/matmul_activation.hpp"
#include "ops/matmul_gemm.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

namespace tenon::cpu {
namespace {

// Without the standard's rescue of infinities, which is a call.
template <class T>
void add_product(T& sum, T x, T y) {
  sum += T(x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real());
}

constexpr int64_t kColumns = 64;

// Row i of a batch, by stretches of columns that stay in registers and L1.
template <class T>
void product_row(const Product& p, int64_t batch, int64_t i, T* c) {
  const Product::Offsets at = p.offsets(batch, p.ndim);
  const T* a = data_of<const T>(*p.a.view) + at.a + i * p.a.row;
  const T* b = data_of<const T>(*p.b.view) + at.b;
  const T* bias = p.bias == nullptr ? nullptr : data_of<const T>(*p.bias);
  c += (batch * p.m + i) * p.n;
  for (int64_t j = 0; j < p.n; j += kColumns) {
    const int64_t cols = std::min(kColumns, p.n - j);
    T sum[kColumns];
    for (int64_t q = 0; q < cols; ++q)
      sum[q] = bias == nullptr ? T(0) : bias[(j + q) * p.bias_step];
    for (int64_t r = 0; r < p.k; ++r) {
      const T x = a[r * p.a.column];
      const T* y = b + r * p.b.row + j * p.b.column;
      if (p.b.column == 1)
        for (int64_t q = 0; q < cols; ++q) add_product(sum[q], x, y[q]);
      else
        for (int64_t q = 0; q < cols; ++q) add_product(sum[q], x, y[q * p.b.column]);
    }
    std::copy_n(sum, cols, c + j);
  }
}

void run_complex(const tn_call& call, const Product& p) {
  if (p.empty()) return;
  visit_dtype<TN_MASK_COMPLEX>(output(call).dtype, [&]<class T>(Tag<T>) {
    const int64_t work = p.n * std::max<int64_t>(p.k, 1);
    T* const c = data_of<T>(output(call));
    parallel_for(p.batches * p.m, std::max<int64_t>(1, kGrainMath / work),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t row = begin; row < end; ++row)
                     product_row<T>(p, row / p.m, row % p.m, c);
                 });
  });
}

void matmul(const tn_call& call) { run_complex(call, read_matmul(call)); }
void linear(const tn_call& call) { run_complex(call, read_linear(call)); }

// ---- halves: operands arrive contiguous and are widened into scratch memory

uint64_t half_scratch(const tn_call& call) {
  uint64_t count = static_cast<uint64_t>(numel(output(call)));
  for (uint32_t i = 0; i < call.nargs; ++i)
    if (const tn_view* view = input_or_null(call, i))
      count += static_cast<uint64_t>(numel(*view)) + 16;
  return count * sizeof(float);
}

// Runs `body` on f32 copies of a, b and bias, and rounds what it wrote. linear has its weight where
// matmul has y.
template <class T>
void run_half(const tn_call& call, const Product& p, Activation activation) {
  if (p.empty()) return;
  float* next = static_cast<float*>(call.scratch);
  const auto widened = [&](const tn_view& view) {
    float* const to = next;
    widen_all(data_of<const T>(view), to, numel(view));
    next += (numel(view) + 15) / 16 * 16;
    return to;
  };
  const float *x = widened(input(call, arg::matmul::x)), *y = widened(input(call, arg::matmul::y));
  const float* bias = p.bias == nullptr ? nullptr : widened(*p.bias);
  const bool swapped = p.a.view != &input(call, arg::matmul::x);
  for (int64_t batch = 0; batch < p.batches; ++batch) {
    const Product::Offsets at = p.offsets(batch, p.ndim);
    Gemm<float> g{p.m,
                  p.n,
                  p.k,
                  (swapped ? y : x) + at.a,
                  p.a.row,
                  p.a.column,
                  (swapped ? x : y) + at.b,
                  p.b.row,
                  p.b.column,
                  next + batch * p.m * p.n,
                  p.n};
    (p.bias_step == 0 ? g.row_bias : g.column_bias) = bias;
    g.relu = activation == kRelu;
    parallel_gemm(g);
  }
  const int64_t n = p.batches * p.m * p.n;
  if (activation != kRelu) activate(activation, next, n);
  round_all(next, data_of<T>(output(call)), n);
}

template <class T>
void half_matmul(const tn_call& call) {
  run_half<T>(call, read_matmul(call), kNone);
}
template <class T>
void half_linear(const tn_call& call) {
  run_half<T>(call, read_linear(call), activation_of(text_arg(call, arg::linear::activation)));
}

}  // namespace

void add_matmul_any_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_MATMUL,
            .dtypes = TN_MASK_COMPLEX,
            .run = run_of<matmul>,
            .flags = TN_KERNEL_STRIDED});
  list.add({.schema = TN_SCHEMA_LINEAR,
            .dtypes = TN_MASK_COMPLEX,
            .run = run_of<linear>,
            .flags = TN_KERNEL_STRIDED});
  const auto half = [&](std::string_view schema, tn_dtype dtype, auto* run) {
    list.add({.schema = schema,
              .dtypes = TN_MASK(dtype),
              .run = run,
              .scratch_size = scratch_of<half_scratch>});
  };
  half(TN_SCHEMA_MATMUL, TN_DTYPE_F16, run_of<half_matmul<F16>>);
  half(TN_SCHEMA_MATMUL, TN_DTYPE_BF16, run_of<half_matmul<BF16>>);
  half(TN_SCHEMA_LINEAR, TN_DTYPE_F16, run_of<half_linear<F16>>);
  half(TN_SCHEMA_LINEAR, TN_DTYPE_BF16, run_of<half_linear<BF16>>);
}

}  // namespace tenon::cpu
