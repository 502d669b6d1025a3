// Pooling and resampling over the dimensions after (N, C). One class serves any number of them.
#ifndef TENON_NN_POOL_HPP
#define TENON_NN_POOL_HPP

#include "tenon/nn/detail/sizes.hpp"
#include "tenon/nn/module_of.hpp"

namespace tenon::nn {

struct MaxPoolOptions {
  std::optional<Sizes> stride = {};  // the kernel's if absent
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
  Tensor forward(const Tensor& x) override { return forward_with_indices(x).values; }
  // Also gives the position of each value in its plane, as MaxUnpool takes it.
  MaxPoolResult forward_with_indices(const Tensor& x) const {
    return max_pool(x, kernel_.list(), options_.stride.value_or(kernel_).list(),
                    options_.padding.list(), options_.dilation.list(), options_.ceil_mode);
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
  std::optional<Sizes> stride = {};  // the kernel's if absent
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
  Tensor forward(const Tensor& x) override { return forward_with_indices(x).values; }
  AdaptiveMaxPoolResult forward_with_indices(const Tensor& x) const {
    return adaptive_max_pool(x, size_.list());
  }
  std::string describe() const override { return "AdaptiveMaxPool"; }

 private:
  Sizes size_;
};
using AdaptiveMaxPool1d = AdaptiveMaxPool;
using AdaptiveMaxPool2d = AdaptiveMaxPool;
using AdaptiveMaxPool3d = AdaptiveMaxPool;

struct LPPoolOptions {
  std::optional<Sizes> stride = {};  // the kernel's if absent
  bool ceil_mode = false;
};

// (Σ x^p)^(1/p) of each window.
template <size_t Dims>
class LPPool : public Module {
 public:
  LPPool(double norm_type, Sizes kernel_size, const LPPoolOptions& options = {})
      : p_(norm_type), kernel_(kernel_size), options_(options) {
    detail::check_sizes(describe(), "kernel_size", kernel_, 1, Dims);
    detail::check_sizes(describe(), "stride", options.stride.value_or(1), 1, Dims);
  }
  Tensor forward(const Tensor& x) override {
    double count = 1;
    for (size_t d = 0; d < Dims; ++d) count *= static_cast<double>(kernel_[d]);
    const Tensor mean = avg_pool(x.pow(p_), kernel_.list(),
                                 options_.stride.value_or(kernel_).list(), 0, options_.ceil_mode);
    return (mean.sign() * mean.abs().relu() * count).pow(1 / p_);
  }
  std::string describe() const override { return "LPPool" + std::to_string(Dims) + 'd'; }

