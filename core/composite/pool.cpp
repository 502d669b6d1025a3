// Averaging is linear and separable: one small matrix a dimension. Max pooling scatters by the
// indices it kept.
#include "composite/composite.hpp"
#include "tenon/creation.hpp"

namespace {

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

// Dimension d of x times the matrix (rows: new elements).
Tensor map_dim(const Tensor& x, int64_t d, const Tensor& matrix) {
  return transpose(matmul(transpose(x, d, -1), transpose(matrix, 0, 1)), d, -1);
}

}  // namespace

TN_DECOMPOSE(adaptive_avg_pool) {
  Tensor x = in.tensor(0);
  const Dims size = in.frame().ints_for(1, static_cast<uint32_t>(x.ndim() - 2));
  for (int64_t d = 2; d < x.ndim(); ++d)
    x = map_dim(x, d, adaptive_windows(size[d - 2], x.shape(d)).matrix(x));
  out[0] = contiguous(x);
}

TN_DECOMPOSE(adaptive_avg_pool_backward) {
  Tensor g = in.tensor(0);
  const auto shape = in.ints(1);
  for (int64_t d = 2; d < g.ndim(); ++d)
    g = map_dim(g, d, transpose(adaptive_windows(g.shape(d), shape[d]).matrix(g), 0, 1));
  out[0] = contiguous(g);
}

TN_DECOMPOSE(avg_pool_backward) {
  Tensor g = in.tensor(0);
  const auto shape = in.ints(1);
  const auto n = static_cast<uint32_t>(g.ndim() - 2);
  const Dims kernel = in.frame().ints_for(2, n), padding = in.frame().ints_for(4, n);
  const bool given = in.has(3) && !in.ints(3).empty();
  const Dims stride = given ? in.frame().ints_for(3, n) : kernel;
  for (uint32_t d = 0; d < n; ++d) {
    const auto windows =
        strided_windows(g.shape(d + 2), shape[d + 2], kernel[d], stride[d], padding[d], in.flag(6));
    g = map_dim(g, d + 2, transpose(windows.matrix(g), 0, 1));
  }
  out[0] = contiguous(g);
}

// g added up at the places that indices names in each plane
TN_DECOMPOSE(max_pool_backward) {
  const Tensor g = in.tensor(0), indices = in.tensor(1);
  const auto shape = in.ints(2);
  const int64_t n = shape[0], channels = shape[1];
  int64_t plane = 1, windows = 1;
  for (size_t d = 2; d < shape.size(); ++d) {
    plane *= shape[d];
    windows *= g.shape()[d];
  }
  const Tensor flat =
      scatter_add(full({n, channels, plane}, 0, g.dtype(), g.device()), 2,
                  reshape(indices, {n, channels, windows}), reshape(g, {n, channels, windows}));
  out[0] = reshape(flat, shape);
}
