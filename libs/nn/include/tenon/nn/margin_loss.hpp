// Margin losses and multi-label losses. The classes keep the options of the functions.
#ifndef TENON_NN_MARGIN_LOSS_HPP
#define TENON_NN_MARGIN_LOSS_HPP

#include "tenon/nn/distance.hpp"
#include "tenon/nn/loss.hpp"

namespace tenon::nn {

struct TripletMarginLossOptions {
  double margin = 1;
  double p = 2;
  double eps = 1e-6;
  bool swap = false;  // uses the negative's distance to the nearer of the other two
  std::string reduction = "mean";
};
using DistanceFunction = std::function<Tensor(const Tensor&, const Tensor&)>;
struct TripletMarginWithDistanceLossOptions {
  DistanceFunction distance_function = {};  // pairwise_distance() where absent
  double margin = 1;
  bool swap = false;
  std::string reduction = "mean";
};
struct MultiMarginLossOptions {
  int64_t p = 1;  // or 2
  double margin = 1;
  Tensor weight = {};  // of the classes
  std::string reduction = "mean";
};

namespace functional {
namespace detail {
using nn::detail::reduced, nn::detail::refuse, nn::detail::text_of;

// max(0, x) with slope 1 at 0.
inline Tensor above_0(const Tensor& x) { return where(x < 0, zeros({}, x.dtype(), x.device()), x); }

// Checks x (N, C) or (C) and labels of shape `labels`, which is (N) or () for one label each.
inline void check_classes(const char* name, const Tensor& x, const Tensor& target,
                          std::span<const int64_t> labels) {
  if ((x.ndim() != 1 && x.ndim() != 2) || !std::ranges::equal(target.shape(), labels))
    refuse(name, "input has shape " + text_of(x.shape()) + " and target " +
                     text_of(target.shape()) + ", must be (N, C) or (C) and " + text_of(labels));
}
inline void check_margin_p(const char* name, int64_t p) {
  if (p != 1 && p != 2) refuse(name, "p", std::to_string(p), "must be 1 or 2");
}
// Options are those of either triplet loss.
template <class Distance, class Options>
Tensor triplet(const char* name, const Tensor& anchor, const Tensor& positive,
               const Tensor& negative, const Distance& distance, const Options& o) {
  nn::detail::check_positive(name, "margin", o.margin);
  if (anchor.ndim() != positive.ndim() || anchor.ndim() != negative.ndim())
    refuse(name, "ranks " + std::to_string(anchor.ndim()) + ", " + std::to_string(positive.ndim()) +
                     " and " + std::to_string(negative.ndim()) + " differ");
  const Tensor near = distance(anchor, positive), far = distance(anchor, negative);
  const Tensor rival = o.swap ? minimum(far, distance(positive, negative)) : far;
  return reduced(name, above_0(near - rival + o.margin), o.reduction);
}
}  // namespace detail

// log(1 + exp(-target · x)), target 1 or -1.
inline Tensor soft_margin_loss(const Tensor& x, const Tensor& target,
                               const std::string& reduction = "mean") {
  return detail::reduced("soft_margin_loss", -log_sigmoid(target * x), reduction);
}

// x where target is 1, max(0, margin - x) where it is -1.
inline Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target, double margin = 1,
                                   const std::string& reduction = "mean") {
  return detail::reduced("hinge_embedding_loss",
                         where(target != 1, maximum(margin - x, 0), 0) + where(target != -1, x, 0),
                         reduction);
}

// max(0, -target · (x₁ - x₂) + margin), target 1 or -1.
inline Tensor margin_ranking_loss(const Tensor& x1, const Tensor& x2, const Tensor& target,
                                  double margin = 0, const std::string& reduction = "mean") {
  return detail::reduced("margin_ranking_loss", detail::above_0(-target * (x1 - x2) + margin),
                         reduction);
}

// 1 - cos where target is 1, max(0, cos - margin) where it is -1; of vectors (N, D) or (D).
inline Tensor cosine_embedding_loss(const Tensor& x1, const Tensor& x2, const Tensor& target,
                                    double margin = 0, const std::string& reduction = "mean") {
  const char* const name = "cosine_embedding_loss";
  if (x1.ndim() != x2.ndim() || target.ndim() + 1 != x1.ndim() || target.ndim() > 1)
    detail::refuse(name, "shapes " + detail::text_of(x1.shape()) + ", " +
                             detail::text_of(x2.shape()) + " and " +
                             detail::text_of(target.shape()) + " do not fit");
  const auto length = [](const Tensor& x) { return (x * x).sum(-1) + 1e-12; };
  const Tensor cosine = (x1 * x2).sum(-1) / (length(x1) * length(x2)).sqrt();
  return detail::reduced(
      name,
      where(target == 1, 1 - cosine, 0) + where(target == -1, detail::above_0(cosine - margin), 0),
      reduction);
}

// max(0, d(anchor, positive) - d(anchor, negative) + margin), of any distance.
inline Tensor triplet_margin_with_distance_loss(
    const Tensor& anchor, const Tensor& positive, const Tensor& negative,
    const TripletMarginWithDistanceLossOptions& o = {}) {
  if (o.distance_function)
    return detail::triplet("triplet_margin_with_distance_loss", anchor, positive, negative,
                           o.distance_function, o);
  const auto usual = [](const Tensor& a, const Tensor& b) { return pairwise_distance(a, b); };
  return detail::triplet("triplet_margin_with_distance_loss", anchor, positive, negative, usual, o);
}
// The same of p-norm distances.
inline Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive,
                                  const Tensor& negative, const TripletMarginLossOptions& o = {}) {
  const auto distance = [&](const Tensor& a, const Tensor& b) {
    return pairwise_distance(a, b, o.p, o.eps);
  };
  return detail::triplet("triplet_margin_loss", anchor, positive, negative, distance, o);
}

