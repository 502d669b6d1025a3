// Normalisations.
#ifndef TENON_NN_NORM_HPP
#define TENON_NN_NORM_HPP

#include <algorithm>
#include <utility>
#include <vector>

#include "tenon/nn/detail/batch.hpp"
#include "tenon/nn/module.hpp"

namespace tenon::nn {

namespace functional {
struct BatchNormFuncOptions {
  Tensor weight = {}, bias = {};
  bool training = false;  // uses the batch's statistics, and moves the running ones towards them
  double momentum = 0.1;  // weight of a new batch in the running statistics
  double eps = 1e-5;
};
struct InstanceNormFuncOptions {
  Tensor running_mean = {}, running_var = {};
  Tensor weight = {}, bias = {};
  bool use_input_stats = true;
  double momentum = 0.1;
  double eps = 1e-5;
};

namespace detail {
inline void move_towards(Tensor running, const Tensor& batch, double momentum) {
  running.mul_(1 - momentum).add_(batch * momentum);
}
inline void check_spread(const char* where, const Tensor& x, int64_t sets) {
  if (x.numel() == sets && x.numel() > 0)
    nn::detail::refuse(where, "one value for each channel has no variance: shape " +
                                  nn::detail::text_of(x.shape()));
}
}  // namespace detail

// Zero mean and unit variance over all dimensions but the channels of x (N, C, …). The running statistics may be absent in training.
inline Tensor batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var,
                         const BatchNormFuncOptions& o = {}) {
  auto [y, mean, rstd] =
      tenon::batch_norm(x, o.weight, o.bias, running_mean, running_var, o.training, o.eps);
  if (o.training && running_mean.defined()) {
    NoGrad guard;
    const double n =
        static_cast<double>(x.numel()) / static_cast<double>(std::max<int64_t>(x.shape(1), 1));
    // The running variance is the unbiased one.
    const Tensor variance = (rstd.pow(-2) - o.eps) * (n / std::max(n - 1, 1.0));
    detail::move_towards(running_mean, mean, o.momentum);
    detail::move_towards(running_var, variance, o.momentum);
  }
  return y;
}
// The same for each channel of each example of (N, C, …).
inline Tensor instance_norm(const Tensor& x, const InstanceNormFuncOptions& o = {}) {
  if (!o.use_input_stats)
    return tenon::batch_norm(x, o.weight, o.bias, o.running_mean, o.running_var, false, o.eps).y;
  detail::check_spread("instance_norm", x, x.shape(0) * x.shape(1));
  if (o.running_mean.defined()) {
    NoGrad guard;
    std::vector<int64_t> behind;
    for (int64_t d = 2; d < x.ndim(); ++d) behind.push_back(d);
    detail::move_towards(o.running_mean, x.mean(behind).mean(0), o.momentum);
    detail::move_towards(o.running_var, x.var(behind).mean(0), o.momentum);
  }
  return tenon::group_norm(x, x.shape(1), o.weight, o.bias, o.eps).y;
}
// Over the last dimensions, of sizes `shape`.
inline Tensor layer_norm(const Tensor& x, IntList shape, const Tensor& weight = {},
                         const Tensor& bias = {}, double eps = 1e-5) {
  return tenon::layer_norm(x, shape, weight, bias, eps).y;
}
// Over groups of channels.
inline Tensor group_norm(const Tensor& x, int64_t num_groups, const Tensor& weight = {},
                         const Tensor& bias = {}, double eps = 1e-5) {
  return tenon::group_norm(x, num_groups, weight, bias, eps).y;
}
// Divides by the root mean square over the last dimensions, of sizes `shape`; eps is that of x's dtype where absent.
inline Tensor rms_norm(const Tensor& x, IntList shape, const Tensor& weight = {},
                       std::optional<double> eps = {}) {
  const auto of_dtype = [&] {  // the distance from 1 to the next larger number
    switch (x.dtype()) {
      case DType::F16:
        return 0x1p-10;
      case DType::BF16:
        return 0x1p-7;
      case DType::F64:
        return 0x1p-52;
      default:
        return 0x1p-23;
    }
  };
  return tenon::rms_norm(x, shape, weight, eps ? *eps : of_dtype()).y;
}
// x / (k + alpha · mean of the squares of `size` neighbouring channels)^beta (Krizhevsky et al. 2012, section 3.3).
inline Tensor local_response_norm(const Tensor& x, int64_t size, double alpha = 1e-4,
                                  double beta = 0.75, double k = 1) {
  const char* const where = "local_response_norm";
  nn::detail::check_least(where, "size", size, 1);
  if (x.ndim() < 3)
    nn::detail::refuse(where,
                       "input has rank " + std::to_string(x.ndim()) + ", must be 3 at least");
  // Treats the channels as the length of a one-dimensional window.
  const Tensor squares = x.square().flatten(2).transpose(1, 2);
  const Tensor mean = tenon::avg_pool(tenon::pad(squares, {size / 2, (size - 1) / 2}), size, 1)
                          .transpose(1, 2)
                          .reshape(x.shape());
  return x / (mean * alpha + k).pow(beta);
}
}  // namespace functional

