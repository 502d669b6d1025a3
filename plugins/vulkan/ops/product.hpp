// How a matmul or linear call is read: one product, repeated over a batch.
#pragma once

#include <array>

#include "kernels.hpp"
#include "ops/tiles.hpp"

namespace tenon::vulkan {

// c[i, j] = sum over p of a[i, p]·b[p, j] for each index of the batch; steps in elements. c is dense.
struct Product {
  struct Operand {
    const tn_view* view = nullptr;
    int64_t row = 0, column = 0;               // steps
    std::array<int64_t, TN_MAX_DIMS> batch{};  // steps of the batch
  };
  Extent size{1, 1, 1};
  Operand a, b;
  uint32_t ndim = 0;  // dimensions of the batch
  std::array<int64_t, TN_MAX_DIMS> shape{};
  int64_t batches = 1;
  const tn_view* bias = nullptr;  // one value for each column, or for all
  int64_t bias_step = 0;

  bool empty() const { return size.m == 0 || size.n == 0 || batches == 0; }
};

Product read_matmul(const tn_call& call);
Product read_linear(const tn_call& call);

}  // namespace tenon::vulkan
