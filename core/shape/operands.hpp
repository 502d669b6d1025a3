// What several rules ask of their operands.
#pragma once

#include <algorithm>

#include "shape/rules.hpp"

namespace tenon::core {

// Tensor argument `i`; a number in its place is refused.
inline tn_tensor& operand(const Frame& frame, uint32_t i) {
  frame.require(frame.is_tensor(i), "{} must be a tensor", frame.op().schema.args[i].name);
  return frame.tensor(i);
}

// Sizes of a tensor argument; a number has none.
inline std::span<const int64_t> sizes_of(const Frame& frame, uint32_t i) {
  return frame.is_tensor(i) ? frame.tensor(i).sizes() : std::span<const int64_t>{};
}

inline bool same_shape(std::span<const int64_t> a, std::span<const int64_t> b) {
  return std::ranges::equal(a, b);
}

// Integers and bool compute in f32 where the result is a fraction.
inline tn_dtype fractional(tn_dtype dtype) {
  return (TN_MASK(dtype) & (TN_MASK_INT | TN_MASK_BOOL)) != 0 ? TN_DTYPE_F32 : dtype;
}

// What sums of a dtype are kept in.
inline tn_dtype widened(tn_dtype dtype) {
  if ((TN_MASK(dtype) & TN_MASK_UNSIGNED) != 0) return TN_DTYPE_U64;
  if ((TN_MASK(dtype) & (TN_MASK_SIGNED | TN_MASK_BOOL)) != 0) return TN_DTYPE_I64;
  return dtype;
}

// What statistics and affine parameters of a normalisation are kept in.
inline tn_dtype statistic(tn_dtype dtype) {
  return (TN_MASK(dtype) & TN_MASK_HALF) != 0 ? TN_DTYPE_F32 : dtype;
}

// The sum of integers is taken in 64 bits whatever comes out, so only a change of kind needs a
// conversion first.
inline tn_dtype sum_result(Frame& frame, uint32_t dtype_arg) {
  const tn_dtype in = operand(frame, 0).dtype();
  const tn_dtype out = frame.dtype_or(dtype_arg, widened(in));
  frame.require(out != TN_DTYPE_BOOL, "dtype must be numeric, got bool");
  const bool whole = (TN_MASK(in) & (TN_MASK_INT | TN_MASK_BOOL)) != 0 && is_integral(out);
  if (in != out && !whole) frame.cast(0, out);
  return out;
}

// An index tensor: any integer dtype, read as i64.
inline tn_tensor& index_operand(Frame& frame, uint32_t i) {
  tn_tensor& index = operand(frame, i);
  frame.require_dtype(i, TN_MASK_INT, "an integer dtype");
  frame.cast(i, TN_DTYPE_I64);
  return index;
}

}  // namespace tenon::core
