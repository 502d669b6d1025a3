// Shape rules of pooling, resampling and padding.
#include "shape/window.hpp"

namespace tenon::core {
namespace {

struct PoolArgs {
  // Argument positions; dilation 0: there is none.
  uint32_t kernel, stride, padding, dilation, ceil_mode;
};

// Checks a window and gives the pooled shape of x; the stride defaults to the kernel.
Dims pool_shape(Frame& frame, std::span<const int64_t> x, PoolArgs at) {
  const uint32_t n = spatial_rank(frame, x, "x");
  const Dims kernel = window_list(frame, at.kernel, n, 1);
  const bool as_kernel = !frame.has(at.stride) || frame.ints(at.stride).empty();
  if (as_kernel) frame.set_ints(at.stride, kernel);
  const Dims stride = as_kernel ? kernel : window_list(frame, at.stride, n, 1);
  const Dims padding = window_list(frame, at.padding, n, 0);
  Dims dilation;
  if (at.dilation != 0)
    dilation = window_list(frame, at.dilation, n, 1);
  else
    for (uint32_t d = 0; d < n; ++d) dilation.push(1);
  Dims out(x.first(2));
  for (uint32_t d = 0; d < n; ++d) {
    frame.require(2 * padding[d] <= kernel[d], "padding {} exceeds half of the kernel {}",
                  format_shape(padding), format_shape(kernel));
    const int64_t reach = dilation[d] * (kernel[d] - 1) + 1,
                  room = x[d + 2] + 2 * padding[d] - reach;
    const bool up = frame.flag(at.ceil_mode);
    // A last window that starts beyond the input and its left padding is dropped.
    int64_t size = room < 0 ? (up && room > -stride[d] ? 1 : 0)
                            : (room + (up ? stride[d] - 1 : 0)) / stride[d] + 1;
    if (up && size > 0 && (size - 1) * stride[d] >= x[d + 2] + padding[d]) --size;
    frame.require(size >= 1, "kernel {} exceeds x of shape {} with padding {}",
                  format_shape(kernel), format_shape(x), format_shape(padding));
    out.push(size);
  }
  return out;
}

// (N, C, size…)
Dims resized(Frame& frame, uint32_t size_arg) {
  const auto x = frame.tensor(0).sizes();
  const Dims size = window_list(frame, size_arg, spatial_rank(frame, x, "x"), 1);
  Dims out(x.first(2));
  for (uint32_t d = 0; d < size.n; ++d) {
    frame.require(x[d + 2] > 0, "x of shape {} has an empty spatial dimension", format_shape(x));
    out.push(size[d]);
  }
  return out;
}

void require_mode(const Frame& frame, std::string_view mode, uint32_t spatial) {
  const bool two = mode == "bilinear" || mode == "bicubic", three = mode == "trilinear";
  frame.require(two || three || mode == "nearest" || mode == "linear",
                "unknown mode \"{}\": nearest, linear, bilinear, trilinear or bicubic", mode);
  const uint32_t wanted = two ? 2 : three ? 3 : spatial;
  frame.require(wanted == spatial, "mode \"{}\" needs {} spatial dimensions, got {}", mode, wanted,
                spatial);
}

// g, argument 0, can come from an input of that shape: the same (N, C).
void require_planes(const Frame& frame, std::span<const int64_t> g,
                    std::span<const int64_t> shape) {
  frame.require(g.size() == shape.size() && g[0] == shape[0] && g[1] == shape[1],
                "g of shape {} does not belong to an input of shape {}", format_shape(g),
                format_shape(shape));
}

// Sizes after padding, or before it when `sign` is -1. pads: (before, after) of the last dimension
// first.
Dims padded(const Frame& frame, std::span<const int64_t> shape, std::span<const int64_t> pads,
            std::string_view mode, int64_t sign) {
  frame.require(pads.size() % 2 == 0 && pads.size() / 2 <= shape.size(),
                "pads {} must be pairs for at most {} dimensions, the last one first",
                format_shape(pads), shape.size());
  bool known = mode == "constant";
  for (const char* name : {"reflect", "replicate", "circular"}) known |= mode == name;
  frame.require(known, "unknown mode \"{}\": constant, reflect, replicate or circular", mode);
  Dims out(shape);
  for (size_t k = 0; k < pads.size() / 2; ++k) {
    const size_t d = shape.size() - 1 - k;
    const int64_t before = pads[2 * k], after = pads[2 * k + 1];
    frame.require(std::min(before, after) >= -INT32_MAX && std::max(before, after) <= INT32_MAX,
                  "pads out of range: {}", format_shape(pads));
    out[d] = shape[d] + sign * (before + after);
    const int64_t inner = sign > 0 ? shape[d] : out[d], outer = sign > 0 ? out[d] : shape[d];
    frame.require(inner >= 0 && outer >= 0 &&
                      inner + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0) >= 0,
                  "pads {} leave a negative size of shape {}", format_shape(pads),
                  format_shape(shape));
    if (mode == "constant" || (before == 0 && after == 0)) continue;
    frame.require(before >= 0 && after >= 0, "mode \"{}\" takes no negative pads, got {}", mode,
                  format_shape(pads));
    const int64_t most = mode == "reflect"    ? inner - 1
                         : mode == "circular" ? inner
                         : inner > 0          ? INT32_MAX
                                              : 0;
    frame.require(std::max(before, after) <= most,
                  "mode \"{}\": pads {} too large for dimension {} of size {}", mode,
                  format_shape(pads), d, inner);
  }
  return out;
}

}  // namespace
}  // namespace tenon::core

