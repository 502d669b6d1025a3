// Pooling over the dimensions after (N, C).
// Everything except max pooling is linear: the gradient of the backward op is the forward op. Averaging is also separable: one small
// matrix for each dimension.
#include <algorithm>
#include <optional>
#include <vector>

#include "ops/gradients.hpp"
#include "ops/record.hpp"
#include "ops/window.hpp"
#include "tenon/creation.hpp"

namespace {

struct WindowArgs {  // the arguments' positions
  uint32_t kernel, stride, padding, ceil_mode;
  std::optional<uint32_t> dilation = {};
};

// Checks a window and returns the pooled shape of x; the stride defaults to the kernel.
Dims pool_shape(Frame& frame, std::span<const int64_t> x, WindowArgs at) {
  const uint32_t n = spatial_rank(frame, x, "x");
  const Dims kernel = window_list(frame, at.kernel, n, 1);
  const bool as_kernel = !frame.has(at.stride) || frame.ints(at.stride).empty();
  if (as_kernel) frame.set_ints(at.stride, kernel);
  const Dims stride = as_kernel ? kernel : window_list(frame, at.stride, n, 1);
  const Dims padding = window_list(frame, at.padding, n, 0);
  Dims dilation;
  if (at.dilation)
    dilation = window_list(frame, *at.dilation, n, 1);
  else
    for (uint32_t d = 0; d < n; ++d) dilation.push(1);
  Dims out(x.first(2));
  for (uint32_t d = 0; d < n; ++d) {
    frame.require(2 * padding[d] <= kernel[d], "padding {} exceeds half of the kernel {}",
                  format_shape(padding), format_shape(kernel));
    const int64_t reach = dilation[d] * (kernel[d] - 1) + 1,
                  room = x[d + 2] + 2 * padding[d] - reach;
    const bool up = frame.flag(at.ceil_mode);
    // A last window that starts after the input and its left padding is dropped.
    int64_t size = room < 0 ? (up && room > -stride[d] ? 1 : 0)
                            : (room + (up ? stride[d] - 1 : 0)) / stride[d] + 1;
    if (up && size > 0 && (size - 1) * stride[d] >= x[d + 2] + padding[d]) --size;
    frame.require(size >= 1, "kernel {} exceeds x of shape {} with padding {}",
                  format_shape(kernel), format_shape(x), format_shape(padding));
    out.push(size);
  }
  return out;
}

// (N, C, spatial…) with the spatial dimensions merged
Tensor planes(const Tensor& x) {
  const auto shape = x.shape();
  return reshape(x, {shape[0], shape[1], product(shape.subspan(2))});
}

// The weights of `to` windows over `from` elements, row by row.
struct Windows {
  int64_t to, from;
  std::vector<double> weights = std::vector<double>(static_cast<size_t>(to * from));
  void set(int64_t window, int64_t begin, int64_t end, double weight) {
    for (int64_t i = begin; i < end; ++i) weights[static_cast<size_t>(window * from + i)] = weight;
  }
  Tensor matrix(const Tensor& like) const {
    return detail::from_elements(weights.data(), weights.size(), {to, from},
                                 {like.dtype(), like.device()});
  }
};

// Output i averages the elements from ⌊i·n/m⌋ to ⌈(i+1)·n/m⌉.
Windows adaptive_windows(int64_t to, int64_t from) {
  Windows windows{to, from};
  for (int64_t i = 0; i < to; ++i) {
    const int64_t begin = i * from / to, end = ((i + 1) * from + to - 1) / to;
    windows.set(i, begin, end, 1.0 / static_cast<double>(end - begin));
  }
  return windows;
}

Windows strided_windows(int64_t to, int64_t from, int64_t kernel, int64_t stride, int64_t padding,
                        bool count_pad) {
  Windows windows{to, from};
  for (int64_t i = 0; i < to; ++i) {
    const int64_t low = i * stride - padding, high = std::min(low + kernel, from + padding);
    const int64_t begin = std::max<int64_t>(low, 0), end = std::min(high, from);
    const int64_t size = count_pad ? high - low : end - begin;
    if (size > 0) windows.set(i, begin, end, 1.0 / static_cast<double>(size));
  }
  return windows;
}

// Multiplies dimension d of x by the matrix, which has a row for each new element.
Tensor map_dim(const Tensor& x, int64_t d, const Tensor& matrix) {
  return transpose(matmul(transpose(x, d, -1), transpose(matrix, 0, 1)), d, -1);
}

}  // namespace