// Σ max(0, margin - x[label] + x[i])^p / C over the other classes; of (N, C) and labels (N), or (C) and ().
inline Tensor multi_margin_loss(const Tensor& x, const Tensor& target,
                                const MultiMarginLossOptions& o = {}) {
  const char* const name = "multi_margin_loss";
  detail::check_margin_p(name, o.p);
  detail::check_classes(name, x, target,
                        x.shape().first(x.shape().empty() ? 0 : x.shape().size() - 1));
  const Tensor label = target.unsqueeze(-1);
  Tensor gap = detail::above_0(o.margin - x.gather(-1, label) + x);
  if (o.p == 2) gap = gap * gap;
  if (o.weight.defined()) gap = gap * take(o.weight, label);
  const Tensor classes = arange(0, x.shape(-1), 1, label.dtype(), x.device());
  return detail::reduced(name, where(classes == label, 0, gap).sum(-1) / x.shape(-1), o.reduction);
}

// Σ max(0, 1 - x[label] + x[i]) / C over the labels, which end at the first -1, and all other classes i. Both are (N, C), or both (C).
inline Tensor multilabel_margin_loss(const Tensor& x, const Tensor& target,
                                     const std::string& reduction = "mean") {
  const char* const name = "multilabel_margin_loss";
  detail::check_classes(name, x, target, x.shape());
  const Tensor valid = (target < 0).to(DType::I64).cumsum(-1) == 0, label = where(valid, target, 0);
  const Tensor classes = arange(0, x.shape(-1), 1, label.dtype(), x.device());
  const Tensor is_label = logical_and(label.unsqueeze(-1) == classes, valid.unsqueeze(-1)).any(-2);
  const Tensor gap =
      detail::above_0(1 - x.gather(-1, label).unsqueeze(-1) + x.unsqueeze(-2));  // (…, labels, C)
  const Tensor counts = logical_and(valid.unsqueeze(-1), logical_not(is_label.unsqueeze(-2)));
  return detail::reduced(name, where(counts, gap, 0).sum({-2, -1}) / x.shape(-1), reduction);
}

// Binary cross-entropy of logits, averaged over the last dimension, the classes.
inline Tensor multilabel_soft_margin_loss(const Tensor& x, const Tensor& target,
                                          const Tensor& weight = {},
                                          const std::string& reduction = "mean") {
  const Tensor each = -(target * log_sigmoid(x) + (1 - target) * log_sigmoid(-x));
  return detail::reduced("multilabel_soft_margin_loss",
                         (weight.defined() ? each * weight : each).mean(-1), reduction);
}
}  // namespace functional