TN_RULE(max_pool) {
  const tn_tensor& x = operand(frame, 0, TN_MASK_REAL, "a real dtype");
  const Dims out = pool_shape(frame, x.sizes(), {1, 2, 3, 4, 5});
  frame.result(0, x.dtype(), out);
  frame.result(1, TN_DTYPE_I64, out);
}

TN_RULE(avg_pool) {
  const tn_tensor& x = operand(frame, 0, TN_MASK_FLOAT, "a floating-point dtype");
  frame.result(0, x.dtype(), pool_shape(frame, x.sizes(), {1, 2, 3, 0, 4}));
}

TN_RULE(adaptive_pool) {
  const tn_tensor& x = operand(frame, 0, TN_MASK_FLOAT, "a floating-point dtype");
  frame.result(0, x.dtype(), resized(frame, 1));
}

TN_RULE(adaptive_max_pool) {
  const tn_tensor& x = operand(frame, 0, TN_MASK_REAL, "a real dtype");
  const Dims out = resized(frame, 1);
  frame.result(0, x.dtype(), out);
  frame.result(1, TN_DTYPE_I64, out);
}

// shape: of x; indices are places in a plane of x
TN_RULE(pool_backward_indices) {
  const tn_tensor& gradient = operand(frame, 0, TN_MASK_REAL, "a real dtype");
  const tn_tensor& indices = operand(frame, 1, TN_MASK(TN_DTYPE_I64), "dtype i64");
  const auto g = gradient.sizes(), shape = shape_argument(frame, 2);
  spatial_rank(frame, shape, "shape");
  frame.require(Dims(g) == Dims(indices.sizes()), "g and indices differ in shape: {} and {}",
                format_shape(g), format_shape(indices.sizes()));
  require_planes(frame, g, shape);
  frame.result(0, gradient.dtype(), shape);
}

// avg_pool_backward, adaptive_avg_pool_backward and interpolate_backward; shape: of x
TN_RULE(pool_backward) {
  const tn_tensor& gradient = operand(frame, 0, TN_MASK_FLOAT, "a floating-point dtype");
  const auto g = gradient.sizes(), shape = shape_argument(frame, 1);
  const uint32_t n = spatial_rank(frame, shape, "shape");
  require_planes(frame, g, shape);
  if (frame.op().name() == "avg_pool_backward") {
    require_shape(frame, 0, pool_shape(frame, shape, {2, 3, 4, 0, 5}));
  } else {
    for (uint32_t d = 0; d < n; ++d)
      frame.require(shape[d + 2] > 0 && g[d + 2] > 0, "empty spatial dimension: g {}, shape {}",
                    format_shape(g), format_shape(shape));
    if (frame.op().name() == "interpolate_backward") require_mode(frame, frame.str(2), n);
  }
  frame.result(0, gradient.dtype(), shape);
}

TN_RULE(interpolate) {
  const tn_tensor& x = operand(frame, 0, TN_MASK_FLOAT, "a floating-point dtype");
  const Dims out = resized(frame, 1);
  require_mode(frame, frame.str(2), out.n - 2);
  frame.result(0, x.dtype(), out);
}

TN_RULE(pad) {
  const tn_tensor& x = operand(frame, 0);
  frame.result(0, x.dtype(), padded(frame, x.sizes(), frame.ints(1), frame.str(2), 1));
}

TN_RULE(pad_backward) {
  const tn_tensor& x = operand(frame, 0);
  frame.result(0, x.dtype(), padded(frame, x.sizes(), frame.ints(1), frame.str(2), -1));
}
