// Elementwise ops of one operand.
#include "shape/number.hpp"

using namespace tenon::core;

namespace {

// Result and kernel in `dtype`, to which x is converted where it has another.
void unary(Frame& frame, tn_dtype dtype) {
  if (frame.tensor(0).dtype() != dtype) frame.cast(0, dtype);
  frame.elementwise(dtype);
}

}  // namespace

// neg, sign, square, conj, relu: x's dtype
TN_RULE(unary_arith) {
  const tn_dtype dtype = operand(frame, 0).dtype();
  if (!in_mask(dtype, TN_MASK_REAL)) [[unlikely]] {
    const std::string_view op = frame.op().name();
    if (op == "neg") frame.require(dtype != TN_DTYPE_BOOL, "not defined for bool; use logical_not");
    if (op == "relu") frame.require_dtype(0, TN_MASK_REAL, "a real dtype");
  }
  frame.elementwise(dtype);
}

// abs, real, imag: of complex numbers real
TN_RULE(unary_abs) { frame.elementwise(real_part(operand(frame, 0).dtype())); }

// floor, ceil, round, trunc: integers stay as they are
TN_RULE(unary_round) {
  frame.elementwise(operand(frame, 0, TN_MASK_REAL | TN_MASK_BOOL, "a real dtype").dtype());
}

// exp, log, sin, …: integers give f32
TN_RULE(unary_float) { unary(frame, fractional(operand(frame, 0).dtype())); }

// erf, sigmoid, …: the same, without complex numbers
TN_RULE(unary_real) {
  const tn_dtype dtype = fractional(float_operand(frame, 0).dtype());
  require_approximation(frame, 1);
  unary(frame, dtype);
}

// isnan, signbit, logical_not, …: bool
TN_RULE(unary_test) {
  operand(frame, 0);
  if (frame.op().name() == "signbit")
    frame.require_dtype(0, TN_MASK_REAL | TN_MASK_BOOL, "a real dtype");
  frame.elementwise(TN_DTYPE_BOOL);
}

// bitwise_not
TN_RULE(unary_bits) {
  frame.elementwise(
      operand(frame, 0, TN_MASK_INT | TN_MASK_BOOL, "an integer dtype or bool").dtype());
}

// clone, contiguous
TN_RULE(unary_copy) { frame.elementwise(operand(frame, 0).dtype()); }

// cast(x, dtype): the kernel converts
TN_RULE(cast) {
  const tn_dtype from = operand(frame, 0).dtype();
  const tn_dtype to = frame.dtype_or(1, from);
  frame.require(to < TN_DTYPE_COUNT, "unknown dtype code {}", to);
  frame.elementwise(to);
}

// clamp(x, min, max): integers clamped by a fraction give f32
TN_RULE(clamp) {
  const tn_dtype x = operand(frame, 0, TN_MASK_REAL, "a real dtype").dtype();
  frame.require(frame.has(1) || frame.has(2), "min or max must be given");
  tn_dtype dtype = x;
  for (uint32_t i = 1; i < 3; ++i) {
    if (!frame.has(i)) continue;
    frame.require(frame.arg(i).tag != TN_VALUE_COMPLEX, "bounds must be real");
    dtype = raised(dtype, kind_of(frame.arg(i)));
  }
  unary(frame, dtype);
}
