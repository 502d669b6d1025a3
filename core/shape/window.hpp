// What the rules of products, convolution and pooling share.
#pragma once

#include "shape/operands.hpp"

namespace tenon::core {

// The dtype of a bias, which must be a vector of `size` elements.
inline tn_dtype bias_dtype(const Frame& frame, uint32_t i, int64_t size) {
  const tn_tensor& bias = operand(frame, i, TN_MASK_REAL | TN_MASK_COMPLEX, "a numeric dtype");
  const auto shape = bias.sizes();
  frame.require(shape.size() == 1 && shape[0] == size, "bias must have shape {}, got {}",
                format_shape(std::span(&size, 1)), format_shape(shape));
  return bias.dtype();
}

// Number of dimensions behind (N, C), which must be 1 to 3.
inline uint32_t spatial_rank(const Frame& frame, std::span<const int64_t> shape,
                             std::string_view what) {
  frame.require(shape.size() >= 3 && shape.size() <= 5,
                "{} must be (N, C, spatial…) with 1 to 3 spatial dimensions, got shape {}", what,
                format_shape(shape));
  return static_cast<uint32_t>(shape.size() - 2);
}

// An attribute list of n entries, each at least `low`.
inline Dims checked_list(const Frame& frame, uint32_t i, uint32_t n, int64_t low) {
  const Dims list = frame.ints_for(i, n);
  for (const int64_t value : list)
    frame.require(value >= low && value <= INT32_MAX, "{} must be {} or more, got {}",
                  frame.op().schema.args[i].name, low, format_shape(list));
  return list;
}

// It is rewritten in full, so that kernels need not expand it.
inline Dims window_list(Frame& frame, uint32_t i, uint32_t n, int64_t low) {
  const Dims list = checked_list(frame, i, n, low);
  if (frame.ints(i).size() != n) frame.set_ints(i, list);
  return list;
}

// A shape given as an attribute: no negative sizes, and no more elements than there can be.
inline std::span<const int64_t> shape_argument(const Frame& frame, uint32_t i) {
  const auto shape = frame.ints(i);
  for (const int64_t size : shape)
    frame.require(size >= 0, "{} has a negative size: {}", frame.op().schema.args[i].name,
                  format_shape(shape));
  count_elements(shape);
  return shape;
}

}  // namespace tenon::core
