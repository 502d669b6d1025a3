// Convolutions over (N, C, spatial…).
#ifndef TENON_NN_CONV_HPP
#define TENON_NN_CONV_HPP

#include "tenon/nn/init.hpp"
#include "tenon/nn/module.hpp"

namespace tenon::nn {

// One number for every spatial dimension, or one each: 3 or {3, 5}.
class Sizes {
 public:
  constexpr Sizes(std::integral auto all) : values_{static_cast<int64_t>(all)}, count_(1) {}
  constexpr Sizes(std::initializer_list<int64_t> each) : count_(each.size()) {
    if (each.size() > 3 || each.size() == 0)
      throw Error(TN_INVALID_ARGUMENT, "[nn] sizes of one to three dimensions");
    std::copy(each.begin(), each.end(), values_.begin());
  }
  IntList list() const { return std::span<const int64_t>(values_.data(), count_); }
  size_t count() const { return count_; }
  int64_t operator[](size_t i) const { return values_[count_ == 1 ? 0 : i]; }

 private:
  std::array<int64_t, 3> values_{};
  size_t count_;
};

struct ConvOptions {
  Sizes stride = 1;
  Sizes padding = 0;
  Sizes dilation = 1;
  int64_t groups = 1;
  bool bias = true;
  Sizes output_padding = 0;  // of transposed ones
};

namespace detail {

class ConvBase : public Module {
 public:
  Parameter weight, bias;

 protected:
  ConvBase(size_t dims, int64_t in, int64_t out, Sizes kernel, const ConvOptions& options,
           bool transposed)
      : options_(options), dims_(dims) {
    if (options.groups <= 0 || in % options.groups != 0 || out % options.groups != 0)
      throw Error(TN_INVALID_ARGUMENT, "[Conv] " + std::to_string(in) + " and " +
                                           std::to_string(out) + " channels do not divide into " +
                                           std::to_string(options.groups) + " groups");
    if (kernel.count() != 1 && kernel.count() != dims)
      throw Error(TN_INVALID_ARGUMENT, "[Conv] a kernel of " + std::to_string(kernel.count()) +
                                           " sizes for " + std::to_string(dims) + " dimensions");
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
  // "Conv2d(1, 16, kernel 3x3)"
  std::string title(const char* name, bool transposed) const {
    const auto shape = weight->shape();
    std::string text =
        name + std::to_string(dims_) + "d(" +
        std::to_string(shape[1 - transposed] * (transposed ? 1 : options_.groups)) + ", " +
        std::to_string(shape[transposed] * (transposed ? options_.groups : 1)) + ", kernel ";
    for (size_t d = 2; d < shape.size(); ++d) text += (d > 2 ? "x" : "") + std::to_string(shape[d]);
    return text + ')';
  }
  ConvOptions options_;
  size_t dims_;
};

}  // namespace detail

template <size_t Dims>
class Conv : public detail::ConvBase {
 public:
  Conv(int64_t in, int64_t out, Sizes kernel, const ConvOptions& options = {})
      : ConvBase(Dims, in, out, kernel, options, false) {}
  Tensor forward(const Tensor& x) override {
    return conv(x, weight, bias, options_.stride.list(), options_.padding.list(),
                options_.dilation.list(), options_.groups);
  }
  std::string describe() const override { return title("Conv", false); }
};
using Conv1d = Conv<1>;
using Conv2d = Conv<2>;
using Conv3d = Conv<3>;

template <size_t Dims>
class ConvTranspose : public detail::ConvBase {
 public:
  ConvTranspose(int64_t in, int64_t out, Sizes kernel, const ConvOptions& options = {})
      : ConvBase(Dims, in, out, kernel, options, true) {}
  Tensor forward(const Tensor& x) override {
    return conv_transpose(x, weight, bias, options_.stride.list(), options_.padding.list(),
                          options_.output_padding.list(), options_.dilation.list(),
                          options_.groups);
  }
  std::string describe() const override { return title("ConvTranspose", true); }
};
using ConvTranspose1d = ConvTranspose<1>;
using ConvTranspose2d = ConvTranspose<2>;
using ConvTranspose3d = ConvTranspose<3>;

}  // namespace tenon::nn
#endif