TN_OP(max_pool) = {
    .schema =
        "(Tensor x, int[] kernel, int[]? stride=none, int[] padding=[0], int[] dilation=[1], "
        "bool ceil_mode=false) -> Tensor values, Tensor indices",
    .gives = "The largest element of each window, and its position.",
    .example = "tenon.max_pool(t([[[1., 3., 2., 4.]]]), 2)",
    .rule = &rule::max_pool,
    .gradient = &gradient::max_pool,
};

TN_RULE(max_pool, max_pool,
        {.dtypes = "real; indices are i64",
         .shapes = "x (N, C, spatial…); one to three spatial dimensions"}) {
  const tn_tensor& x = operand(frame, arg::x, TN_MASK_REAL, "a real dtype");
  const Dims out = pool_shape(
      frame, x.sizes(), {arg::kernel, arg::stride, arg::padding, arg::ceil_mode, arg::dilation});
  frame.result(arg::result::values, x.dtype(), out);
  frame.result(arg::result::indices, TN_DTYPE_I64, out);
}

// g at the largest element of each window; for adaptive_max_pool as well
TN_GRADIENT(max_pool, {.always = out_(arg::result::indices)}) {
  if (c.grad(arg::result::values).defined())
    c.set(arg::x, max_pool_backward(c.grad(arg::result::values), c.out(arg::result::indices),
                                    c.shape(arg::x)));
}

TN_OP(max_pool_backward) = {
    .schema = "(Tensor g, Tensor indices, int[] shape) -> Tensor",
    .gives = "The gradient of max_pool for its input of the given shape.",
    .example = "tenon.max_pool_backward(t([[[1., 1.]]]), t([[[1, 3]]]), (1, 1, 4))",
    .linear = "g",
    .rule = &rule::max_pool_backward,
    .gradient = &gradient::max_pool_backward,
    .decompose = &decomposition::max_pool_backward,
};

// The indices are positions in a plane of x.
TN_RULE(max_pool_backward, max_pool_backward,
        {.dtypes = "real; indices are i64", .shapes = "`shape`"}) {
  const tn_tensor& gradient = operand(frame, arg::g, TN_MASK_REAL, "a real dtype");
  const tn_tensor& indices = operand(frame, arg::indices, TN_MASK(TN_DTYPE_I64), "dtype i64");
  const auto g = gradient.sizes(), shape = shape_argument(frame, arg::shape);
  spatial_rank(frame, shape, "shape");
  frame.require(Dims(g) == Dims(indices.sizes()), "g and indices differ in shape: {} and {}",
                format_shape(g), format_shape(indices.sizes()));
  require_planes(frame, g, shape);
  frame.result(0, gradient.dtype(), shape);
}

// linear in g: picks what arrives at the places to which g went
TN_GRADIENT(max_pool_backward, {.always = in_(arg::indices)}) {
  const Tensor picked = gather(planes(c.grad()), 2, planes(c.in(arg::indices)));
  c.set(arg::g, reshape(picked, c.shape(arg::g)));
}

// g added up at the places that indices name in each plane
TN_DECOMPOSE(max_pool_backward) {
  const Tensor g = in.tensor(arg::g), indices = in.tensor(arg::indices);
  const auto shape = in.ints(arg::shape);
  const Tensor flat = scatter_add(zeros({shape[0], shape[1], product(shape.subspan(2))}, g), 2,
                                  planes(indices), planes(g));
  out[0] = reshape(flat, shape);
}

