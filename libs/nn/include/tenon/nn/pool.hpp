// Pooling over the dimensions after (N, C). One class serves any number of them.
#ifndef TENON_NN_POOL_HPP
#define TENON_NN_POOL_HPP

#include "tenon/nn/detail/batch.hpp"
#include "tenon/nn/detail/sizes.hpp"
#include "tenon/nn/module_of.hpp"

namespace tenon::nn {

struct MaxPoolOptions {
  std::optional<Sizes> stride = {};  // the kernel's if absent
  Sizes padding = 0;
  Sizes dilation = 1;
  bool ceil_mode = false;
};

struct AvgPoolOptions {
  std::optional<Sizes> stride = {};  // the kernel's if absent
  Sizes padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;
};

struct LPPoolOptions {
  std::optional<Sizes> stride = {};  // the kernel's if absent
  bool ceil_mode = false;
};

namespace functional {
struct MaxUnpoolFuncOptions {
  std::optional<Sizes> stride = {};  // the kernel's if absent
  Sizes padding = 0;
  std::vector<int64_t> output_size =
      {};  // where several are possible: of a plane, or of the whole result
};

namespace detail {
// "max_pool2d"
inline std::string pool_name(const char* kind, size_t dims) {
  return kind + std::to_string(dims) + 'd';
}
inline std::vector<int64_t> unpooled_shape(const std::string& where, const Tensor& x, size_t dims,
                                           const Sizes& kernel, const MaxUnpoolFuncOptions& o) {
  const std::vector<int64_t>& wanted = o.output_size;
  const Sizes stride = o.stride.value_or(kernel);
  if (!wanted.empty() && wanted.size() != dims && wanted.size() != dims + 2)
    nn::detail::refuse(where, "output_size " + nn::detail::text_of(wanted) + " has not " +
                                  std::to_string(dims) + " sizes");
  std::vector<int64_t> shape(x.shape().begin(), x.shape().end());
  for (size_t d = 0; d < dims; ++d) {
    const int64_t usual = (shape[d + 2] - 1) * stride[d] - 2 * o.padding[d] + kernel[d];
    shape[d + 2] = wanted.empty() ? usual : wanted[wanted.size() - dims + d];
    if (std::abs(shape[d + 2] - usual) >= stride[d])
      nn::detail::refuse(where, "output_size", std::to_string(shape[d + 2]),
                         "must be nearer to " + std::to_string(usual) + " than the stride " +
                             std::to_string(stride[d]));
  }
  return shape;
}
}  // namespace detail

// The largest value of each window of x (N, C, spatial…) or (C, spatial…), and its position in its plane.
template <size_t Dims>
MaxPoolResult max_pool_with_indices(const Tensor& x, const Sizes& kernel_size,
                                    const MaxPoolOptions& o = {}) {
  const std::string where = detail::pool_name("max_pool", Dims);
  return nn::detail::pairs_of_batch(where, x, Dims, [&](const Tensor& all) {
    return max_pool(all, kernel_size.list(), o.stride.value_or(kernel_size).list(),
                    o.padding.list(), o.dilation.list(), o.ceil_mode);
  });
}
template <size_t Dims>
Tensor avg_pool(const Tensor& x, const Sizes& kernel_size, const AvgPoolOptions& o = {}) {
  const std::string where = detail::pool_name("avg_pool", Dims);
  return nn::detail::of_batch(where, x, Dims, [&](const Tensor& all) {
    return tenon::avg_pool(all, kernel_size.list(), o.stride.value_or(kernel_size).list(),
                           o.padding.list(), o.ceil_mode, o.count_include_pad);
  });
}
// The windows divide x into output_size parts.
template <size_t Dims>
AdaptiveMaxPoolResult adaptive_max_pool_with_indices(const Tensor& x, const Sizes& output_size) {
  const std::string where = detail::pool_name("adaptive_max_pool", Dims);
  return nn::detail::pairs_of_batch(where, x, Dims, [&](const Tensor& all) {
    return adaptive_max_pool(all, output_size.list());
  });
}
template <size_t Dims>
Tensor adaptive_avg_pool(const Tensor& x, const Sizes& output_size) {
  const std::string where = detail::pool_name("adaptive_avg_pool", Dims);
  return nn::detail::of_batch(where, x, Dims, [&](const Tensor& all) {
    return tenon::adaptive_avg_pool(all, output_size.list());
  });
}
// (Σ x^p)^(1/p) of each window.
template <size_t Dims>
Tensor lp_pool(const Tensor& x, double norm_type, const Sizes& kernel_size,
               const LPPoolOptions& o = {}) {
  double count = 1;
  for (size_t d = 0; d < Dims; ++d) count *= static_cast<double>(kernel_size[d]);
  const Tensor mean =
      avg_pool<Dims>(x.pow(norm_type), kernel_size, {.stride = o.stride, .ceil_mode = o.ceil_mode});
  return (mean.sign() * mean.abs().relu() * count).pow(1 / norm_type);
}
// Puts values back where max_pool_with_indices() found them, with 0 elsewhere.
template <size_t Dims>
Tensor max_unpool(const Tensor& x, const Tensor& indices, const Sizes& kernel_size,
                  const MaxUnpoolFuncOptions& o = {}) {
  const std::string where = detail::pool_name("max_unpool", Dims);
  if (!std::ranges::equal(x.shape(), indices.shape()))
    nn::detail::refuse(where, "values " + nn::detail::text_of(x.shape()) + " and indices " +
                                  nn::detail::text_of(indices.shape()) + " must have one shape");
  return nn::detail::of_batch(where, x, Dims, [&](const Tensor& all) {
    const std::vector<int64_t> shape = detail::unpooled_shape(where, all, Dims, kernel_size, o);
    int64_t count = 1;
    for (size_t d = 2; d < shape.size(); ++d) count *= shape[d];
    const Tensor zero = zeros({all.shape(0), all.shape(1), count}, x.dtype(), x.device());
    return scatter(zero, 2, indices.reshape({all.shape(0), all.shape(1), -1}), all.flatten(2))
        .reshape(shape);
  });
}

#define TENON_POOL(Dims)                                                                           \
  inline MaxPoolResult max_pool##Dims##d_with_indices(const Tensor& x, const Sizes& kernel_size,   \
                                                      const MaxPoolOptions& options = {}) {        \
    return max_pool_with_indices<Dims>(x, kernel_size, options);                                   \
  }                                                                                                \
  inline Tensor max_pool##Dims##d(const Tensor& x, const Sizes& kernel_size,                       \
                                  const MaxPoolOptions& options = {}) {                            \
    return max_pool_with_indices<Dims>(x, kernel_size, options).values;                            \
  }                                                                                                \
  inline Tensor avg_pool##Dims##d(const Tensor& x, const Sizes& kernel_size,                       \
                                  const AvgPoolOptions& options = {}) {                            \
    return avg_pool<Dims>(x, kernel_size, options);                                                \
  }                                                                                                \
  inline AdaptiveMaxPoolResult adaptive_max_pool##Dims##d_with_indices(const Tensor& x,            \
                                                                       const Sizes& output_size) { \
    return adaptive_max_pool_with_indices<Dims>(x, output_size);                                   \
  }                                                                                                \
  inline Tensor adaptive_max_pool##Dims##d(const Tensor& x, const Sizes& output_size) {            \
    return adaptive_max_pool_with_indices<Dims>(x, output_size).values;                            \
  }                                                                                                \
  inline Tensor adaptive_avg_pool##Dims##d(const Tensor& x, const Sizes& output_size) {            \
    return adaptive_avg_pool<Dims>(x, output_size);                                                \
  }                                                                                                \
  inline Tensor lp_pool##Dims##d(const Tensor& x, double norm_type, const Sizes& kernel_size,      \
                                 const LPPoolOptions& options = {}) {                              \
    return lp_pool<Dims>(x, norm_type, kernel_size, options);                                      \
  }                                                                                                \
  inline Tensor max_unpool##Dims##d(const Tensor& x, const Tensor& indices,                        \
                                    const Sizes& kernel_size,                                      \
                                    const MaxUnpoolFuncOptions& options = {}) {                    \
    return max_unpool<Dims>(x, indices, kernel_size, options);                                     \
  }
TENON_POOL(1)
TENON_POOL(2)
TENON_POOL(3)
#undef TENON_POOL
}  // namespace functional

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
    return functional::lp_pool<Dims>(x, p_, kernel_, options_);
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
    return functional::max_unpool<Dims>(
        x, indices, kernel_, {.stride = stride_, .padding = padding_, .output_size = output_size});
  }
  std::string describe() const override { return "MaxUnpool" + std::to_string(Dims) + 'd'; }

 private:
  Sizes kernel_, stride_, padding_;
};
using MaxUnpool1d = MaxUnpool<1>;
using MaxUnpool2d = MaxUnpool<2>;
using MaxUnpool3d = MaxUnpool<3>;

}  // namespace tenon::nn
#endif
