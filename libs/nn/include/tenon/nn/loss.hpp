// Losses; reduction is "mean", "sum" or "none".
#ifndef TENON_NN_LOSS_HPP
#define TENON_NN_LOSS_HPP

#include "tenon/nn/module.hpp"

namespace tenon::nn {

struct CrossEntropyOptions {
  Tensor weight = {};  // of the classes
  std::string reduction = "mean";
  int64_t ignore_index = -100;
  double smoothing = 0;
};

// Of logits (N, C, …) with labels (N, …) or probabilities (N, C, …).
class CrossEntropyLoss {
 public:
  explicit CrossEntropyLoss(CrossEntropyOptions options = {}) : options_(std::move(options)) {}
  Tensor operator()(const Tensor& logits, const Tensor& target) const {
    return cross_entropy(logits, target, options_.weight, options_.reduction, options_.ignore_index,
                         options_.smoothing);
  }

 private:
  CrossEntropyOptions options_;
};

// Of log-probabilities with labels.
class NLLLoss {
 public:
  explicit NLLLoss(CrossEntropyOptions options = {}) : options_(std::move(options)) {}
  Tensor operator()(const Tensor& log_probs, const Tensor& target) const {
    return nll_loss(log_probs, target, options_.weight, options_.reduction, options_.ignore_index)
        .loss;
  }

 private:
  CrossEntropyOptions options_;
};

#define TENON_LOSS(Name, function)                                                      \
  class Name {                                                                          \
   public:                                                                              \
    explicit Name(std::string reduction = "mean") : reduction_(std::move(reduction)) {} \
    Tensor operator()(const Tensor& x, const Tensor& target) const {                    \
      return function(x, target, reduction_);                                           \
    }                                                                                   \
                                                                                        \
   private:                                                                             \
    std::string reduction_;                                                             \
  };
TENON_LOSS(MSELoss, mse_loss)
TENON_LOSS(L1Loss, l1_loss)
#undef TENON_LOSS

class SmoothL1Loss {
 public:
  explicit SmoothL1Loss(double beta = 1, std::string reduction = "mean")
      : beta_(beta), reduction_(std::move(reduction)) {}
  Tensor operator()(const Tensor& x, const Tensor& target) const {
    return smooth_l1_loss(x, target, reduction_, beta_);
  }

 private:
  double beta_;
  std::string reduction_;
};

// Of probabilities.
class BCELoss {
 public:
  explicit BCELoss(Tensor weight = {}, std::string reduction = "mean")
      : weight_(std::move(weight)), reduction_(std::move(reduction)) {}
  Tensor operator()(const Tensor& x, const Tensor& target) const {
    return bce_loss(x, target, weight_, reduction_);
  }

 private:
  Tensor weight_;
  std::string reduction_;
};

// Of logits.
class BCEWithLogitsLoss {
 public:
  explicit BCEWithLogitsLoss(Tensor weight = {}, Tensor pos_weight = {},
                             std::string reduction = "mean")
      : weight_(std::move(weight)),
        pos_weight_(std::move(pos_weight)),
        reduction_(std::move(reduction)) {}
  Tensor operator()(const Tensor& x, const Tensor& target) const {
    return bce_with_logits_loss(x, target, weight_, pos_weight_, reduction_);
  }

 private:
  Tensor weight_, pos_weight_;
  std::string reduction_;
};

// Of log-probabilities.
class KLDivLoss {
 public:
  explicit KLDivLoss(std::string reduction = "mean", bool log_target = false)
      : reduction_(std::move(reduction)), log_target_(log_target) {}
  Tensor operator()(const Tensor& x, const Tensor& target) const {
    return kl_div_loss(x, target, reduction_, log_target_);
  }

 private:
  std::string reduction_;
  bool log_target_;
};

}  // namespace tenon::nn
#endif