struct BatchNormOptions {
  double eps = 1e-5;
  double momentum = 0.1;  // weight of a new batch in the running statistics
  bool affine = true;
  bool track_running_stats = true;  // keep them and use them in eval mode
};

// Normalises over all dimensions except the channels (dimension 1), for every rank.
class BatchNorm : public Module {
 public:
  explicit BatchNorm(int64_t num_features, const BatchNormOptions& options = {})
      : options_(options) {
    detail::check_least("BatchNorm", "num_features", num_features);
    const bool tracks = options.track_running_stats;
    weight = add_parameter("weight", options.affine ? ones({num_features}) : Tensor());
    bias = add_parameter("bias", options.affine ? zeros({num_features}) : Tensor());
    running_mean = add_buffer("running_mean", tracks ? zeros({num_features}) : Tensor());
    running_var = add_buffer("running_var", tracks ? ones({num_features}) : Tensor());
    // Files from before this counter existed lack it.
    num_batches_tracked = add_buffer("num_batches_tracked",
                                     tracks ? zeros({}, DType::I64) : Tensor(), WhenMissing::kKeep);
  }

  Tensor forward(const Tensor& x) override {
    const bool tracks = options_.track_running_stats;
    Tensor y = functional::batch_norm(x, running_mean, running_var,
                                      {.weight = weight,
                                       .bias = bias,
                                       .training = training() || !tracks,
                                       .momentum = options_.momentum,
                                       .eps = options_.eps});
    if (training() && tracks) {
      NoGrad guard;
      num_batches_tracked->add_(1);
    }
    return y;
  }
  std::string describe() const override { return "BatchNorm"; }

  Parameter weight, bias, running_mean, running_var, num_batches_tracked;

 private:
  BatchNormOptions options_;
};
using BatchNorm1d = BatchNorm;
using BatchNorm2d = BatchNorm;
using BatchNorm3d = BatchNorm;

struct InstanceNormOptions {
  double eps = 1e-5;
  double momentum = 0.1;  // weight of a new batch in the running statistics
  bool affine = false;
  bool track_running_stats = false;  // keep them and use them in eval mode
};

// Over each channel of each example. x is (N, num_features, …) or (num_features, …), with `dims` further dimensions.
template <size_t Dims>
class InstanceNorm : public Module {
 public:
  explicit InstanceNorm(int64_t num_features, const InstanceNormOptions& options = {})
      : options_(options) {
    detail::check_least(describe(), "num_features", num_features);
    const bool tracks = options.track_running_stats;
    weight = add_parameter("weight", options.affine ? ones({num_features}) : Tensor());
    bias = add_parameter("bias", options.affine ? zeros({num_features}) : Tensor());
    running_mean = add_buffer("running_mean", tracks ? zeros({num_features}) : Tensor());
    running_var = add_buffer("running_var", tracks ? ones({num_features}) : Tensor());
    num_batches_tracked = add_buffer("num_batches_tracked",
                                     tracks ? zeros({}, DType::I64) : Tensor(), WhenMissing::kKeep);
  }
  Tensor forward(const Tensor& input) override {
    const bool tracks = options_.track_running_stats, uses_input = training() || !tracks;
    return detail::of_batch(describe(), input, Dims, [&](const Tensor& x) {
      Tensor y = functional::instance_norm(x, {.running_mean = running_mean,
                                               .running_var = running_var,
                                               .weight = weight,
                                               .bias = bias,
                                               .use_input_stats = uses_input,
                                               .momentum = options_.momentum,
                                               .eps = options_.eps});
      if (uses_input && tracks) {
        NoGrad guard;
        num_batches_tracked->add_(1);
      }
      return y;
    });
  }
  std::string describe() const override { return "InstanceNorm" + std::to_string(Dims) + 'd'; }

  Parameter weight, bias, running_mean, running_var, num_batches_tracked;

 private:
  InstanceNormOptions options_;
};
using InstanceNorm1d = InstanceNorm<1>;
using InstanceNorm2d = InstanceNorm<2>;
using InstanceNorm3d = InstanceNorm<3>;

class LocalResponseNorm : public Module {
 public:
  explicit LocalResponseNorm(int64_t size, double alpha = 1e-4, double beta = 0.75, double k = 1)
      : size_(detail::check_least("LocalResponseNorm", "size", size, 1)),
        alpha_(alpha),
        beta_(beta),
        k_(k) {}
  Tensor forward(const Tensor& x) override {
    return functional::local_response_norm(x, size_, alpha_, beta_, k_);
  }
  std::string describe() const override { return "LocalResponseNorm"; }

