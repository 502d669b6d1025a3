// Pooling and resampling over the dimensions behind (N, C); one class serves every number of them.
#ifndef TENON_NN_POOL_HPP
#define TENON_NN_POOL_HPP

#include "tenon/nn/conv.hpp"

namespace tenon::nn {

struct PoolOptions {
  std::optional<Sizes> stride = {};  // that of the kernel where absent
  Sizes padding = 0;
  Sizes dilation = 1;  // of MaxPool
  bool ceil_mode = false;
  bool count_include_pad = true;  // of AvgPool
};

class MaxPool : public Module {
 public:
  explicit MaxPool(Sizes kernel, const PoolOptions& options = {})
      : kernel_(kernel), options_(options) {}
  Tensor forward(const Tensor& x) override {
    return max_pool(x, kernel_.list(), options_.stride.value_or(kernel_).list(),
                    options_.padding.list(), options_.dilation.list(), options_.ceil_mode)
        .values;
  }
  std::string describe() const override { return "MaxPool"; }

 private:
  Sizes kernel_;
  PoolOptions options_;
};

class AvgPool : public Module {
 public:
  explicit AvgPool(Sizes kernel, const PoolOptions& options = {})
      : kernel_(kernel), options_(options) {}
  Tensor forward(const Tensor& x) override {
    return avg_pool(x, kernel_.list(), options_.stride.value_or(kernel_).list(),
                    options_.padding.list(), options_.ceil_mode, options_.count_include_pad);
  }
  std::string describe() const override { return "AvgPool"; }

 private:
  Sizes kernel_;
  PoolOptions options_;
};

class AdaptiveAvgPool : public Module {
 public:
  explicit AdaptiveAvgPool(Sizes size) : size_(size) {}
  Tensor forward(const Tensor& x) override { return adaptive_avg_pool(x, size_.list()); }
  std::string describe() const override { return "AdaptiveAvgPool"; }

 private:
  Sizes size_;
};

class AdaptiveMaxPool : public Module {
 public:
  explicit AdaptiveMaxPool(Sizes size) : size_(size) {}
  Tensor forward(const Tensor& x) override { return adaptive_max_pool(x, size_.list()).values; }
  std::string describe() const override { return "AdaptiveMaxPool"; }

 private:
  Sizes size_;
};

// Resamples by whole factors; mode "nearest" or "linear".
class Upsample : public Module {
 public:
  explicit Upsample(Sizes factor, std::string mode = "nearest", bool align_corners = false)
      : factor_(factor), mode_(std::move(mode)), align_corners_(align_corners) {}
  Tensor forward(const Tensor& x) override {
    std::vector<int64_t> size;
    for (int64_t d = 2; d < x.ndim(); ++d)
      size.push_back(x.shape(d) * factor_[static_cast<size_t>(d - 2)]);
    return interpolate(x, size, mode_, align_corners_);
  }
  std::string describe() const override { return "Upsample"; }

 private:
  Sizes factor_;
  std::string mode_;
  bool align_corners_;
};

}  // namespace tenon::nn
#endif
