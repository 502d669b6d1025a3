// Margin losses and multi-label losses.
#ifndef TENON_NN_MARGIN_LOSS_HPP
#define TENON_NN_MARGIN_LOSS_HPP

#include "tenon/nn/distance.hpp"
#include "tenon/nn/loss.hpp"

namespace tenon::nn {

// log(1 + exp(-target · x)), target 1 or -1.
class SoftMarginLoss : public detail::Loss {
 public:
  explicit SoftMarginLoss(std::string reduction = "mean")
      : LossOf("SoftMarginLoss", std::move(reduction)) {}
  Tensor forward(const Tensor& x, const Tensor& target) const override {
    return reduced(-log_sigmoid(target * x));
  }
};

// x where target is 1, max(0, margin - x) where it is -1.
class HingeEmbeddingLoss : public detail::Loss {
 public:
  explicit HingeEmbeddingLoss(double margin = 1, std::string reduction = "mean")
      : LossOf("HingeEmbeddingLoss", std::move(reduction)), margin_(margin) {}
  Tensor forward(const Tensor& x, const Tensor& target) const override {
    return reduced(where(target != 1, maximum(margin_ - x, 0), 0) + where(target != -1, x, 0));
  }

 private:
  double margin_;
};

// max(0, -target · (x₁ - x₂) + margin), target 1 or -1.
class MarginRankingLoss : public detail::LossOfThree {
 public:
  explicit MarginRankingLoss(double margin = 0, std::string reduction = "mean")
      : LossOf("MarginRankingLoss", std::move(reduction)), margin_(margin) {}
  Tensor forward(const Tensor& x1, const Tensor& x2, const Tensor& target) const override {
    return reduced(detail::above_0(-target * (x1 - x2) + margin_));
  }

 private:
  double margin_;
};

// 1 - cos where target is 1, max(0, cos - margin) where it is -1; of vectors (N, D) or (D).
class CosineEmbeddingLoss : public detail::LossOfThree {
 public:
  explicit CosineEmbeddingLoss(double margin = 0, std::string reduction = "mean")
      : LossOf("CosineEmbeddingLoss", std::move(reduction)), margin_(margin) {}
  Tensor forward(const Tensor& x1, const Tensor& x2, const Tensor& target) const override {
    if (x1.ndim() != x2.ndim() || target.ndim() + 1 != x1.ndim() || target.ndim() > 1)
      detail::refuse(name_, "shapes " + detail::text_of(x1.shape()) + ", " +
                                detail::text_of(x2.shape()) + " and " +
                                detail::text_of(target.shape()) + " do not fit");
    const auto length = [](const Tensor& x) { return (x * x).sum(-1) + 1e-12; };
    const Tensor cosine = (x1 * x2).sum(-1) / (length(x1) * length(x2)).sqrt();
    return reduced(where(target == 1, 1 - cosine, 0) +
                   where(target == -1, detail::above_0(cosine - margin_), 0));
  }

 private:
  double margin_;
};

struct TripletMarginLossOptions {
  double margin = 1;
  double p = 2;
  double eps = 1e-6;
  bool swap = false;  // uses the negative's distance to the nearer of the other two
  std::string reduction = "mean";
};
using DistanceFunction = std::function<Tensor(const Tensor&, const Tensor&)>;
struct TripletMarginWithDistanceLossOptions {
  DistanceFunction distance_function = {};  // PairwiseDistance where absent
  double margin = 1;
  bool swap = false;
  std::string reduction = "mean";
};

// max(0, d(anchor, positive) - d(anchor, negative) + margin), of any distance.
class TripletMarginWithDistanceLoss : public detail::LossOfThree {
 public:
  explicit TripletMarginWithDistanceLoss(const TripletMarginWithDistanceLossOptions& options = {})
      : TripletMarginWithDistanceLoss("TripletMarginWithDistanceLoss", options) {}
  Tensor forward(const Tensor& anchor, const Tensor& positive,
                 const Tensor& negative) const override {
    if (anchor.ndim() != positive.ndim() || anchor.ndim() != negative.ndim())
      detail::refuse(name_, "ranks " + std::to_string(anchor.ndim()) + ", " +
                                std::to_string(positive.ndim()) + " and " +
                                std::to_string(negative.ndim()) + " differ");
    const auto& distance = options_.distance_function;
    const Tensor near = distance(anchor, positive), far = distance(anchor, negative);
    return reduced(
        detail::above_0(near - (options_.swap ? minimum(far, distance(positive, negative)) : far) +
                        options_.margin));
  }

 protected:
  TripletMarginWithDistanceLoss(const char* name,
                                const TripletMarginWithDistanceLossOptions& options)
      : LossOf(name, options.reduction), options_(options) {
    detail::check_positive(name, "margin", options.margin);
    if (!options.distance_function)
      options_.distance_function = [](const Tensor& a, const Tensor& b) {
        return functional::pairwise_distance(a, b);
      };
  }

