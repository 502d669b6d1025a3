// Checks of operands and shapes of results that several rules share.
#pragma once

#include <algorithm>

#include "dispatch/frame.hpp"

namespace tenon::core {

// ---- Checks; each throws "[op] …" ---------------------------------------------------------------

void require_rank(const Frame& frame, uint32_t i, uint32_t low, uint32_t high);
// `what` names the mask in the error: "an integer dtype".
void require_dtype(const Frame& frame, uint32_t i, uint64_t mask, std::string_view what);
// Wraps a negative dimension: "[op] dim 3 out of range for a tensor of rank 2".
uint32_t wrap_dim(const Frame& frame, int64_t dim, uint32_t rank);
// The dimensions of an `int[]?` argument as a bit mask: all of them if absent, and none twice.
uint32_t dim_mask(const Frame& frame, uint32_t i, uint32_t rank);
// A list of one value stands for `n` equal values (stride, padding, …).
Dims ints_for(const Frame& frame, uint32_t i, uint32_t n);

// Tensor argument `i`; a number is refused.
inline tn_tensor& operand(const Frame& frame, uint32_t i) {
  frame.require(frame.is_tensor(i), "{} must be a tensor", frame.op().schema.args[i].name);
  return frame.tensor(i);
}

// The same with a dtype from `mask`.
inline tn_tensor& operand(const Frame& frame, uint32_t i, uint64_t mask, std::string_view what) {
  tn_tensor& x = operand(frame, i);
  require_dtype(frame, i, mask, what);
  return x;
}

// Dtypes that promotion may turn into a numeric one: bool as well, but no 8-bit floats.
constexpr uint64_t kNumbers = TN_MASK_REAL | TN_MASK_COMPLEX | TN_MASK_BOOL;

// The sizes of a tensor argument; a number has none.
inline std::span<const int64_t> sizes_of(const Frame& frame, uint32_t i) {
  return frame.is_tensor(i) ? frame.tensor(i).sizes() : std::span<const int64_t>{};
}

inline bool same_shape(std::span<const int64_t> a, std::span<const int64_t> b) {
  return std::ranges::equal(a, b);
}

// Integers and bool compute in f32 if the result is a fraction.
inline tn_dtype fractional(tn_dtype dtype) {
  return (TN_MASK(dtype) & (TN_MASK_INT | TN_MASK_BOOL)) != 0 ? TN_DTYPE_F32 : dtype;
}

// A real operand, with integers converted to f32; the kernel sees fractional(x.dtype()).
inline tn_tensor& float_operand(Frame& frame, uint32_t i,
                                uint64_t mask = TN_MASK_REAL | TN_MASK_BOOL) {
  tn_tensor& x = operand(frame, i, mask, "a real dtype");
  if (const tn_dtype dtype = fractional(x.dtype()); dtype != x.dtype()) frame.cast(i, dtype);
  return x;
}

// The dtype in which sums of a dtype are kept.
inline tn_dtype widened(tn_dtype dtype) {
  if ((TN_MASK(dtype) & TN_MASK_UNSIGNED) != 0) return TN_DTYPE_U64;
  if ((TN_MASK(dtype) & (TN_MASK_SIGNED | TN_MASK_BOOL)) != 0) return TN_DTYPE_I64;
  return dtype;
}

// The dtype of statistics and affine parameters of a normalisation.
inline tn_dtype statistic(tn_dtype dtype) {
  return (TN_MASK(dtype) & TN_MASK_HALF) != 0 ? TN_DTYPE_F32 : dtype;
}

// Integers are summed in 64 bits whatever the result's dtype, so only a change of kind needs a conversion first.
inline tn_dtype sum_result(Frame& frame, uint32_t i, uint32_t dtype_arg) {
  const tn_dtype in = operand(frame, i).dtype();
  const tn_dtype out = frame.dtype_or(dtype_arg, widened(in));
  frame.require(out != TN_DTYPE_BOOL, "dtype must be numeric, got bool");
  const bool whole = (TN_MASK(in) & (TN_MASK_INT | TN_MASK_BOOL)) != 0 && is_integral(out);
  if (in != out && !whole) frame.cast(i, out);
  return out;
}

// The requested dtype, which must be real.
inline tn_dtype real_dtype(const Frame& frame, uint32_t i, tn_dtype otherwise, uint64_t mask,
                           std::string_view what) {
  const tn_dtype dtype = frame.dtype_or(i, otherwise);
  frame.require((mask & TN_MASK(dtype)) != 0, "dtype must be {}, got {}", what, dtype_name(dtype));
  return dtype;
}

// A tensor operand that is not bool.
inline tn_tensor& numeric_operand(const Frame& frame, uint32_t i) {
  return operand(frame, i, TN_MASK_REAL | TN_MASK_COMPLEX, "a numeric dtype");
}

// The common dtype of two numeric operands.
inline tn_dtype numeric_pair(const Frame& frame, uint32_t x, uint32_t y) {
  const tn_dtype dtype = numeric_operand(frame, x).dtype();
  return promote(dtype, numeric_operand(frame, y).dtype());
}

// Requires a valid shape: no negative sizes, and not too many.
inline void require_sizes(const Frame& frame, std::span<const int64_t> shape) {
  frame.require(shape.size() <= TN_MAX_DIMS, "{} dimensions, at most {} possible", shape.size(),
                TN_MAX_DIMS);
  for (const int64_t size : shape)
    frame.require(size >= 0, "negative size in shape {}", format_shape(shape));
}

// Requires that the argument have this shape; a number has rank 0.
inline void require_shape(const Frame& frame, uint32_t i, std::span<const int64_t> shape) {
  const auto sizes = sizes_of(frame, i);
  frame.require(same_shape(sizes, shape), "{} has shape {}, expected {}",
                frame.op().schema.args[i].name, format_shape(sizes), format_shape(shape));
}

// Checks a parameter, statistic or gradient, which may be absent.
inline void parameter(Frame& frame, uint32_t i, std::span<const int64_t> shape, tn_dtype dtype) {
  if (!frame.has(i)) return;
  const tn_tensor& p = operand(frame, i);
  require_shape(frame, i, shape);
  if (p.dtype() != dtype) frame.cast(i, dtype);
}

// The dtype of a bias, which must be a vector of `size` elements.
inline tn_dtype bias_dtype(const Frame& frame, uint32_t i, int64_t size) {
  const tn_tensor& bias = numeric_operand(frame, i);
  const auto shape = bias.sizes();
  frame.require(shape.size() == 1 && shape[0] == size, "bias must have shape {}, got {}",
                format_shape(std::span(&size, 1)), format_shape(shape));
  return bias.dtype();
}

// An index tensor: any integer dtype, converted to i64.
inline tn_tensor& index_operand(Frame& frame, uint32_t i) {
  tn_tensor& index = operand(frame, i, TN_MASK_INT, "an integer dtype");
  frame.cast(i, TN_DTYPE_I64);
  return index;
}

// An operand whose elements are compared, so its dtype must have an order.
inline tn_tensor& ordered_operand(const Frame& frame, uint32_t i) {
  return operand(frame, i, TN_MASK_REAL | TN_MASK_BOOL, "an ordered dtype");
}

// ---- Shapes -------------------------------------------------------------------------------------

// Sets `shape` to the broadcast shape of a and b. Returns false if they do not broadcast.
bool broadcast(std::span<const int64_t> a, std::span<const int64_t> b, Dims& shape);
// The same; throws "[op] shapes (2, 3) and (4) do not broadcast".
Dims broadcast_shapes(const Frame& frame, std::span<const int64_t> a, std::span<const int64_t> b);
// Form::Elementwise: result 0 has the broadcast shape of the tensor arguments.
void elementwise(Frame& frame, tn_dtype dtype);
// Form::Reduce over the dimensions in the mask of x, which is argument 0; for every result.
void reduce(Frame& frame, const tn_tensor& x, tn_dtype dtype, uint32_t mask, bool keepdim);

// The dimension that argument `i` names in a tensor of that rank; kernels see it wrapped.
inline uint32_t fix_dim(Frame& frame, uint32_t i, uint32_t rank) {
  const uint32_t dim = wrap_dim(frame, frame.integer(i), rank);
  frame.set_integer(i, dim);
  return dim;
}

// The same for an op along one dimension, which kernels see as the last and contiguous one.
inline uint32_t along(Frame& frame, uint32_t i, uint32_t rank) {
  const uint32_t dim = wrap_dim(frame, frame.integer(i), rank);
  frame.along(i, dim);
  return dim;
}

}  // namespace tenon::core
