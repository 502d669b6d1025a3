// Reads a matmul or linear call: one product, repeated over a batch.
#ifndef TENON_PLUGINS_COMMON_PRODUCT_HPP
#define TENON_PLUGINS_COMMON_PRODUCT_HPP

#include <array>
#include <string_view>

#include "tenon/plugin.h"

namespace tenon {

// c[i, j] = sum over p of a[i, p]·b[p, j] for each index of the batch; strides count elements. c is dense.
struct Product {
  struct Operand {
    const tn_view* view = nullptr;
    int64_t row = 0, column = 0;               // strides
    std::array<int64_t, TN_MAX_DIMS> batch{};  // strides of the batch
  };
  int64_t m = 1, n = 1, k = 1;
  Operand a, b;
  uint32_t ndim = 0;  // dimensions of the batch
  std::array<int64_t, TN_MAX_DIMS> shape{};
  int64_t batches = 1;
  const tn_view* bias = nullptr;  // one value for each column, or for all
  int64_t bias_step = 0;

  // Where copy i of a and b begins, counted over the first `dims` dimensions of the batch.
  struct Offsets {
    int64_t a, b;
  };
  Offsets offsets(int64_t i, uint32_t dims) const;

  bool empty() const { return m == 0 || n == 0 || batches == 0; }
  // The number of multiplications.
  double work() const {
    return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
           static_cast<double>(batches);
  }
  // Whether 32 bits suffice to count its rows, columns, products and copies.
  bool fits() const;
};

// Reads batches that only add rows as rows, and one column as one row.
Product read_matmul(const tn_call& call);
Product read_linear(const tn_call& call);
Product read_scaled_matmul(const tn_call& call);
// gᵀ·x of linear_backward_weight, whose operands are contiguous.
Product read_weight_gradient(const tn_call& call);

// The activation that linear applies to its result, numbered as in the kernels and in shaders/product.glsl.
enum Activation : uint32_t { kNone, kRelu, kGelu, kSilu, kSigmoid, kTanh, kGeluTanh };
Activation activation_of(std::string_view name);

}  // namespace tenon

#endif