 private:
  TripletMarginWithDistanceLossOptions options_;
};
// Of p-norm distances.
class TripletMarginLoss : public TripletMarginWithDistanceLoss {
 public:
  explicit TripletMarginLoss(const TripletMarginLossOptions& options = {})
      : TripletMarginWithDistanceLoss(
            "TripletMarginLoss",
            {.distance_function =
                 [p = options.p, eps = options.eps](const Tensor& a, const Tensor& b) {
                   return functional::pairwise_distance(a, b, p, eps);
                 },
             .margin = options.margin,
             .swap = options.swap,
             .reduction = options.reduction}) {}
};

namespace detail {
// Checks x (N, C) or (C) and labels of shape `labels`, which is (N) or () for one label each.
inline void check_classes(const char* name, const Tensor& x, const Tensor& target,
                          std::span<const int64_t> labels) {
  if ((x.ndim() != 1 && x.ndim() != 2) || !std::ranges::equal(target.shape(), labels))
    refuse(name, "input has shape " + text_of(x.shape()) + " and target " +
                     text_of(target.shape()) + ", must be (N, C) or (C) and " + text_of(labels));
}
}  // namespace detail

struct MultiMarginLossOptions {
  int64_t p = 1;  // or 2
  double margin = 1;
  Tensor weight = {};  // of the classes
  std::string reduction = "mean";
};

// Σ max(0, margin - x[label] + x[i])^p / C over the other classes; of (N, C) and labels (N), or (C) and ().
class MultiMarginLoss : public detail::Loss {
 public:
  explicit MultiMarginLoss(const MultiMarginLossOptions& options = {})
      : LossOf("MultiMarginLoss", options.reduction),
        weight(add_buffer("weight", options.weight)),
        p_(options.p),
        margin_(options.margin) {
    if (p_ != 1 && p_ != 2) detail::refuse(name_, "p", std::to_string(p_), "must be 1 or 2");
  }
  Tensor forward(const Tensor& x, const Tensor& target) const override {
    detail::check_classes(name_, x, target,
                          x.shape().first(x.shape().empty() ? 0 : x.shape().size() - 1));
    const Tensor label = target.unsqueeze(-1);
    Tensor gap = detail::above_0(margin_ - x.gather(-1, label) + x);
    if (p_ == 2) gap = gap * gap;
    if (weight.defined()) gap = gap * take(weight, label);
    const Tensor classes = arange(0, x.shape(-1), 1, label.dtype(), x.device());
    return reduced(where(classes == label, 0, gap).sum(-1) / x.shape(-1));
  }

  Parameter weight;

 private:
  int64_t p_;
  double margin_;
};

// Σ max(0, 1 - x[label] + x[i]) / C over the labels, which end at the first -1, and all other classes i. Both are (N, C), or both (C).
class MultiLabelMarginLoss : public detail::Loss {
 public:
  explicit MultiLabelMarginLoss(std::string reduction = "mean")
      : LossOf("MultiLabelMarginLoss", std::move(reduction)) {}
  Tensor forward(const Tensor& x, const Tensor& target) const override {
    detail::check_classes(name_, x, target, x.shape());
    const Tensor valid = (target < 0).to(DType::I64).cumsum(-1) == 0,
                 label = where(valid, target, 0);
    const Tensor classes = arange(0, x.shape(-1), 1, label.dtype(), x.device());
    const Tensor is_label =
        logical_and(label.unsqueeze(-1) == classes, valid.unsqueeze(-1)).any(-2);
    const Tensor gap =
        detail::above_0(1 - x.gather(-1, label).unsqueeze(-1) + x.unsqueeze(-2));  // (…, labels, C)
    const Tensor counts = logical_and(valid.unsqueeze(-1), logical_not(is_label.unsqueeze(-2)));
    return reduced(where(counts, gap, 0).sum({-2, -1}) / x.shape(-1));
  }
};

// Binary cross-entropy of logits, averaged over the last dimension, the classes.
class MultiLabelSoftMarginLoss : public detail::Loss {
 public:
  explicit MultiLabelSoftMarginLoss(Tensor weights = {}, std::string reduction = "mean")
      : LossOf("MultiLabelSoftMarginLoss", std::move(reduction)),
        weight(add_buffer("weight", std::move(weights))) {}
  Tensor forward(const Tensor& x, const Tensor& target) const override {
    const Tensor each = -(target * log_sigmoid(x) + (1 - target) * log_sigmoid(-x));
    return reduced((weight.defined() ? each * weight.get() : each).mean(-1));
  }

  Parameter weight;
};

}  // namespace tenon::nn
#endif