TN_OP(avg_pool) = {
    .schema =
        "(Tensor x, int[] kernel, int[]? stride=none, int[] padding=[0], bool ceil_mode=false, "
        "bool count_include_pad=true) -> Tensor",
    .gives = "The mean of each window.",
    .example = "tenon.avg_pool(t([[[1., 3., 2., 4.]]]), 2)",
    .linear = "x",
    .rule = &rule::avg_pool,
    .gradient = &gradient::avg_pool,
};

TN_RULE(avg_pool, avg_pool, {.dtypes = "floating", .shapes = "x (N, C, spatial…)"}) {
  const tn_tensor& x = operand(frame, arg::x, TN_MASK_FLOAT, "a floating-point dtype");
  frame.result(
      0, x.dtype(),
      pool_shape(frame, x.sizes(), {arg::kernel, arg::stride, arg::padding, arg::ceil_mode}));
}

// g/window for every element of each window
TN_GRADIENT(avg_pool, {}) {
  c.set(arg::x, avg_pool_backward(c.grad(), c.shape(arg::x), c.ints(arg::kernel),
                                  optional_ints(c, arg::stride), c.ints(arg::padding),
                                  c.flag(arg::ceil_mode), c.flag(arg::count_include_pad)));
}

TN_OP(avg_pool_backward) = {
    .schema =
        "(Tensor g, int[] shape, int[] kernel, int[]? stride=none, int[] padding=[0], bool "
        "ceil_mode=false, bool count_include_pad=true) -> Tensor",
    .gives = "The gradient of avg_pool for its input of the given shape.",
    .example = "tenon.avg_pool_backward(t([[[1., 1.]]]), (1, 1, 4), 2)",
    .linear = "g",
    .rule = &rule::avg_pool_backward,
    .gradient = &gradient::avg_pool_backward,
    .decompose = &decomposition::avg_pool_backward,
};

TN_RULE(avg_pool_backward, avg_pool_backward, {.dtypes = "floating", .shapes = "`shape`"}) {
  const tn_tensor& g = operand(frame, arg::g, TN_MASK_FLOAT, "a floating-point dtype");
  const auto shape = shape_argument(frame, arg::shape);
  spatial_rank(frame, shape, "shape");
  require_planes(frame, g.sizes(), shape);
  require_shape(frame, arg::g,
                pool_shape(frame, shape, {arg::kernel, arg::stride, arg::padding, arg::ceil_mode}));
  frame.result(0, g.dtype(), shape);
}

// linear in g: its adjoint is avg_pool
TN_GRADIENT(avg_pool_backward, {}) {
  c.set(arg::g,
        avg_pool(c.grad(), c.ints(arg::kernel), optional_ints(c, arg::stride), c.ints(arg::padding),
                 c.flag(arg::ceil_mode), c.flag(arg::count_include_pad)));
}

TN_DECOMPOSE(avg_pool_backward) {
  Tensor g = in.tensor(arg::g);
  const auto shape = in.ints(arg::shape);
  const auto n = static_cast<uint32_t>(g.ndim() - 2);
  const Dims kernel = ints_for(in.frame(), arg::kernel, n),
             padding = ints_for(in.frame(), arg::padding, n);
  const bool given = in.has(arg::stride) && !in.ints(arg::stride).empty();
  const Dims stride = given ? ints_for(in.frame(), arg::stride, n) : kernel;
  for (uint32_t d = 0; d < n; ++d) {
    const auto windows = strided_windows(g.shape(d + 2), shape[d + 2], kernel[d], stride[d],
                                         padding[d], in.flag(arg::count_include_pad));
    g = map_dim(g, d + 2, transpose(windows.matrix(g), 0, 1));
  }
  out[0] = contiguous(g);
}

