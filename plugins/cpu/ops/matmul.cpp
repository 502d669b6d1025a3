// matmul and linear for f32 and f64: the plugin's own product.
#include <algorithm>
#include <limits>

#include "dispatch.hpp"
#include "kernels.hpp"
#include "ops/matmul_activation.hpp"
#include "ops/matmul_gemm.hpp"
#include "ops/matmul_rows.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

namespace tenon::cpu {
namespace {

template <class T>
Gemm<T> product_at(const Product& p, int64_t batch, T* c) {
  const Product::Offsets at = p.offsets(batch, p.ndim);
  return {p.m,
          p.n,
          p.k,
          data_of<const T>(*p.a.view) + at.a,
          p.a.row,
          p.a.column,
          data_of<const T>(*p.b.view) + at.b,
          p.b.row,
          p.b.column,
          c + batch * p.m * p.n,
          p.n};
}

// Scattered rows as few large products, of as many rows as stay in L2 or leave b's panels a small share.
template <class T>
void run_scattered(const Product& p, Gemm<T> g, T* c) {
  constexpr int64_t kCached = int64_t{1} << 18;
  const int64_t rows = std::max(2 * kRowBlock, kCached / std::max<int64_t>(1, p.k)),
                parts = (p.batches * p.m + rows - 1) / rows;
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t i = p.batches * part / parts, count = p.batches * (part + 1) / parts - i;
    g.m = count * p.m, g.n = p.n, g.k = p.k;
    g.a = gathered_rows<T>(p, i, count), g.a_row = p.k, g.a_col = 1;
    g.b = data_of<const T>(*p.b.view), g.b_row = p.b.row, g.b_col = p.b.column;
    g.c = c + i * p.m * p.n, g.c_row = p.n;
    parallel_gemm(g);
  }
}

template <class T>
void run_product(const Product& p, const Gemm<T>& like, T* c) {
  if (p.empty()) return;
  if (like.row_bias == nullptr && scatters_rows(p)) return run_scattered(p, like, c);
  parallel_gemms(p.batches, [&](int64_t batch) {
    Gemm<T> g = product_at<T>(p, batch, c);
    g.column_bias = like.column_bias;
    g.row_bias = like.row_bias;
    g.relu = like.relu;
    return g;
  });
}

template <class T>
void matmul(const tn_call& call) {
  run_product<T>(read_matmul(call), Gemm<T>{}, data_of<T>(output(call)));
}

template <class T>
void linear(const tn_call& call) {
  const Product p = read_linear(call);
  Gemm<T> like{};
  T bias[64];
  if (p.bias != nullptr) {
    const T* const given = data_of<const T>(*p.bias);
    const bool one_value = p.bias_step == 0 && p.m == 1;  // of a product that was one column
    // A strided bias is rare; a short one is copied, the core's copy serves the
    // rest (see supports).
    const bool strided = !one_value && p.bias_step != 1;
    for (int64_t j = 0; strided && j < p.n; ++j) bias[j] = given[j * p.bias_step];
    (one_value ? like.row_bias : like.column_bias) = strided ? bias : given;
  }
  const Activation activation = activation_of(text_arg(call, arg::linear::activation));
  like.relu = activation == kRelu;
  T* const c = data_of<T>(output(call));
  run_product<T>(p, like, c);
  if (!like.relu) activate(activation, c, p.batches * p.m * p.n);
}

bool linear_supported(const tn_call& call) {
  const tn_view* bias = input_or_null(call, arg::linear::bias);
  return bias == nullptr || bias->shape[0] <= 64 || bias->strides[0] == 1;
}

}  // namespace

void add_matmul_kernels(KernelList& list) {
  const auto add = [&](std::string_view schema, tn_dtype dtype, auto* run, auto* supports) {
    list.add({.schema = schema,
              .dtypes = TN_MASK(dtype),
              .run = run,
              .flags = TN_KERNEL_STRIDED,
              .priority = 20,
              .supports = supports});
  };
  using Supports = tn_status* (*)(void*, const tn_call*, uint32_t*);
  add(TN_SCHEMA_MATMUL, TN_DTYPE_F32, run_of<matmul<float>>, Supports{nullptr});
  add(TN_SCHEMA_MATMUL, TN_DTYPE_F64, run_of<matmul<double>>, Supports{nullptr});
  add(TN_SCHEMA_LINEAR, TN_DTYPE_F32, run_of<linear<float>>,
      Supports{supports_of<linear_supported>});
  add(TN_SCHEMA_LINEAR, TN_DTYPE_F64, run_of<linear<double>>,
      Supports{supports_of<linear_supported>});
}

}  // namespace tenon::cpu
