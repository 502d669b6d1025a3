// Losses; reduction is "mean", "sum" or "none". Class weights are buffers: to() moves them, and they are saved.
#ifndef TENON_NN_LOSS_HPP
#define TENON_NN_LOSS_HPP

#include "tenon/nn/detail/check.hpp"
#include "tenon/nn/module.hpp"

namespace tenon::nn {

namespace detail {
// A loss of `Inputs` tensors. A call changes nothing in it.
template <class... Inputs>
class LossOf : public AnyModule {
 public:
  virtual Tensor forward(const Inputs&... inputs) const = 0;
  Tensor operator()(const Inputs&... inputs) const {
    return run([this](const Inputs&... each) { return forward(each...); }, inputs...);
  }
  std::vector<Tensor> call(std::span<const Tensor> inputs) override {
    if (inputs.size() != sizeof...(Inputs))
      refuse(name_, std::to_string(inputs.size()) + " tensors, must be " +
                        std::to_string(sizeof...(Inputs)));
    return call_own(inputs, Inputs()...);
  }
  std::string describe() const override { return name_; }

 protected:
  LossOf(const char* name, std::string reduction)
      : LossOf(name, std::move(reduction), {"mean", "sum", "none"}) {}
  LossOf(const char* name, std::string reduction, std::initializer_list<std::string_view> taken)
      : name_(name), reduction_(check_one_of(name, "reduction", std::move(reduction), taken)) {}
  Tensor reduced(const Tensor& x) const {
    return reduction_ == "none" ? x : reduction_ == "sum" ? x.sum() : x.mean();
  }
  const char* name_;
  std::string reduction_;

 private:
  std::vector<Tensor> call_own(std::span<const Tensor> inputs, Inputs... own) {
    set_tensors(inputs, own...);
    return {(*this)(own...)};
  }
};
using Loss = LossOf<Tensor, Tensor>;
using LossOfThree = LossOf<Tensor, Tensor, Tensor>;

// max(0, x) with slope 1 at 0.
inline Tensor above_0(const Tensor& x) { return where(x < 0, zeros({}, x.dtype(), x.device()), x); }
}  // namespace detail

struct CrossEntropyLossOptions {
  Tensor weight = {};  // of the classes
  int64_t ignore_index = -100;
  std::string reduction = "mean";
  double label_smoothing = 0;
};

// Of logits (N, C, …) with labels (N, …) or probabilities (N, C, …).
class CrossEntropyLoss : public detail::Loss {
 public:
  explicit CrossEntropyLoss(const CrossEntropyLossOptions& options = {})
      : LossOf("CrossEntropyLoss", options.reduction),
        weight(add_buffer("weight", options.weight)),
        ignore_index_(options.ignore_index),
        label_smoothing_(detail::check_part(name_, "label_smoothing", options.label_smoothing)) {}
  Tensor forward(const Tensor& logits, const Tensor& target) const override {
    return cross_entropy(logits, target, weight, reduction_, ignore_index_, label_smoothing_);
  }

  Parameter weight;

 private:
  int64_t ignore_index_;
  double label_smoothing_;
};

struct NLLLossOptions {
  Tensor weight = {};  // of the classes
  int64_t ignore_index = -100;
  std::string reduction = "mean";
};

// Of log-probabilities with labels.
class NLLLoss : public detail::Loss {
 public:
  explicit NLLLoss(const NLLLossOptions& options = {})
      : LossOf("NLLLoss", options.reduction),
        weight(add_buffer("weight", options.weight)),
        ignore_index_(options.ignore_index) {}
  Tensor forward(const Tensor& log_probs, const Tensor& target) const override {
    return nll_loss(log_probs, target, weight, reduction_, ignore_index_).loss;
  }

  Parameter weight;

 private:
  int64_t ignore_index_;
};

// The mean of squared differences.
class MSELoss : public detail::Loss {
 public:
  explicit MSELoss(std::string reduction = "mean") : LossOf("MSELoss", std::move(reduction)) {}
  Tensor forward(const Tensor& x, const Tensor& target) const override {
    return mse_loss(x, target, reduction_);
  }
};

// The mean of absolute differences.
class L1Loss : public detail::Loss {
 public:
  explicit L1Loss(std::string reduction = "mean") : LossOf("L1Loss", std::move(reduction)) {}
  Tensor forward(const Tensor& x, const Tensor& target) const override {
    return l1_loss(x, target, reduction_);
  }
};

// Squared below `beta`, absolute above.
class SmoothL1Loss : public detail::Loss {
 public:
  explicit SmoothL1Loss(std::string reduction = "mean", double beta = 1)
      : LossOf("SmoothL1Loss", std::move(reduction)),
        beta_(detail::check_least("SmoothL1Loss", "beta", beta, 0)) {}
  Tensor forward(const Tensor& x, const Tensor& target) const override {
    return smooth_l1_loss(x, target, reduction_, beta_);
  }

 private:
  double beta_;
};

// Squared below `delta`, absolute above, without a step in the slope (Huber 1964).
class HuberLoss : public detail::Loss {
 public:
  explicit HuberLoss(std::string reduction = "mean", double delta = 1)
      : LossOf("HuberLoss", std::move(reduction)),
        delta_(detail::check_positive("HuberLoss", "delta", delta)) {}
  Tensor forward(const Tensor& x, const Tensor& target) const override {
    return huber_loss(x, target, reduction_, delta_);
  }

 private:
  double delta_;
};

// Of probabilities.
class BCELoss : public detail::Loss {
 public:
  explicit BCELoss(Tensor weights = {}, std::string reduction = "mean")
      : LossOf("BCELoss", std::move(reduction)), weight(add_buffer("weight", std::move(weights))) {}
  Tensor forward(const Tensor& x, const Tensor& target) const override {
    return bce_loss(x, target, weight, reduction_);
  }

  Parameter weight;
};

struct BCEWithLogitsLossOptions {
  Tensor weight = {};
  std::string reduction = "mean";
  Tensor pos_weight = {};  // of the positive examples
};

// Of logits.
class BCEWithLogitsLoss : public detail::Loss {
 public:
  explicit BCEWithLogitsLoss(const BCEWithLogitsLossOptions& options = {})
      : LossOf("BCEWithLogitsLoss", options.reduction),
        weight(add_buffer("weight", options.weight)),
        pos_weight(add_buffer("pos_weight", options.pos_weight)) {}
  Tensor forward(const Tensor& x, const Tensor& target) const override {
    return bce_with_logits_loss(x, target, weight, pos_weight, reduction_);
  }

  Parameter weight, pos_weight;
};

// Of log-probabilities; reduction "batchmean" divides by the first dimension's size, as the
// divergence is defined.
class KLDivLoss : public detail::Loss {
 public:
  explicit KLDivLoss(std::string reduction = "mean", bool log_target = false)
      : LossOf("KLDivLoss", std::move(reduction), {"mean", "batchmean", "sum", "none"}),
        log_target_(log_target) {}
  Tensor forward(const Tensor& x, const Tensor& target) const override {
    if (reduction_ != "batchmean") return kl_div_loss(x, target, reduction_, log_target_);
    return kl_div_loss(x, target, "sum", log_target_) / x.shape(0);
  }

 private:
  bool log_target_;
};

}  // namespace tenon::nn
#endif
