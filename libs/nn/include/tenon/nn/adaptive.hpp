// An approximate softmax for many classes, most of them rare (Grave et al. 2017).
#ifndef TENON_NN_ADAPTIVE_HPP
#define TENON_NN_ADAPTIVE_HPP

#include "tenon/nn/container.hpp"
#include "tenon/nn/linear.hpp"

namespace tenon::nn {

struct AdaptiveLogSoftmaxWithLossOptions {
  double div_value = 4;  // each cluster's layer is narrower than the previous one by this factor
  bool head_bias = false;
};

// Classes are sorted by frequency and divided at `cutoffs`: the first part is in the head, each further part is a cluster. Takes x (N,
// in_features) and labels (N), or (in_features) and (). Returns the log-probabilities of the labels, and the loss, their negative mean.
class AdaptiveLogSoftmaxWithLoss
    : public ModuleOf<std::tuple<Tensor, Tensor>(const Tensor&, const Tensor&)> {
 public:
  AdaptiveLogSoftmaxWithLoss(int64_t in_features, int64_t n_classes, IntList cutoffs,
                             const AdaptiveLogSoftmaxWithLossOptions& options = {})
      : cutoffs_(checked(in_features, n_classes, cutoffs)),
        head(add("head", Linear(in_features, cutoffs[0] + static_cast<int64_t>(cutoffs.size()),
                                options.head_bias))),
        tail(add("tail", ModuleList<Sequential>())) {
    detail::check_positive(kName, "div_value", options.div_value);
    double width = static_cast<double>(in_features);
    for (size_t i = 0; i + 1 < cutoffs_.size(); ++i) {
      width /= options.div_value;
      const auto narrow = static_cast<int64_t>(width);
      tail.push(Sequential(Linear(in_features, narrow, false),
                           Linear(narrow, cutoffs_[i + 1] - cutoffs_[i], false)));
    }
  }

  std::tuple<Tensor, Tensor> forward(const Tensor& input, const Tensor& target) override {
    check(input, target);
    const bool single = target.ndim() == 0;
    const Tensor output =
        single ? of_labels(input.unsqueeze(0), target.unsqueeze(0)) : of_labels(input, target);
    return {single ? output.squeeze(0) : output, -output.mean()};
  }
  // Log-probabilities (N, n_classes).
  Tensor log_prob(const Tensor& x) {
    const Tensor first = log_softmax(head(x), 1);
    std::vector<Tensor> parts = {first.narrow(1, 0, shortlist())};
    for (size_t i = 0; i < tail.size(); ++i)
      parts.push_back(log_softmax(tail[i](x), 1) +
                      first.narrow(1, shortlist() + static_cast<int64_t>(i), 1));
    return concat(parts, 1);
  }
  // The most probable class of each row.
  Tensor predict(const Tensor& x) { return argmax(log_prob(x), 1); }
  std::string describe() const override { return kName; }

 private:
  static constexpr const char* kName = "AdaptiveLogSoftmaxWithLoss";
  static std::vector<int64_t> checked(int64_t in_features, int64_t n_classes, IntList cutoffs) {
    detail::check_least(kName, "in_features", in_features, 1);
    std::vector<int64_t> ends(cutoffs.begin(), cutoffs.end());
    ends.push_back(n_classes);
    const bool rising = std::ranges::adjacent_find(ends, std::greater_equal<>()) == ends.end();
    if (ends.size() < 2 || !rising || ends[0] < 1)
      detail::refuse(kName, "cutoffs " + detail::text_of(cutoffs) +
                                " must be rising whole numbers from 1 to " +
                                std::to_string(n_classes - 1));
    return ends;
  }
  void check(const Tensor& x, const Tensor& labels) const {
    if (labels.ndim() > 1 || x.ndim() != labels.ndim() + 1 ||
        (labels.ndim() == 1 && x.shape(0) != labels.shape(0)))
      detail::refuse(kName, "input " + detail::text_of(x.shape()) + " and target " +
                                detail::text_of(labels.shape()) +
                                " must be (N, in_features) and (N), or (in_features) and ()");
    if (labels.numel() > 0 && logical_or(labels < 0, labels >= cutoffs_.back()).any().item<bool>())
      detail::refuse(kName, "labels must be 0 to " + std::to_string(cutoffs_.back() - 1));
  }
  int64_t shortlist() const { return cutoffs_[0]; }
  // For labels (N): the class in the head, and the class within the cluster if the label is in one.
  Tensor of_labels(const Tensor& x, const Tensor& labels) {
    Tensor place = labels.to(DType::I64), within;
    for (size_t i = 0; i < tail.size(); ++i) {
      const int64_t low = cutoffs_[i];
      const Tensor inside = logical_and(labels >= low, labels < cutoffs_[i + 1]);
      const Tensor rows = nonzero(inside).select(1, 0);
      place = where(inside, shortlist() + static_cast<int64_t>(i), place);
      if (rows.numel() == 0) continue;
      const Tensor own = (index_select(labels, 0, rows) - low).to(DType::I64).unsqueeze(1);
      const Tensor part =
          log_softmax(tail[i](index_select(x, 0, rows)), 1).gather(1, own).squeeze(1);
      if (!within.defined()) within = zeros(labels.shape(), part.dtype(), part.device());
      within = index_add(within, 0, rows, part);
    }
    const Tensor found = log_softmax(head(x), 1).gather(1, place.unsqueeze(1)).squeeze(1);
    return within.defined() ? found + within : found;
  }
  std::vector<int64_t> cutoffs_;  // followed by the number of classes

 public:
  Linear head;
  ModuleList<Sequential> tail;
};

}  // namespace tenon::nn
#endif
