// How a matmul or linear call is read: one product, repeated over batches.
#pragma once

#include <array>

#include "kernels.hpp"

namespace tenon::cpu {

// c[i, j] = sum over p of a[i, p]·b[p, j] for each index of the batch; strides in elements.
struct Product {
  int64_t m = 1, n = 1, k = 1;
  int64_t a_row = 0, a_col = 0, b_row = 0, b_col = 0, c_row = 0;
  uint32_t ndim = 0;  // batch dimensions
  std::array<int64_t, TN_MAX_DIMS> shape, a_step, b_step;
  int64_t batches = 1;
  const void *a = nullptr, *b = nullptr;
  void* c = nullptr;
  const tn_view* bias = nullptr;
  bool swapped = false;  // a comes from the second operand

  // Where batch `i` of a and b begins; that of c is i·m·n.
  struct Offsets {
    int64_t a, b;
  };
  Offsets offsets(int64_t i) const;
  bool empty() const { return m == 0 || n == 0 || batches == 0; }
};

Product read_matmul(const tn_call& call);
Product read_linear(const tn_call& call);

}  // namespace tenon::cpu
