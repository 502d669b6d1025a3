#include "ops/matmul_product.hpp"

#include <utility>

#include "tenon/schemas.h"

namespace tenon::cpu {
namespace {

// The stride of batch dimension `d`, counted from the right; 0 where the operand broadcasts.
int64_t batch_stride(const tn_view& view, uint32_t from_right) {
  const uint32_t back = from_right + 3;  // behind it lie rows and columns
  if (view.ndim < back || view.shape[view.ndim - back] == 1) return 0;
  return view.strides[view.ndim - back];
}

// Batches of a become rows while b is the same for all: (B, S, K)·(K, N) is one product of B·S
// rows.
void fold_batches(Product& p) {
  while (p.ndim > 0) {
    const uint32_t last = p.ndim - 1;
    if (p.b_step[last] != 0 || (p.m != 1 && p.a_step[last] != p.m * p.a_row)) return;
    if (p.m == 1) p.a_row = p.a_step[last];
    p.m *= p.shape[last];
    p.batches /= p.shape[last];
    --p.ndim;
  }
}

// A product with one column reads b as a row: what is left is contiguous.
void one_column(Product& p) {
  if (p.n != 1 || p.m == 1) return;
  std::swap(p.m, p.n);
  std::swap(p.a, p.b);
  std::swap(p.a_row, p.b_col);
  std::swap(p.a_col, p.b_row);
  std::swap(p.a_step, p.b_step);
  p.swapped = true;
}

}  // namespace

Product::Offsets Product::offsets(int64_t i) const {
  Offsets result{0, 0};
  for (uint32_t d = ndim; d-- > 0; i /= shape[d]) {
    result.a += i % shape[d] * a_step[d];
    result.b += i % shape[d] * b_step[d];
  }
  return result;
}

Product read_matmul(const tn_call& call) {
  const tn_view &x = input(call, arg::matmul::x), &y = input(call, arg::matmul::y),
                &out = output(call);
  Product p;
  p.a = x.data;
  p.b = y.data;
  p.c = out.data;
  p.k = x.shape[x.ndim - 1];
  p.a_col = x.strides[x.ndim - 1];
  if (x.ndim > 1) p.m = x.shape[x.ndim - 2], p.a_row = x.strides[x.ndim - 2];
  const uint32_t rows = y.ndim == 1 ? 0 : y.ndim - 2;
  p.b_row = y.strides[rows];
  if (y.ndim > 1) p.n = y.shape[y.ndim - 1], p.b_col = y.strides[y.ndim - 1];
  const uint32_t inner = (x.ndim > 1 ? 1 : 0) + (y.ndim > 1 ? 1 : 0), batch = out.ndim - inner;
  for (uint32_t d = 0; d < batch; ++d) {
    if (out.shape[d] == 0) p.batches = 0;
    if (out.shape[d] <= 1) continue;
    p.shape[p.ndim] = out.shape[d];
    p.a_step[p.ndim] = batch_stride(x, batch - 1 - d);
    p.b_step[p.ndim] = batch_stride(y, batch - 1 - d);
    p.batches *= out.shape[d];
    ++p.ndim;
  }
  if (p.batches > 0) fold_batches(p);
  one_column(p);
  p.c_row = p.n;
  return p;
}

Product read_linear(const tn_call& call) {
  using arg = tenon::arg::linear;
  const tn_view &x = input(call, arg::x), &weight = input(call, arg::weight), &out = output(call);
  Product p;
  p.a = x.data;
  p.b = weight.data;
  p.c = out.data;
  p.n = weight.shape[0];
  p.k = weight.shape[1];
  p.b_row = weight.strides[1];
  p.b_col = weight.strides[0];
  p.a_col = x.strides[x.ndim - 1];
  p.bias = input_or_null(call, arg::bias);
  if (x.ndim > 1) p.m = x.shape[x.ndim - 2], p.a_row = x.strides[x.ndim - 2];
  for (uint32_t d = 0; d + 2 < x.ndim; ++d) {
    if (x.shape[d] == 0) p.batches = 0;
    if (x.shape[d] <= 1) continue;
    p.shape[p.ndim] = x.shape[d];
    p.a_step[p.ndim] = x.strides[d];
    p.b_step[p.ndim] = 0;
    p.batches *= x.shape[d];
    ++p.ndim;
  }
  if (p.batches > 0) fold_batches(p);
  p.c_row = p.n;
  return p;
}

}  // namespace tenon::cpu
