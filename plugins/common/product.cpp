#include "product.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "tenon/schemas.h"

namespace tenon {
namespace {

const tn_view& input(const tn_call& call, uint32_t arg) { return *call.args[arg].as.view; }
const tn_view* input_or_null(const tn_call& call, uint32_t arg) {
  return call.args[arg].tag == TN_VALUE_VIEW ? call.args[arg].as.view : nullptr;
}

constexpr int64_t kMost = INT32_MAX - 1024;  // for sizes counted in 32 bits; tiles reach beyond

int64_t step(const tn_view& view, uint32_t d) { return view.shape[d] == 1 ? 0 : view.strides[d]; }

// The last two dimensions of a view are rows and columns. Those before them, counted from the right, belong to the batch of `out`.
void read_batch(Product& p, const tn_view& out, uint32_t dims) {
  const auto step_of = [&](const tn_view& view, uint32_t from_right) {
    return view.ndim < from_right + 3 ? 0 : step(view, view.ndim - 3 - from_right);
  };
  for (uint32_t d = 0; d < dims; ++d) {
    p.batches *= out.shape[d];
    if (out.shape[d] == 1) continue;
    p.shape[p.ndim] = out.shape[d];
    p.a.batch[p.ndim] = step_of(*p.a.view, dims - 1 - d);
    p.b.batch[p.ndim] = step_of(*p.b.view, dims - 1 - d);
    ++p.ndim;
  }
}

// If b is the same for the whole batch, the batch is just more rows: (B, S, K)·(K, N) is one product of B·S rows.
void join_rows(Product& p) {
  for (; p.ndim > 0; --p.ndim) {
    const uint32_t last = p.ndim - 1;
    if (p.b.batch[last] != 0 || (p.m != 1 && p.a.batch[last] != p.m * p.a.row)) return;
    if (p.m > kMost / p.shape[last]) return;
    if (p.m == 1) p.a.row = p.a.batch[last];
    p.m *= p.shape[last];
    p.batches /= p.shape[last];
  }
}

// A product with one column becomes that of the transposed operands, so that the thin dimension is the rows.
void one_row(Product& p) {
  if (p.n != 1 || p.m == 1) return;
  std::swap(p.m, p.n);
  std::swap(p.a, p.b);
  std::swap(p.a.row, p.a.column);
  std::swap(p.b.row, p.b.column);
}

// In place, because a Product takes half a kilobyte, which small products would feel.
void finish(Product& p) {
  if (p.batches > 0) join_rows(p);
  one_row(p);
}

}  // namespace

bool Product::fits() const { return m <= kMost && n <= kMost && k <= kMost && batches <= kMost; }

Product::Offsets Product::offsets(int64_t i, uint32_t dims) const {
  Offsets found{0, 0};
  for (uint32_t d = dims; d-- > 0; i /= shape[d]) {
    found.a += i % shape[d] * a.batch[d];
    found.b += i % shape[d] * b.batch[d];
  }
  return found;
}

Product read_matmul(const tn_call& call) {
  const tn_view &x = input(call, arg::matmul::x), &y = input(call, arg::matmul::y),
                &out = *call.outs[0];
  Product p;
  p.a.view = &x;
  p.b.view = &y;
  p.k = x.shape[x.ndim - 1];
  p.a.column = step(x, x.ndim - 1);
  if (x.ndim > 1) {
    p.m = x.shape[x.ndim - 2];
    p.a.row = step(x, x.ndim - 2);
  }
  p.b.row = step(y, y.ndim == 1 ? 0 : y.ndim - 2);
  if (y.ndim > 1) {
    p.n = y.shape[y.ndim - 1];
    p.b.column = step(y, y.ndim - 1);
  }
  read_batch(p, out, out.ndim - (x.ndim > 1 ? 1 : 0) - (y.ndim > 1 ? 1 : 0));
  finish(p);
  return p;
}

Product read_linear(const tn_call& call) {
  const tn_view &x = input(call, arg::linear::x), &weight = input(call, arg::linear::weight);
  Product p;
  p.a.view = &x;
  p.b.view = &weight;
  p.k = weight.shape[1];
  p.n = weight.shape[0];
  p.b.row = step(weight, 1);
  p.b.column = step(weight, 0);
  p.a.column = step(x, x.ndim - 1);
  if (x.ndim > 1) {
    p.m = x.shape[x.ndim - 2];
    p.a.row = step(x, x.ndim - 2);
  }
  p.bias = input_or_null(call, arg::linear::bias);
  if (p.bias != nullptr) p.bias_step = step(*p.bias, 0);
  if (x.ndim > 2) read_batch(p, x, x.ndim - 2);
  for (uint32_t d = 0; d < p.ndim; ++d) p.b.batch[d] = 0;
  finish(p);
  return p;
}

Product read_weight_gradient(const tn_call& call) {
  using names = arg::linear_backward_weight;
  Product p;
  p.a.view = &input(call, names::g);
  p.b.view = &input(call, names::x);
  p.m = call.outs[names::result::gweight]->shape[0];
  p.n = call.outs[names::result::gweight]->shape[1];
  p.k = 1;
  for (uint32_t d = 0; d + 1 < p.a.view->ndim; ++d) p.k *= p.a.view->shape[d];
  p.a.row = p.b.column = 1;
  p.a.column = p.m;
  p.b.row = p.n;
  return p;
}

Product read_scaled_matmul(const tn_call& call) {
  Product p = read_matmul(call);  // a and b have the positions of matmul's x and y
  p.bias = input_or_null(call, arg::scaled_matmul::bias);
  if (p.bias != nullptr) p.bias_step = step(*p.bias, 0);
  return p;
}

Activation activation_of(std::string_view name) {
  constexpr std::string_view kNames[] = {"none",    "relu", "gelu",     "silu",
                                         "sigmoid", "tanh", "gelu_tanh"};
  return static_cast<Activation>(std::find(std::begin(kNames), std::end(kNames), name) -
                                 std::begin(kNames));
}

}  // namespace tenon
