// How a matmul or linear call is read: one product, repeated over a batch.
#pragma once

#include <array>

#include "kernels.hpp"

namespace tenon::gpu {

// c[i, j] = sum over p of a[i, p]·b[p, j] for each index of the batch; steps in elements. c is dense.
struct Product {
  struct Operand {
    const tn_view* view = nullptr;
    int64_t row = 0, column = 0;               // steps
    std::array<int64_t, TN_MAX_DIMS> batch{};  // steps of the batch
  };
  int64_t m = 1, n = 1, k = 1;
  Operand a, b;
  uint32_t ndim = 0;  // dimensions of the batch
  std::array<int64_t, TN_MAX_DIMS> shape{};
  int64_t batches = 1;
  const tn_view* bias = nullptr;  // one value for each column, or for all
  int64_t bias_step = 0;

  bool empty() const { return m == 0 || n == 0 || batches == 0; }
  // Whether 32 bits count its rows, columns, products and copies.
  bool fits() const;
};

Product read_matmul(const tn_call& call);
Product read_linear(const tn_call& call);

// As kernels know them.
enum Activation : uint32_t { kNone, kRelu, kGelu, kSilu, kSigmoid, kTanh, kGeluTanh };
Activation activation_of(std::string_view name);
// Of a dense result in place, for products that a library computed: activate.cpp. [stream-ordered]
void activate(const tn_call& call, const tn_view& result, Activation activation);

// The parts that share a long sum, where `groups` blocks would leave the device idle; 1: the sum is not split.
struct Parts {
  uint32_t count = 1, length = 0;  // length: products of a part
};
Parts split_sum(int64_t k, int64_t groups);

// Blocks that keep a device busy: some for each of its multiprocessors.
inline constexpr int64_t kBusy = 256;

}  // namespace tenon::gpu