 private:
  double p_;
  Sizes kernel_;
  LPPoolOptions options_;
};
using LPPool1d = LPPool<1>;
using LPPool2d = LPPool<2>;
using LPPool3d = LPPool<3>;

// Puts values back where MaxPool found them, with 0 elsewhere. Takes values and indices, and the result's size if several are possible.
template <size_t Dims>
class MaxUnpool
    : public ModuleOf<Tensor(const Tensor&, const Tensor&, const std::vector<int64_t>&)> {
 public:
  explicit MaxUnpool(Sizes kernel_size, std::optional<Sizes> stride = {}, Sizes padding = 0)
      : kernel_(kernel_size), stride_(stride.value_or(kernel_size)), padding_(padding) {
    detail::check_sizes(describe(), "kernel_size", kernel_, 1, Dims);
    detail::check_sizes(describe(), "stride", stride_, 1, Dims);
    detail::check_sizes(describe(), "padding", padding_, 0, Dims);
  }
  Tensor forward(const Tensor& x, const Tensor& indices,
                 const std::vector<int64_t>& output_size = {}) override {
    if (x.ndim() != Dims + 2 || !std::ranges::equal(x.shape(), indices.shape()))
      detail::refuse(describe(), "values " + detail::text_of(x.shape()) + " and indices " +
                                     detail::text_of(indices.shape()) +
                                     " must have one shape of rank " + std::to_string(Dims + 2));
    const std::vector<int64_t> shape = shape_of(x, output_size);
    int64_t count = 1;
    for (size_t d = 2; d < shape.size(); ++d) count *= shape[d];
    const Tensor zero = zeros({x.shape(0), x.shape(1), count}, x.dtype(), x.device());
    return scatter(zero, 2, indices.flatten(2), x.flatten(2)).reshape(shape);
  }
  std::string describe() const override { return "MaxUnpool" + std::to_string(Dims) + 'd'; }

 private:
  // output_size: of a plane, or of the whole result.
  std::vector<int64_t> shape_of(const Tensor& x, const std::vector<int64_t>& wanted) const {
    if (!wanted.empty() && wanted.size() != Dims && wanted.size() != Dims + 2)
      detail::refuse(describe(), "output_size " + detail::text_of(wanted) + " has not " +
                                     std::to_string(Dims) + " sizes");
    std::vector<int64_t> shape(x.shape().begin(), x.shape().end());
    for (size_t d = 0; d < Dims; ++d) {
      const int64_t usual = (shape[d + 2] - 1) * stride_[d] - 2 * padding_[d] + kernel_[d];
      shape[d + 2] = wanted.empty() ? usual : wanted[wanted.size() - Dims + d];
      if (std::abs(shape[d + 2] - usual) >= stride_[d])
        detail::refuse(describe(), "output_size", std::to_string(shape[d + 2]),
                       "must be nearer to " + std::to_string(usual) + " than the stride " +
                           std::to_string(stride_[d]));
    }
    return shape;
  }
  Sizes kernel_, stride_, padding_;
};
using MaxUnpool1d = MaxUnpool<1>;
using MaxUnpool2d = MaxUnpool<2>;
using MaxUnpool3d = MaxUnpool<3>;

struct UpsampleOptions {
  std::optional<Sizes> size = {};
  std::optional<Factors> scale_factor = {};
  std::string mode = "nearest";
  std::optional<bool> align_corners = {};  // false if absent
};

// Resamples to a size, or by factors; mode "nearest", "linear", "bilinear", "trilinear" or "bicubic".
class Upsample : public Module {
 public:
  explicit Upsample(const UpsampleOptions& options = {}) : Upsample("Upsample", options) {}
  Tensor forward(const Tensor& x) override {
    const auto dims = static_cast<size_t>(std::max<int64_t>(x.ndim() - 2, 0));
    if (options_.size) detail::check_sizes(name_, "size", *options_.size, 1, dims);
    std::vector<int64_t> size;
    for (size_t d = 0; d < dims; ++d) size.push_back(size_of(x, d, dims));
    return interpolate(x, size, options_.mode, options_.align_corners.value_or(false));
  }
  std::string describe() const override { return name_; }

 protected:
  Upsample(const char* name, const UpsampleOptions& options) : name_(name), options_(options) {
    check();
  }

 private:
  void check() const {
    if (options_.size.has_value() == options_.scale_factor.has_value())
      detail::refuse(name_, "give either size or scale_factor");
    if (options_.size) detail::check_sizes(name_, "size", options_.size->list(), 1);
    if (options_.scale_factor)
      for (const double factor : options_.scale_factor->list())
        detail::check_positive(name_, "scale_factor", factor);
    detail::check_one_of(name_, "mode", options_.mode,
                         {"nearest", "linear", "bilinear", "trilinear", "bicubic"});
    if (options_.mode == "nearest" && options_.align_corners)
      detail::refuse(name_, "align_corners is for the modes that interpolate, not \"nearest\"");
  }
  int64_t size_of(const Tensor& x, size_t d, size_t dims) const {
    if (options_.size) return (*options_.size)[d];
    const Factors& factors = *options_.scale_factor;
    if (factors.count() != 1 && factors.count() != dims)
      detail::refuse(name_, std::to_string(factors.count()) + " factors for " +
                                std::to_string(dims) + " dimensions");
    const double size = static_cast<double>(x.shape(static_cast<int64_t>(d) + 2)) * factors[d];
    if (!(size < 1e18))
      detail::refuse(name_, "scale_factor", detail::text_of(factors[d]), "makes no size");
    return static_cast<int64_t>(size);
  }
  const char* name_;
  UpsampleOptions options_;
};

// For (N, C, H, W): the nearest element, or bilinear with aligned corners.
class UpsamplingNearest2d : public Upsample {
 public:
  explicit UpsamplingNearest2d(std::optional<Sizes> size = {},
                               std::optional<Factors> scale_factor = {})
      : Upsample("UpsamplingNearest2d", {.size = size, .scale_factor = scale_factor}) {}
};
class UpsamplingBilinear2d : public Upsample {
 public:
  explicit UpsamplingBilinear2d(std::optional<Sizes> size = {},
                                std::optional<Factors> scale_factor = {})
      : Upsample("UpsamplingBilinear2d", {.size = size,
                                          .scale_factor = scale_factor,
                                          .mode = "bilinear",
                                          .align_corners = true}) {}
};

// The grid for grid_sample of x (N, C, H, W) or (N, C, D, H, W), given `size`. theta (N, 2, 3) or (N, 3, 4) maps each position of the
// result to where it is read.
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
  for (int64_t d = 0; d < dims; ++d) {  // the first coordinate is that of the last dimension
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