TN_OP(adaptive_avg_pool) = {
    .schema = "(Tensor x, int[] size) -> Tensor",
    .gives = "The mean over windows chosen to give the requested size.",
    .example = "tenon.adaptive_avg_pool(t([[[1., 3., 2., 4.]]]), 1)",
    .linear = "x",
    .rule = &rule::adaptive_avg_pool,
    .gradient = &gradient::adaptive_avg_pool,
    .decompose = &decomposition::adaptive_avg_pool,
};

TN_RULE(adaptive_avg_pool, adaptive_avg_pool,
        {.dtypes = "floating", .shapes = "x (N, C, spatial…) gives (N, C, size…)"}) {
  const tn_tensor& x = operand(frame, arg::x, TN_MASK_FLOAT, "a floating-point dtype");
  frame.result(0, x.dtype(), resized(frame, arg::x, arg::size));
}

// g/window for every element of each window
TN_GRADIENT(adaptive_avg_pool, {}) {
  c.set(arg::x, adaptive_avg_pool_backward(c.grad(), c.shape(arg::x)));
}

TN_DECOMPOSE(adaptive_avg_pool) {
  Tensor x = in.tensor(arg::x);
  const Dims size = ints_for(in.frame(), arg::size, static_cast<uint32_t>(x.ndim() - 2));
  for (int64_t d = 2; d < x.ndim(); ++d)
    x = map_dim(x, d, adaptive_windows(size[d - 2], x.shape(d)).matrix(x));
  out[0] = contiguous(x);
}

TN_OP(adaptive_avg_pool_backward) = {
    .schema = "(Tensor g, int[] shape) -> Tensor",
    .gives = "The gradient of adaptive_avg_pool for its input of the given shape.",
    .example = "tenon.adaptive_avg_pool_backward(t([[[1.]]]), (1, 1, 4))",
    .linear = "g",
    .rule = &rule::adaptive_avg_pool_backward,
    .gradient = &gradient::adaptive_avg_pool_backward,
    .decompose = &decomposition::adaptive_avg_pool_backward,
};

TN_RULE(adaptive_avg_pool_backward, adaptive_avg_pool_backward,
        {.dtypes = "floating", .shapes = "`shape`"}) {
  resize_backward(frame, arg::g, arg::shape);
}

// linear in g: its adjoint is adaptive_avg_pool
TN_GRADIENT(adaptive_avg_pool_backward, {}) {
  c.set(arg::g, adaptive_avg_pool(c.grad(), c.shape(arg::g).subspan(2)));
}

TN_DECOMPOSE(adaptive_avg_pool_backward) {
  Tensor g = in.tensor(arg::g);
  const auto shape = in.ints(arg::shape);
  for (int64_t d = 2; d < g.ndim(); ++d)
    g = map_dim(g, d, transpose(adaptive_windows(g.shape(d), shape[d]).matrix(g), 0, 1));
  out[0] = contiguous(g);
}

TN_OP(adaptive_max_pool) = {
    .schema = "(Tensor x, int[] size) -> Tensor values, Tensor indices",
    .gives =
        "The largest element over windows chosen to give the requested size, and its position.",
    .example = "tenon.adaptive_max_pool(t([[[1., 3., 2., 4.]]]), 1)",
    .rule = &rule::adaptive_max_pool,
    .gradient = &gradient::max_pool,
};

TN_RULE(adaptive_max_pool, adaptive_max_pool,
        {.dtypes = "real; indices are i64", .shapes = "x (N, C, spatial…) gives (N, C, size…)"}) {
  const tn_tensor& x = operand(frame, arg::x, TN_MASK_REAL, "a real dtype");
  const Dims out = resized(frame, arg::x, arg::size);
  frame.result(arg::result::values, x.dtype(), out);
  frame.result(arg::result::indices, TN_DTYPE_I64, out);
}
