// Normalisations.
#ifndef TENON_NN_NORM_HPP
#define TENON_NN_NORM_HPP

#include "tenon/nn/module.hpp"

namespace tenon::nn {

struct BatchNormOptions {
  double eps = 1e-5;
  double momentum = 0.1;  // weight of a new batch in the running statistics
  bool affine = true;
  bool track = true;  // keep running statistics and use them in eval mode
};

// Over all dimensions but the channels (dimension 1); one class serves every rank.
class BatchNorm : public Module {
 public:
  explicit BatchNorm(int64_t channels, const BatchNormOptions& options = {})
      : weight(add_parameter("weight", options.affine ? ones({channels}) : Tensor())),
        bias(add_parameter("bias", options.affine ? zeros({channels}) : Tensor())),
        running_mean(add_buffer("running_mean", options.track ? zeros({channels}) : Tensor())),
        running_var(add_buffer("running_var", options.track ? ones({channels}) : Tensor())),
        options_(options) {}

  Tensor forward(const Tensor& x) override {
    const bool use_batch = training() || !options_.track;
    auto [y, mean, rstd] =
        batch_norm(x, weight, bias, running_mean, running_var, use_batch, options_.eps);
    if (training() && options_.track) update(x, mean, rstd);
    return y;
  }
  std::string describe() const override { return "BatchNorm"; }

  Parameter weight, bias, running_mean, running_var;

 private:
  void update(const Tensor& x, const Tensor& mean, const Tensor& rstd) {
    NoGrad guard;
    const double n =
        static_cast<double>(x.numel()) / static_cast<double>(std::max<int64_t>(x.shape(1), 1));
    const double m = options_.momentum;
    // The running variance is the unbiased one.
    const Tensor variance = rstd.pow(-2) - options_.eps;
    running_mean->mul_(1 - m).add_(mean * m);
    running_var->mul_(1 - m).add_(variance * (m * n / std::max(n - 1, 1.0)));
  }
  BatchNormOptions options_;
};
using BatchNorm1d = BatchNorm;
using BatchNorm2d = BatchNorm;
using BatchNorm3d = BatchNorm;

struct NormOptions {
  double eps = 1e-5;
  bool affine = true;
};

// Over the last dimensions, those of `shape`.
class LayerNorm : public Module {
 public:
  explicit LayerNorm(IntList shape, const NormOptions& options = {})
      : weight(add_parameter("weight", options.affine ? ones(shape) : Tensor())),
        bias(add_parameter("bias", options.affine ? zeros(shape) : Tensor())),
        shape_(shape.vec()),
        eps_(options.eps) {}
  explicit LayerNorm(std::initializer_list<int64_t> shape, const NormOptions& options = {})
      : LayerNorm(IntList(shape), options) {}
  Tensor forward(const Tensor& x) override { return layer_norm(x, shape_, weight, bias, eps_).y; }
  std::string describe() const override { return "LayerNorm"; }

  Parameter weight, bias;

 private:
  std::vector<int64_t> shape_;
  double eps_;
};

// By the root of the mean square, over the dimensions of `shape`.
class RMSNorm : public Module {
 public:
  explicit RMSNorm(IntList shape, const NormOptions& options = {})
      : weight(add_parameter("weight", options.affine ? ones(shape) : Tensor())),
        shape_(shape.vec()),
        eps_(options.eps) {}
  explicit RMSNorm(std::initializer_list<int64_t> shape, const NormOptions& options = {})
      : RMSNorm(IntList(shape), options) {}
  Tensor forward(const Tensor& x) override { return rms_norm(x, shape_, weight, eps_).y; }
  std::string describe() const override { return "RMSNorm"; }

  Parameter weight;

 private:
  std::vector<int64_t> shape_;
  double eps_;
};

// Over groups of channels.
class GroupNorm : public Module {
 public:
  GroupNorm(int64_t groups, int64_t channels, const NormOptions& options = {})
      : weight(add_parameter("weight", options.affine ? ones({channels}) : Tensor())),
        bias(add_parameter("bias", options.affine ? zeros({channels}) : Tensor())),
        groups_(groups),
        eps_(options.eps) {
    if (groups <= 0 || channels % groups != 0)
      throw Error(TN_INVALID_ARGUMENT, "[GroupNorm] " + std::to_string(channels) +
                                           " channels do not divide into " +
                                           std::to_string(groups) + " groups");
  }
  Tensor forward(const Tensor& x) override { return group_norm(x, groups_, weight, bias, eps_).y; }
  std::string describe() const override { return "GroupNorm"; }

  Parameter weight, bias;

 private:
  int64_t groups_;
  double eps_;
};

}  // namespace tenon::nn
#endif
