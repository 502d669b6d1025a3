// matmul and linear for f32 and f64: the plugin's own product.
#include <algorithm>
#include <limits>

#include "dispatch.hpp"
#include "ops/matmul_activation.hpp"
#include "ops/matmul_gemm.hpp"
#include "ops/matmul_product.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

namespace tenon::cpu {
namespace {

template <class T>
Gemm<T> product_at(const Product& p, int64_t batch) {
  const Product::Offsets at = p.offsets(batch);
  return {p.m,
          p.n,
          p.k,
          static_cast<const T*>(p.a) + at.a,
          p.a_row,
          p.a_col,
          static_cast<const T*>(p.b) + at.b,
          p.b_row,
          p.b_col,
          static_cast<T*>(p.c) + batch * p.m * p.n,
          p.c_row};
}

// Batches go to threads while there are enough of them; otherwise threads share each product.
template <class T>
void run_product(const Product& p, const Gemm<T>& like) {
  const auto with_epilogue = [&](int64_t batch) {
    Gemm<T> g = product_at<T>(p, batch);
    g.column_bias = like.column_bias;
    g.relu = like.relu;
    return g;
  };
  if (p.empty()) return;
  if (p.batches == 1) return parallel_gemm(with_epilogue(0));
  if (p.batches < max_threads()) {
    for (int64_t batch = 0; batch < p.batches; ++batch) parallel_gemm(with_epilogue(batch));
    return;
  }
  const int64_t work = p.m * p.n * std::max<int64_t>(p.k, 1);
  parallel_for(p.batches, std::max<int64_t>(1, kGemmGrain / work), [&](int64_t begin, int64_t end) {
    for (int64_t batch = begin; batch < end; ++batch) gemm(with_epilogue(batch), {0, p.m, 0, p.n});
  });
}

template <class T>
void matmul(const tn_call& call) {
  run_product<T>(read_matmul(call), Gemm<T>{});
}

template <class T>
void linear(const tn_call& call) {
  const Product p = read_linear(call);
  Gemm<T> like{};
  T bias[64];
  if (p.bias != nullptr) {
    like.column_bias = static_cast<const T*>(p.bias->data);
    // A strided bias is rare; a short one is copied, the core's copy serves the rest (see
    // supports).
    if (p.bias->strides[0] != 1 && p.n > 1) {
      for (int64_t j = 0; j < p.n; ++j) bias[j] = like.column_bias[j * p.bias->strides[0]];
      like.column_bias = bias;
    }
  }
  const Activation activation = activation_of(text_arg(call, arg::linear::activation));
  like.relu = activation == Activation::Relu;
  run_product<T>(p, like);
  if (activation != Activation::None && !like.relu)
    activate(activation, static_cast<T*>(p.c), p.batches * p.m * p.n);
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
