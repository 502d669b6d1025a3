// Shape rules of attention. The statistic is f32 where q is f16 or bf16, of q's dtype otherwise.
#include "shape/operands.hpp"

using namespace tenon::core;

namespace {

// q (B, H, L, E), k (B, K, S, E) and v (B, K, S, F) from argument `first` on, and what broadcasts to (B, H, L, S) as a mask.
tn_dtype queries_keys_values(Frame& frame, uint32_t first, uint32_t mask) {
  for (uint32_t i = first; i < first + 3; ++i) {
    operand(frame, i, TN_MASK_FLOAT, "a floating-point dtype");
    frame.require_rank(i, 4, 4);
  }
  const tn_tensor &q = frame.tensor(first), &k = frame.tensor(first + 1),
                  &v = frame.tensor(first + 2);
  const int64_t *x = q.shape(), *y = k.shape(), *z = v.shape();
  frame.require(x[0] == y[0] && x[0] == z[0] && y[1] == z[1] && y[2] == z[2] && x[3] == y[3],
                "q {}, k {} and v {} are not (B, H, L, E), (B, K, S, E) and (B, K, S, F)",
                format_shape(q.sizes()), format_shape(k.sizes()), format_shape(v.sizes()));
  frame.require(y[1] == 0 ? x[1] == 0 : x[1] % y[1] == 0,
                "{} heads of q do not divide among {} of k and v", x[1], y[1]);
  const tn_dtype dtype = promote(promote(q.dtype(), k.dtype()), v.dtype());
  for (uint32_t i = first; i < first + 3; ++i) frame.cast(i, dtype);
  if (!frame.has(mask)) return dtype;
  const tn_tensor& m =
      operand(frame, mask, TN_MASK_FLOAT | TN_MASK_BOOL, "a bool or floating-point dtype");
  const int64_t scores[] = {x[0], x[1], x[2], y[2]};
  frame.require(same_shape(broadcast_shapes(frame, m.sizes(), scores), scores),
                "mask of shape {} does not broadcast to {}", format_shape(m.sizes()),
                format_shape(scores));
  if (m.dtype() != TN_DTYPE_BOOL) frame.cast(mask, dtype);
  return dtype;
}

Dims output_shape(const tn_tensor& q, const tn_tensor& v) {
  Dims shape(q.sizes());
  shape[3] = v.shape()[3];
  return shape;
}

}  // namespace

// attention(q, k, v, mask, causal, scale) -> y (B, H, L, F), lse (B, H, L)
TN_RULE(attention) {
  const tn_dtype dtype = queries_keys_values(frame, 0, 3);
  frame.result(0, dtype, output_shape(frame.tensor(0), frame.tensor(2)));
  frame.result(1, statistic(dtype), frame.tensor(0).sizes().first(3));
}

// attention_backward(g, q, k, v, y, lse, glse, mask, causal, scale) -> gq, gk, gv
TN_RULE(attention_backward) {
  const tn_dtype dtype = queries_keys_values(frame, 1, 7);
  const Dims out = output_shape(frame.tensor(1), frame.tensor(3));
  for (const uint32_t i : {0, 4}) parameter(frame, i, out, dtype);
  for (const uint32_t i : {5, 6})
    parameter(frame, i, frame.tensor(1).sizes().first(3), statistic(dtype));
  for (uint32_t k = 0; k < 3; ++k) frame.result(k, dtype, frame.tensor(1 + k).sizes());
}
