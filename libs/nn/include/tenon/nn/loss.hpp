// Losses; reduction is "mean", "sum" or "none". A weight is a buffer: to() moves it, and it is saved.
#ifndef TENON_NN_LOSS_HPP
#define TENON_NN_LOSS_HPP

#include "tenon/nn/detail/check.hpp"
#include "tenon/nn/module.hpp"

namespace tenon::nn {

namespace detail {
class Loss : public Module {
 public:
  using Module::forward;
  virtual Tensor forward(const Tensor& x, const Tensor& target) const = 0;
  Tensor operator()(const Tensor& x, const Tensor& target) const {
    return run([this](const Tensor& a, const Tensor& b) { return forward(a, b); }, x, target);
  }
  std::string describe() const override { return name_; }

 protected:
  Loss(const char* name, std::string reduction)
      : Loss(name, std::move(reduction), {"mean", "sum", "none"}) {}
  Loss(const char* name, std::string reduction, std::initializer_list<std::string_view> taken)
      : name_(name), reduction_(check_one_of(name, "reduction", std::move(reduction), taken)) {}
  const char* name_;
  std::string reduction_;
};
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
      : Loss("CrossEntropyLoss", options.reduction),
        weight(add_buffer("weight", options.weight)),
        ignore_index_(options.ignore_index),
        label_smoothing_(detail::check_part(name_, "label_smoothing", options.label_smoothing)) {}
  using Loss::forward;
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
      : Loss("NLLLoss", options.reduction),
        weight(add_buffer("weight", options.weight)),
        ignore_index_(options.ignore_index) {}
  using Loss::forward;
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
  explicit MSELoss(std::string reduction = "mean") : Loss("MSELoss", std::move(reduction)) {}
  using Loss::forward;
  Tensor forward(const Tensor& x, const Tensor& target) const override {
    return mse_loss(x, target, reduction_);
  }
};

// The mean of absolute differences.
class L1Loss : public detail::Loss {
 public:
  explicit L1Loss(std::string reduction = "mean") : Loss("L1Loss", std::move(reduction)) {}
  using Loss::forward;
  Tensor forward(const Tensor& x, const Tensor& target) const override {
    return l1_loss(x, target, reduction_);
  }
};

// Squared below `beta`, absolute above.
class SmoothL1Loss : public detail::Loss {
 public:
  explicit SmoothL1Loss(std::string reduction = "mean", double beta = 1)
      : Loss("SmoothL1Loss", std::move(reduction)),
        beta_(detail::check_least("SmoothL1Loss", "beta", beta, 0)) {}
  using Loss::forward;
  Tensor forward(const Tensor& x, const Tensor& target) const override {
    return smooth_l1_loss(x, target, reduction_, beta_);
  }

 private:
  double beta_;
};

// Of probabilities.
class BCELoss : public detail::Loss {
 public:
  explicit BCELoss(Tensor weight = {}, std::string reduction = "mean")
      : Loss("BCELoss", std::move(reduction)), weight(add_buffer("weight", std::move(weight))) {}
  using Loss::forward;
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
      : Loss("BCEWithLogitsLoss", options.reduction),
        weight(add_buffer("weight", options.weight)),
        pos_weight(add_buffer("pos_weight", options.pos_weight)) {}
  using Loss::forward;
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
      : Loss("KLDivLoss", std::move(reduction), {"mean", "batchmean", "sum", "none"}),
        log_target_(log_target) {}
  using Loss::forward;
  Tensor forward(const Tensor& x, const Tensor& target) const override {
    if (reduction_ != "batchmean") return kl_div_loss(x, target, reduction_, log_target_);
    return kl_div_loss(x, target, "sum", log_target_) / x.shape(0);
  }

 private:
  bool log_target_;
};

}  // namespace tenon::nn
#endif
