// Pooling and resampling over the dimensions behind (N, C); one class serves every number of them.
#ifndef TENON_NN_POOL_HPP
#define TENON_NN_POOL_HPP

#include "tenon/nn/detail/sizes.hpp"
#include "tenon/nn/module.hpp"

namespace tenon::nn {

struct MaxPoolOptions {
  std::optional<Sizes> stride = {};  // that of the kernel where absent
  Sizes padding = 0;
  Sizes dilation = 1;
  bool ceil_mode = false;
};

class MaxPool : public Module {
 public:
  explicit MaxPool(Sizes kernel_size, const MaxPoolOptions& options = {})
      : kernel_(kernel_size), options_(options) {
    detail::check_sizes("MaxPool", "kernel_size", kernel_.list(), 1);
    detail::check_sizes("MaxPool", "stride", options.stride.value_or(1).list(), 1);
    detail::check_sizes("MaxPool", "padding", options.padding.list());
    detail::check_sizes("MaxPool", "dilation", options.dilation.list(), 1);
  }
  Tensor forward(const Tensor& x) override {
    return max_pool(x, kernel_.list(), options_.stride.value_or(kernel_).list(),
                    options_.padding.list(), options_.dilation.list(), options_.ceil_mode)
        .values;
  }
  std::string describe() const override { return "MaxPool"; }

 private:
  Sizes kernel_;
  MaxPoolOptions options_;
};
using MaxPool1d = MaxPool;
using MaxPool2d = MaxPool;
using MaxPool3d = MaxPool;

struct AvgPoolOptions {
  std::optional<Sizes> stride = {};  // that of the kernel where absent
  Sizes padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;
};

class AvgPool : public Module {
 public:
  explicit AvgPool(Sizes kernel_size, const AvgPoolOptions& options = {})
      : kernel_(kernel_size), options_(options) {
    detail::check_sizes("AvgPool", "kernel_size", kernel_.list(), 1);
    detail::check_sizes("AvgPool", "stride", options.stride.value_or(1).list(), 1);
    detail::check_sizes("AvgPool", "padding", options.padding.list());
  }
  Tensor forward(const Tensor& x) override {
    return avg_pool(x, kernel_.list(), options_.stride.value_or(kernel_).list(),
                    options_.padding.list(), options_.ceil_mode, options_.count_include_pad);
  }
  std::string describe() const override { return "AvgPool"; }

 private:
  Sizes kernel_;
  AvgPoolOptions options_;
};
using AvgPool1d = AvgPool;
using AvgPool2d = AvgPool;
using AvgPool3d = AvgPool;

class AdaptiveAvgPool : public Module {
 public:
  explicit AdaptiveAvgPool(Sizes output_size) : size_(output_size) {
    detail::check_sizes("AdaptiveAvgPool", "output_size", size_.list(), 1);
  }
  Tensor forward(const Tensor& x) override { return adaptive_avg_pool(x, size_.list()); }
  std::string describe() const override { return "AdaptiveAvgPool"; }

 private:
  Sizes size_;
};
using AdaptiveAvgPool1d = AdaptiveAvgPool;
using AdaptiveAvgPool2d = AdaptiveAvgPool;
using AdaptiveAvgPool3d = AdaptiveAvgPool;

class AdaptiveMaxPool : public Module {
 public:
  explicit AdaptiveMaxPool(Sizes output_size) : size_(output_size) {
    detail::check_sizes("AdaptiveMaxPool", "output_size", size_.list(), 1);
  }
  Tensor forward(const Tensor& x) override { return adaptive_max_pool(x, size_.list()).values; }
  std::string describe() const override { return "AdaptiveMaxPool"; }

