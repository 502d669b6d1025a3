// Connectionist temporal classification (Graves et al. 2006).
#ifndef TENON_NN_CTC_LOSS_HPP
#define TENON_NN_CTC_LOSS_HPP

#include <limits>

#include "tenon/nn/loss.hpp"

namespace tenon::nn {

namespace detail {
// Stands for log 0: finite, so that gradients of sums of nothing are 0.
inline constexpr double kNever = -1e30;

// x (N, S) moved right, log 0 coming in.
inline Tensor moved_right(const Tensor& x, int64_t by) {
  const int64_t width = x.shape(1), in = std::min(by, width);
  return concat({full({x.shape(0), in}, kNever, x.dtype(), x.device()), x.slice(1, 0, width - in)},
                1);
}

// Blanks before, between and behind the labels (N, S): (N, 2 S + 1).
inline Tensor with_blanks(const Tensor& labels, int64_t blank) {
  const Tensor blanks = full_like(labels, blank);
  const Tensor pairs = stack({blanks, labels}, 2).reshape({labels.shape(0), 2 * labels.shape(1)});
  return concat({pairs, full({labels.shape(0), 1}, blank, labels.dtype(), labels.device())}, 1);
}

// Labels (N, S), of rows joined into one, too; `most` of each.
inline Tensor padded_labels(const Tensor& targets, const Tensor& lengths, int64_t most) {
  if (targets.ndim() == 2) return targets.slice(1, 0, most);
  const Tensor starts = lengths.cumsum(0) - lengths;
  const Tensor at = starts.unsqueeze(1) + arange(0, most, 1, DType::I64, targets.device());
  return take(targets, at.clamp(0, std::max<int64_t>(targets.numel() - 1, 0)));
}

// The logarithms of all alignments that end at each place of the path (N, 2 S + 1), when `lengths` steps of x (T, N, C) have passed.
inline Tensor ctc_alignments(const Tensor& x, const Tensor& path, const Tensor& lengths,
                             int64_t blank) {
  const int64_t batch = path.shape(0), width = path.shape(1), back = std::min<int64_t>(2, width);
  const Tensor two_back = concat(
      {full({batch, back}, blank, path.dtype(), path.device()), path.slice(1, 0, width - back)}, 1);
  const Tensor jumps = logical_and(path != blank, path != two_back),
               places = arange(0, width, 1, DType::I64, x.device());
  const Tensor never = full({}, kNever, x.dtype(), x.device());
  Tensor alpha = where(places < 1, 0.0, full({batch, width}, kNever, x.dtype(), x.device()));
  for (int64_t t = 0; t < x.shape(0); ++t) {
    const Tensor emitted = x.select(0, t).gather(1, path);
    Tensor next = where(places < 2, emitted, never);
    if (t > 0) {
      next = emitted +
             stack({alpha, moved_right(alpha, 1), where(jumps, moved_right(alpha, 2), never)}, 0)
                 .logsumexp(0);
      next = where(next < kNever, never, next);
    }
    alpha = where((lengths > t).unsqueeze(1), next, alpha);
  }
  return alpha;
}
}  // namespace detail

// -log of the probability of labels (N, S), or of rows joined into one, over all their alignments with log-probabilities (T, N, C), the
// results of log_softmax; with the lengths of both (N). The gradient is that of logits before the log_softmax, as in PyTorch.
class CTCLoss : public detail::LossOf<Tensor, Tensor, Tensor, Tensor> {
 public:
  explicit CTCLoss(int64_t blank = 0, std::string reduction = "mean", bool zero_infinity = false)
      : LossOf("CTCLoss", std::move(reduction)), blank_(blank), zero_infinity_(zero_infinity) {}
  Tensor forward(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                 const Tensor& target_lengths) const override {
    const bool single = log_probs.ndim() == 2;
    const Tensor x = single ? log_probs.unsqueeze(1) : log_probs;
    const Tensor inputs = input_lengths.to(DType::I64).reshape({-1}),
                 lengths = target_lengths.to(DType::I64).reshape({-1});
    check(x, targets, inputs, lengths);
    const Tensor labels =
        (single && targets.ndim() == 1 ? targets.unsqueeze(0) : targets).to(DType::I64);
    const int64_t most = x.shape(1) > 0 ? lengths.max().item<int64_t>() : 0;
    const Tensor path = detail::with_blanks(detail::padded_labels(labels, lengths, most), blank_);
    const Tensor alpha = detail::ctc_alignments(x, path, inputs, blank_);
    const Tensor end = (2 * lengths).unsqueeze(1);
    const Tensor before =
        where(lengths > 0, alpha.gather(1, (end - 1).clamp(0)).squeeze(1), detail::kNever);
    Tensor loss = -logaddexp(alpha.gather(1, end).squeeze(1), before);
    if (x.requires_grad()) {  // what log_softmax adds to the gradient of its results, whose value is 0
      const Tensor used = arange(0, x.shape(0), 1, DType::I64, x.device()).unsqueeze(1) < inputs;
      const Tensor part = where(used, x.exp().sum(2), 0.0).sum(0);
      loss = loss + (part - part.detach());
    }
    loss = where(loss > -detail::kNever / 10,
                 zero_infinity_ ? 0.0 : std::numeric_limits<double>::infinity(), loss);
    if (reduction_ == "mean") return (loss / lengths.clamp(1).to(loss.dtype())).mean();
    return single ? reduced(loss.squeeze(0)) : reduced(loss);
  }

 private:
  void check(const Tensor& x, const Tensor& targets, const Tensor& inputs,
             const Tensor& lengths) const {
    if (x.ndim() != 3 || (targets.ndim() != 1 && targets.ndim() != 2) ||
        inputs.numel() != x.shape(1) || lengths.numel() != x.shape(1))
      detail::refuse(name_, "log_probs " + detail::text_of(x.shape()) + ", targets " +
                                detail::text_of(targets.shape()) + " and lengths " +
                                detail::text_of(inputs.shape()) + " and " +
                                detail::text_of(lengths.shape()) +
                                " must be (T, N, C), (N, S) and (N)");
    if (blank_ < 0 || blank_ >= x.shape(2))
      detail::refuse(name_, "blank " + std::to_string(blank_) + " of " +
                                std::to_string(x.shape(2)) + " classes");
    if (x.shape(1) > 0 && (logical_or(inputs<0, inputs> x.shape(0)).any().item<bool>() ||
                           (lengths < 0).any().item<bool>()))
      detail::refuse(name_, "input_lengths must be 0 to " + std::to_string(x.shape(0)) +
                                ", target_lengths not negative");
  }
  int64_t blank_;
  bool zero_infinity_;
};

}  // namespace tenon::nn
#endif
