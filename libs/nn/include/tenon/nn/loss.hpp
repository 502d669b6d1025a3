// Losses; reduction is "mean", "sum" or "none". Class weights are buffers: to() moves them, and they are saved.
#ifndef TENON_NN_LOSS_HPP
#define TENON_NN_LOSS_HPP

#include "tenon/nn/detail/check.hpp"
#include "tenon/nn/module.hpp"

namespace tenon::nn {

namespace detail {
inline Tensor reduced(const char* where, const Tensor& x, const std::string& reduction) {
  if (reduction == "mean") return x.mean();
  if (reduction == "sum") return x.sum();
  check_one_of(where, "reduction", reduction, {"mean", "sum", "none"});
  return x;
}
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
}  // namespace detail

struct CrossEntropyLossOptions {
  Tensor weight = {};  // of the classes
  int64_t ignore_index = -100;
  std::string reduction = "mean";
  double label_smoothing = 0;
};
struct NLLLossOptions {
  Tensor weight = {};  // of the classes
  int64_t ignore_index = -100;
  std::string reduction = "mean";
};
struct BCEWithLogitsLossOptions {
  Tensor weight = {};
  std::string reduction = "mean";
  Tensor pos_weight = {};  // of the positive examples
};

namespace functional {
using tenon::huber_loss, tenon::l1_loss, tenon::mse_loss, tenon::smooth_l1_loss;

// Of logits (N, C, …) with labels (N, …) or probabilities (N, C, …).
inline Tensor cross_entropy(const Tensor& logits, const Tensor& target,
                            const CrossEntropyLossOptions& o = {}) {
  return tenon::cross_entropy(logits, target, o.weight, o.reduction, o.ignore_index,
                              o.label_smoothing);
}
// Of log-probabilities with labels.
inline Tensor nll_loss(const Tensor& log_probs, const Tensor& target,
                       const NLLLossOptions& o = {}) {
  return tenon::nll_loss(log_probs, target, o.weight, o.reduction, o.ignore_index).loss;
}
// Of probabilities.
inline Tensor binary_cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight = {},
                                   const std::string& reduction = "mean") {
  return bce_loss(x, target, weight, reduction);
}
// Of logits.
inline Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& target,
                                               const BCEWithLogitsLossOptions& o = {}) {
  return bce_with_logits_loss(x, target, o.weight, o.pos_weight, o.reduction);
}
// Of log-probabilities; reduction "batchmean" divides by the first dimension's size, as the divergence is defined.
inline Tensor kl_div(const Tensor& x, const Tensor& target, const std::string& reduction = "mean",
                     bool log_target = false) {
  if (reduction != "batchmean") return kl_div_loss(x, target, reduction, log_target);
  return kl_div_loss(x, target, "sum", log_target) / x.shape(0);
}
}  // namespace functional

// Of logits (N, C, …) with labels (N, …) or probabilities (N, C, …).
class CrossEntropyLoss : public detail::Loss {
 public:
  explicit CrossEntropyLoss(const CrossEntropyLossOptions& options = {})
      : LossOf("CrossEntropyLoss", options.reduction),
        weight(add_buffer("weight", options.weight)),
        ignore_index_(options.ignore_index),
        label_smoothing_(detail::check_part(name_, "label_smoothing", options.label_smoothing)) {}
  Tensor forward(const Tensor& logits, const Tensor& target) const override {
    return functional::cross_entropy(logits, target,
                                     {weight, ignore_index_, reduction_, label_smoothing_});
  }

  Parameter weight;

 private:
  int64_t ignore_index_;
  double label_smoothing_;
};

// Of log-probabilities with labels.
class NLLLoss : public detail::Loss {
 public:
  explicit NLLLoss(const NLLLossOptions& options = {})
      : LossOf("NLLLoss", options.reduction),
        weight(add_buffer("weight", options.weight)),
        ignore_index_(options.ignore_index) {}
  Tensor forward(const Tensor& log_probs, const Tensor& target) const override {
    return functional::nll_loss(log_probs, target, {weight, ignore_index_, reduction_});
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
    return functional::binary_cross_entropy(x, target, weight, reduction_);
  }

  Parameter weight;
};

// Of logits.
class BCEWithLogitsLoss : public detail::Loss {
 public:
  explicit BCEWithLogitsLoss(const BCEWithLogitsLossOptions& options = {})
      : LossOf("BCEWithLogitsLoss", options.reduction),
        weight(add_buffer("weight", options.weight)),
        pos_weight(add_buffer("pos_weight", options.pos_weight)) {}
  Tensor forward(const Tensor& x, const Tensor& target) const override {
    return functional::binary_cross_entropy_with_logits(x, target,
                                                        {weight, reduction_, pos_weight});
  }

  Parameter weight, pos_weight;
};

class KLDivLoss : public detail::Loss {
 public:
  explicit KLDivLoss(std::string reduction = "mean", bool log_target = false)
      : LossOf("KLDivLoss", std::move(reduction), {"mean", "batchmean", "sum", "none"}),
        log_target_(log_target) {}
  Tensor forward(const Tensor& x, const Tensor& target) const override {
    return functional::kl_div(x, target, reduction_, log_target_);
  }

 private:
  bool log_target_;
};

}  // namespace tenon::nn
#endif
