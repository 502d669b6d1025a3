// Convolutions over (N, C, spatial…).
#ifndef TENON_NN_CONV_HPP
#define TENON_NN_CONV_HPP

#include "tenon/nn/detail/batch.hpp"
#include "tenon/nn/detail/sizes.hpp"
#include "tenon/nn/init.hpp"
#include "tenon/nn/module.hpp"

namespace tenon::nn {

namespace functional {
struct ConvFuncOptions {
  Sizes stride = 1;
  Sizes padding = 0;
  Sizes dilation = 1;
  int64_t groups = 1;
};
struct ConvTransposeFuncOptions {
  Sizes stride = 1;
  Sizes padding = 0;
  Sizes output_padding = 0;
  int64_t groups = 1;
  Sizes dilation = 1;
};

// A convolution of x (N, C, spatial…) or (C, spatial…) with weight (filters, C / groups, kernel…).
template <size_t Dims>
Tensor conv(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
            const ConvFuncOptions& o = {}) {
  return nn::detail::of_batch("conv" + std::to_string(Dims) + 'd', x, Dims, [&](const Tensor& all) {
    return tenon::conv(all, weight, bias, o.stride.list(), o.padding.list(), o.dilation.list(),
                       o.groups);
  });
}
// The gradient of such a convolution by its input, with weight (C, filters / groups, kernel…).
template <size_t Dims>
Tensor conv_transpose(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                      const ConvTransposeFuncOptions& o = {}) {
  const std::string where = "conv_transpose" + std::to_string(Dims) + 'd';
  return nn::detail::of_batch(where, x, Dims, [&](const Tensor& all) {
    return tenon::conv_transpose(all, weight, bias, o.stride.list(), o.padding.list(),
                                 o.output_padding.list(), o.dilation.list(), o.groups);
  });
}
#define TENON_CONV(Dims)                                                                      \
  inline Tensor conv##Dims##d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, \
                              const ConvFuncOptions& options = {}) {                          \
    return conv<Dims>(x, weight, bias, options);                                              \
  }                                                                                           \
  inline Tensor conv_transpose##Dims##d(const Tensor& x, const Tensor& weight,                \
                                        const Tensor& bias = {},                              \
                                        const ConvTransposeFuncOptions& options = {}) {       \
    return conv_transpose<Dims>(x, weight, bias, options);                                    \
  }
TENON_CONV(1)
TENON_CONV(2)
TENON_CONV(3)
#undef TENON_CONV
}  // namespace functional

struct ConvOptions {
  Sizes stride = 1;
  Sizes padding = 0;
  Sizes dilation = 1;
  int64_t groups = 1;
  bool bias = true;
};

struct ConvTransposeOptions {
  Sizes stride = 1;
  Sizes padding = 0;
  Sizes output_padding = 0;
  int64_t groups = 1;
  bool bias = true;
  Sizes dilation = 1;
};

namespace detail {

template <class Options, bool transposed>
class ConvBase : public Module {
 public:
  Parameter weight, bias;

 protected:
  ConvBase(size_t dims, int64_t in, int64_t out, const Sizes& kernel, const Options& options)
      : options_(options), dims_(dims) {
    check(in, out, kernel);
    std::vector<int64_t> shape{transposed ? in : out, (transposed ? out : in) / options.groups};
    double fan_in = static_cast<double>(shape[1]);
    for (size_t d = 0; d < dims; ++d) {
      shape.push_back(kernel[d]);
      fan_in *= static_cast<double>(kernel[d]);
    }
    weight = add_parameter("weight", init::detail::layer_default(shape, fan_in));
    bias =
        add_parameter("bias", options.bias ? init::detail::layer_default({out}, fan_in) : Tensor());
  }
  // "Conv2d"
  std::string name() const {
    return (transposed ? "ConvTranspose" : "Conv") + std::to_string(dims_) + 'd';
  }
  void check(int64_t in, int64_t out, const Sizes& kernel) const {
    const std::string where = name();
    check_least(where, "in_channels", in);
    check_least(where, "out_channels", out);
    check_least(where, "groups", options_.groups, 1);
    check_groups(where, {in, out}, options_.groups);
    check_sizes(where, "kernel_size", kernel, 1, dims_);
    check_sizes(where, "stride", options_.stride, 1, dims_);
    check_sizes(where, "padding", options_.padding, 0, dims_);
    check_sizes(where, "dilation", options_.dilation, 1, dims_);
    if constexpr (transposed)
      check_sizes(where, "output_padding", options_.output_padding, 0, dims_);
  }
  // "Conv2d(1, 16, kernel 3x3)"
  std::string title() const {
    const auto shape = weight->shape();
    std::string text =
        name() + '(' + std::to_string(shape[1 - transposed] * (transposed ? 1 : options_.groups)) +
        ", " + std::to_string(shape[transposed] * (transposed ? options_.groups : 1)) + ", kernel ";
    for (size_t d = 2; d < shape.size(); ++d) text += (d > 2 ? "x" : "") + std::to_string(shape[d]);
    return text + ')';
  }
  Options options_;
  size_t dims_;
};

}  // namespace detail

template <size_t Dims>
class Conv : public detail::ConvBase<ConvOptions, false> {
 public:
  Conv(int64_t in_channels, int64_t out_channels, Sizes kernel_size,
       const ConvOptions& options = {})
      : ConvBase(Dims, in_channels, out_channels, kernel_size, options) {}
  Tensor forward(const Tensor& x) override {
    return functional::conv<Dims>(
        x, weight, bias, {options_.stride, options_.padding, options_.dilation, options_.groups});
  }
  std::string describe() const override { return title(); }
};
using Conv1d = Conv<1>;
using Conv2d = Conv<2>;
using Conv3d = Conv<3>;

template <size_t Dims>
class ConvTranspose : public detail::ConvBase<ConvTransposeOptions, true> {
 public:
  ConvTranspose(int64_t in_channels, int64_t out_channels, Sizes kernel_size,
                const ConvTransposeOptions& options = {})
      : ConvBase(Dims, in_channels, out_channels, kernel_size, options) {}
  Tensor forward(const Tensor& x) override {
    return functional::conv_transpose<Dims>(
        x, weight, bias,
        {options_.stride, options_.padding, options_.output_padding, options_.groups,
         options_.dilation});
  }
  std::string describe() const override { return title(); }
};
using ConvTranspose1d = ConvTranspose<1>;
using ConvTranspose2d = ConvTranspose<2>;
using ConvTranspose3d = ConvTranspose<3>;

}  // namespace tenon::nn
#endif