 private:
  Sizes size_;
};
using AdaptiveMaxPool1d = AdaptiveMaxPool;
using AdaptiveMaxPool2d = AdaptiveMaxPool;
using AdaptiveMaxPool3d = AdaptiveMaxPool;

struct UpsampleOptions {
  std::optional<Sizes> size = {};
  std::optional<Factors> scale_factor = {};
  std::string mode = "nearest";
  std::optional<bool> align_corners = {};  // false where absent
};

// Resamples to a size, or by factors; mode "nearest", "linear", "bilinear", "trilinear" or "bicubic".
class Upsample : public Module {
 public:
  explicit Upsample(const UpsampleOptions& options = {}) : options_(options) { check(); }
  Tensor forward(const Tensor& x) override {
    const auto dims = static_cast<size_t>(std::max<int64_t>(x.ndim() - 2, 0));
    if (options_.size) detail::check_sizes("Upsample", "size", *options_.size, 1, dims);
    std::vector<int64_t> size;
    for (size_t d = 0; d < dims; ++d) size.push_back(size_of(x, d, dims));
    return interpolate(x, size, options_.mode, options_.align_corners.value_or(false));
  }
  std::string describe() const override { return "Upsample"; }

 private:
  void check() const {
    if (options_.size.has_value() == options_.scale_factor.has_value())
      detail::refuse("Upsample", "give either size or scale_factor");
    if (options_.size) detail::check_sizes("Upsample", "size", options_.size->list(), 1);
    if (options_.scale_factor)
      for (const double factor : options_.scale_factor->list())
        detail::check_positive("Upsample", "scale_factor", factor);
    detail::check_one_of("Upsample", "mode", options_.mode,
                         {"nearest", "linear", "bilinear", "trilinear", "bicubic"});
    if (options_.mode == "nearest" && options_.align_corners)
      detail::refuse("Upsample",
                     "align_corners is for the modes that interpolate, not \"nearest\"");
  }
  int64_t size_of(const Tensor& x, size_t d, size_t dims) const {
    if (options_.size) return (*options_.size)[d];
    const Factors& factors = *options_.scale_factor;
    if (factors.count() != 1 && factors.count() != dims)
      detail::refuse("Upsample", std::to_string(factors.count()) + " factors for " +
                                     std::to_string(dims) + " dimensions");
    const double size = static_cast<double>(x.shape(static_cast<int64_t>(d) + 2)) * factors[d];
    if (!(size < 1e18))
      detail::refuse("Upsample", "scale_factor", detail::text_of(factors[d]), "makes no size");
    return static_cast<int64_t>(size);
  }
  UpsampleOptions options_;
};

// The grid with which grid_sample takes x (N, C, H, W) or (N, C, D, H, W), `size`, through theta (N, 2, 3) or (N, 3, 4): each
// place of the result is read where its sample's matrix puts it.
inline Tensor affine_grid(const Tensor& theta, IntList size, bool align_corners = false) {
  const auto dims = static_cast<int64_t>(size.size()) - 2;
  if (dims != 2 && dims != 3)
    detail::refuse("affine_grid",
                   "size must be (N, C, H, W) or (N, C, D, H, W), got " + detail::text_of(size));
  detail::check_sizes("affine_grid", "size", size, 1);
  const std::vector<int64_t> wanted = {size[0], dims, dims + 1};
  if (!std::ranges::equal(theta.shape(), wanted) || !is_floating(theta.dtype()))
    detail::refuse("affine_grid", "theta must be floating and of shape " + detail::text_of(wanted) +
                                      ", got " + std::string(name_of(theta.dtype())) + ' ' +
                                      detail::text_of(theta.shape()));
  std::vector<int64_t> column(static_cast<size_t>(dims) + 2, 1);
  column.front() = size[0];
  column.back() = dims;
  Tensor grid = reshape(select(theta, 2, dims), column);
  for (int64_t d = 0; d < dims; ++d) {  // the last dimension's coordinate is the first
    const int64_t at = dims - d, n = size[static_cast<size_t>(at) + 1];
    const int64_t whole = align_corners ? std::max<int64_t>(n - 1, 1) : n;
    std::vector<int64_t> row(column.size(), 1);
    row[static_cast<size_t>(at)] = n;
    const Tensor places = arange(0, n, 1, theta.dtype(), theta.device()) * 2 - (n - 1);
    grid = grid + reshape(places / whole, row) * reshape(select(theta, 2, d), column);
  }
  return grid;
}

}  // namespace tenon::nn
#endif