 private:
  int64_t size_;
  double alpha_, beta_, k_;
};

// The same for (N, C, H, W). PyTorch never lets the first channel leave the window, and its gradient belongs to another window.
class CrossMapLRN2d : public LocalResponseNorm {
 public:
  explicit CrossMapLRN2d(int64_t size, double alpha = 1e-4, double beta = 0.75, double k = 1)
      : LocalResponseNorm(detail::check_least("CrossMapLRN2d", "size", size, 1), alpha, beta, k) {}
  Tensor forward(const Tensor& x) override {
    if (x.ndim() != 4)
      detail::refuse(describe(), "input has rank " + std::to_string(x.ndim()) + ", must be 4");
    return LocalResponseNorm::forward(x);
  }
  std::string describe() const override { return "CrossMapLRN2d"; }
};

struct LayerNormOptions {
  double eps = 1e-5;
  bool elementwise_affine = true;
  bool bias = true;  // where elementwise_affine is
};

// Over the last dimensions; their sizes are `normalized_shape`.
class LayerNorm : public Module {
 public:
  explicit LayerNorm(IntList normalized_shape, const LayerNormOptions& options = {})
      : shape_(normalized_shape.vec()), eps_(options.eps) {
    detail::check_sizes("LayerNorm", "normalized_shape", shape_);
    const bool affine = options.elementwise_affine;
    weight = add_parameter("weight", affine ? ones(shape_) : Tensor());
    bias = add_parameter("bias", affine && options.bias ? zeros(shape_) : Tensor());
  }
  explicit LayerNorm(std::initializer_list<int64_t> normalized_shape,
                     const LayerNormOptions& options = {})
      : LayerNorm(IntList(normalized_shape), options) {}
  Tensor forward(const Tensor& x) override {
    return functional::layer_norm(x, shape_, weight, bias, eps_);
  }
  // Of x + branch, and that sum: as one op, unless a hook is to see the norm alone.
  std::pair<Tensor, Tensor> of_sum(const Tensor& x, const Tensor& branch) {
    if (has_hooks() || !std::ranges::equal(x.shape(), branch.shape())) {
      const Tensor sum = x + branch;
      return {(*this)(sum), sum};
    }
    const auto found = run(
        [this](const auto&... parts) {
          return add_layer_norm(parts..., shape_, weight, bias, eps_);
        },
        x, branch);
    return {found.y, found.sum};
  }
  std::string describe() const override { return "LayerNorm"; }

  Parameter weight, bias;

 private:
  std::vector<int64_t> shape_;
  double eps_;
};

struct RMSNormOptions {
  std::optional<double> eps = {};  // absent: that of x's dtype
  bool elementwise_affine = true;
};

// Divides by the root mean square over the last dimensions, of sizes `normalized_shape`.
class RMSNorm : public Module {
 public:
  explicit RMSNorm(IntList normalized_shape, const RMSNormOptions& options = {})
      : shape_(normalized_shape.vec()), eps_(options.eps) {
    detail::check_sizes("RMSNorm", "normalized_shape", shape_);
    weight = add_parameter("weight", options.elementwise_affine ? ones(shape_) : Tensor());
  }
  explicit RMSNorm(std::initializer_list<int64_t> normalized_shape,
                   const RMSNormOptions& options = {})
      : RMSNorm(IntList(normalized_shape), options) {}
  Tensor forward(const Tensor& x) override { return functional::rms_norm(x, shape_, weight, eps_); }
  std::string describe() const override { return "RMSNorm"; }

  Parameter weight;

 private:
  std::vector<int64_t> shape_;
  std::optional<double> eps_;
};

struct GroupNormOptions {
  double eps = 1e-5;
  bool affine = true;
};

// Over groups of channels.
class GroupNorm : public Module {
 public:
  GroupNorm(int64_t num_groups, int64_t num_channels, const GroupNormOptions& options = {})
      : groups_(num_groups), eps_(options.eps) {
    detail::check_least("GroupNorm", "num_groups", num_groups, 1);
    detail::check_least("GroupNorm", "num_channels", num_channels);
    detail::check_groups("GroupNorm", {num_channels}, num_groups);
    weight = add_parameter("weight", options.affine ? ones({num_channels}) : Tensor());
    bias = add_parameter("bias", options.affine ? zeros({num_channels}) : Tensor());
  }
  Tensor forward(const Tensor& x) override {
    return functional::group_norm(x, groups_, weight, bias, eps_);
  }
  std::string describe() const override { return "GroupNorm"; }

  Parameter weight, bias;

 private:
  int64_t groups_;
  double eps_;
};

}  // namespace tenon::nn
#endif