class SoftMarginLoss : public detail::Loss {
 public:
  explicit SoftMarginLoss(std::string reduction = "mean")
      : LossOf("SoftMarginLoss", std::move(reduction)) {}
  Tensor forward(const Tensor& x, const Tensor& target) const override {
    return functional::soft_margin_loss(x, target, reduction_);
  }
};

class HingeEmbeddingLoss : public detail::Loss {
 public:
  explicit HingeEmbeddingLoss(double margin = 1, std::string reduction = "mean")
      : LossOf("HingeEmbeddingLoss", std::move(reduction)), margin_(margin) {}
  Tensor forward(const Tensor& x, const Tensor& target) const override {
    return functional::hinge_embedding_loss(x, target, margin_, reduction_);
  }

 private:
  double margin_;
};

class MarginRankingLoss : public detail::LossOfThree {
 public:
  explicit MarginRankingLoss(double margin = 0, std::string reduction = "mean")
      : LossOf("MarginRankingLoss", std::move(reduction)), margin_(margin) {}
  Tensor forward(const Tensor& x1, const Tensor& x2, const Tensor& target) const override {
    return functional::margin_ranking_loss(x1, x2, target, margin_, reduction_);
  }

 private:
  double margin_;
};

class CosineEmbeddingLoss : public detail::LossOfThree {
 public:
  explicit CosineEmbeddingLoss(double margin = 0, std::string reduction = "mean")
      : LossOf("CosineEmbeddingLoss", std::move(reduction)), margin_(margin) {}
  Tensor forward(const Tensor& x1, const Tensor& x2, const Tensor& target) const override {
    return functional::cosine_embedding_loss(x1, x2, target, margin_, reduction_);
  }

 private:
  double margin_;
};

class TripletMarginWithDistanceLoss : public detail::LossOfThree {
 public:
  explicit TripletMarginWithDistanceLoss(const TripletMarginWithDistanceLossOptions& options = {})
      : LossOf("TripletMarginWithDistanceLoss", options.reduction), options_(options) {
    detail::check_positive(name_, "margin", options.margin);
  }
  Tensor forward(const Tensor& anchor, const Tensor& positive,
                 const Tensor& negative) const override {
    return functional::triplet_margin_with_distance_loss(anchor, positive, negative, options_);
  }

 private:
  TripletMarginWithDistanceLossOptions options_;
};

class TripletMarginLoss : public detail::LossOfThree {
 public:
  explicit TripletMarginLoss(const TripletMarginLossOptions& options = {})
      : LossOf("TripletMarginLoss", options.reduction), options_(options) {
    detail::check_positive(name_, "margin", options.margin);
  }
  Tensor forward(const Tensor& anchor, const Tensor& positive,
                 const Tensor& negative) const override {
    return functional::triplet_margin_loss(anchor, positive, negative, options_);
  }

 private:
  TripletMarginLossOptions options_;
};

class MultiMarginLoss : public detail::Loss {
 public:
  explicit MultiMarginLoss(const MultiMarginLossOptions& options = {})
      : LossOf("MultiMarginLoss", options.reduction),
        weight(add_buffer("weight", options.weight)),
        p_(options.p),
        margin_(options.margin) {
    functional::detail::check_margin_p(name_, p_);
  }
  Tensor forward(const Tensor& x, const Tensor& target) const override {
    return functional::multi_margin_loss(x, target, {p_, margin_, weight, reduction_});
  }

  Parameter weight;

 private:
  int64_t p_;
  double margin_;
};

class MultiLabelMarginLoss : public detail::Loss {
 public:
  explicit MultiLabelMarginLoss(std::string reduction = "mean")
      : LossOf("MultiLabelMarginLoss", std::move(reduction)) {}
  Tensor forward(const Tensor& x, const Tensor& target) const override {
    return functional::multilabel_margin_loss(x, target, reduction_);
  }
};

class MultiLabelSoftMarginLoss : public detail::Loss {
 public:
  explicit MultiLabelSoftMarginLoss(Tensor weights = {}, std::string reduction = "mean")
      : LossOf("MultiLabelSoftMarginLoss", std::move(reduction)),
        weight(add_buffer("weight", std::move(weights))) {}
  Tensor forward(const Tensor& x, const Tensor& target) const override {
    return functional::multilabel_soft_margin_loss(x, target, weight, reduction_);
  }

  Parameter weight;
};

}  // namespace tenon::nn
#endif
