// Parts that the rules of convolution, pooling and resampling share.
#pragma once

#include "ops/operands.hpp"

namespace tenon::core {

// The number of dimensions after (N, C), which must be 1 to 3.
inline uint32_t spatial_rank(const Frame& frame, std::span<const int64_t> shape,
                             std::string_view what) {
  frame.require(shape.size() >= 3 && shape.size() <= 5,
                "{} must be (N, C, spatial…) with 1 to 3 spatial dimensions, got shape {}", what,
                format_shape(shape));
  return static_cast<uint32_t>(shape.size() - 2);
}

// An attribute list of n entries, each at least `low`.
inline Dims checked_list(const Frame& frame, uint32_t i, uint32_t n, int64_t low) {
  const Dims list = ints_for(frame, i, n);
  for (const int64_t value : list)
    frame.require(value >= low && value <= INT32_MAX, "{} must be {} or more, got {}",
                  frame.op().schema.args[i].name, low, format_shape(list));
  return list;
}

// The same, and the argument is rewritten in full so that kernels need not expand it.
inline Dims window_list(Frame& frame, uint32_t i, uint32_t n, int64_t low) {
  const Dims list = checked_list(frame, i, n, low);
  if (frame.ints(i).size() != n) frame.set_ints(i, list);
  return list;
}

// x (N, C, spatial…) as (N, C, size…)
inline Dims resized(Frame& frame, uint32_t x_arg, uint32_t size_arg) {
  const auto x = frame.tensor(x_arg).sizes();
  const Dims size = window_list(frame, size_arg, spatial_rank(frame, x, "x"), 1);
  Dims out(x.first(2));
  for (uint32_t d = 0; d < size.n; ++d) {
    frame.require(x[d + 2] > 0, "x of shape {} has an empty spatial dimension", format_shape(x));
    out.push(size[d]);
  }
  return out;
}

// A shape given as an attribute: no negative sizes, and not too many elements.
inline std::span<const int64_t> shape_argument(const Frame& frame, uint32_t i) {
  const auto shape = frame.ints(i);
  for (const int64_t size : shape)
    frame.require(size >= 0, "{} has a negative size: {}", frame.op().schema.args[i].name,
                  format_shape(shape));
  count_elements(shape);
  return shape;
}

// Requires that g could come from an input of that shape: the same (N, C).
inline void require_planes(const Frame& frame, std::span<const int64_t> g,
                           std::span<const int64_t> shape) {
  frame.require(g.size() == shape.size() && g[0] == shape[0] && g[1] == shape[1],
                "g of shape {} does not belong to an input of shape {}", format_shape(g),
                format_shape(shape));
}

// The rule of an op (g, shape, …) -> x's gradient whose forward op gives `resized`.
inline void resize_backward(Frame& frame, uint32_t g_arg, uint32_t shape_arg) {
  const tn_tensor& gradient = operand(frame, g_arg, TN_MASK_FLOAT, "a floating-point dtype");
  const auto g = gradient.sizes(), shape = shape_argument(frame, shape_arg);
  const uint32_t n = spatial_rank(frame, shape, "shape");
  require_planes(frame, g, shape);
  for (uint32_t d = 0; d < n; ++d)
    frame.require(shape[d + 2] > 0 && g[d + 2] > 0, "empty spatial dimension: g {}, shape {}",
                  format_shape(g), format_shape(shape));
  frame.result(0, gradient.dtype(), shape);
}

}  // namespace tenon::core
