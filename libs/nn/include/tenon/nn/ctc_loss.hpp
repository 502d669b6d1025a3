// Connectionist temporal classification (Graves et al. 2006). The classes keep the options of the functions.
#ifndef TENON_NN_CTC_LOSS_HPP
#define TENON_NN_CTC_LOSS_HPP

#include <limits>

#include "tenon/nn/loss.hpp"

namespace tenon::nn {

namespace functional {
namespace detail {
// Labels (N, S), also if given as one concatenated row; `most` is the length of the longest.
inline Tensor padded_labels(const Tensor& targets, const Tensor& lengths, int64_t most) {
  if (targets.ndim() == 2) return targets;
  const Tensor starts = lengths.cumsum(0) - lengths;
  const Tensor at = starts.unsqueeze(1) + arange(0, most, 1, DType::I64, targets.device());
  return take(targets, at.clamp(0, std::max<int64_t>(targets.numel() - 1, 0)));
}
inline void check_ctc(const Tensor& x, const Tensor& targets, const Tensor& inputs,
                      const Tensor& lengths, int64_t blank) {
  using nn::detail::refuse, nn::detail::text_of;
  if (x.ndim() != 3 || (targets.ndim() != 1 && targets.ndim() != 2) ||
      inputs.numel() != x.shape(1) || lengths.numel() != x.shape(1))
    refuse("ctc_loss", "log_probs " + text_of(x.shape()) + ", targets " + text_of(targets.shape()) +
                           " and lengths " + text_of(inputs.shape()) + " and " +
                           text_of(lengths.shape()) + " must be (T, N, C), (N, S) and (N)");
  if (blank < 0 || blank >= x.shape(2))
    refuse("ctc_loss",
           "blank " + std::to_string(blank) + " of " + std::to_string(x.shape(2)) + " classes");
  if (x.shape(1) > 0 && (logical_or(inputs<0, inputs> x.shape(0)).any().item<bool>() ||
                         (lengths < 0).any().item<bool>()))
    refuse("ctc_loss", "input_lengths must be 0 to " + std::to_string(x.shape(0)) +
                           ", target_lengths not negative");
}
}  // namespace detail

// -log of the probability of labels (N, S), or of one concatenated row, summed over all alignments with log-probabilities (T, N, C) from
// log_softmax. Both lengths are (N). As in PyTorch, the gradient is that of the logits before the log_softmax.
inline Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                       const Tensor& target_lengths, int64_t blank = 0,
                       const std::string& reduction = "mean", bool zero_infinity = false) {
  const bool single = log_probs.ndim() == 2;
  const Tensor x = single ? log_probs.unsqueeze(1) : log_probs;
  const Tensor inputs = input_lengths.to(DType::I64).reshape({-1}),
               lengths = target_lengths.to(DType::I64).reshape({-1});
  detail::check_ctc(x, targets, inputs, lengths, blank);
  const Tensor labels =
      (single && targets.ndim() == 1 ? targets.unsqueeze(0) : targets).to(DType::I64);
  const int64_t most = x.shape(1) > 0 ? lengths.max().item<int64_t>() : 0;
  if (labels.ndim() == 2 && (labels.shape(0) != x.shape(1) || labels.shape(1) < most))
    nn::detail::refuse("ctc_loss", "targets " + nn::detail::text_of(labels.shape()) +
                                       " for a batch of " + std::to_string(x.shape(1)) + " and " +
                                       std::to_string(most) + " labels");
  Tensor loss = tenon::ctc_loss(x, detail::padded_labels(labels, lengths, most), inputs, lengths,
                                blank, /*normalized=*/true);
  if (zero_infinity) loss = where(loss == std::numeric_limits<double>::infinity(), 0.0, loss);
  if (reduction == "mean") return (loss / lengths.clamp(1).to(loss.dtype())).mean();
  return nn::detail::reduced("ctc_loss", single ? loss.squeeze(0) : loss, reduction);
}
}  // namespace functional

class CTCLoss : public detail::LossOf<Tensor, Tensor, Tensor, Tensor> {
 public:
  explicit CTCLoss(int64_t blank = 0, std::string reduction = "mean", bool zero_infinity = false)
      : LossOf("CTCLoss", std::move(reduction)), blank_(blank), zero_infinity_(zero_infinity) {}
  Tensor forward(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                 const Tensor& target_lengths) const override {
    return functional::ctc_loss(log_probs, targets, input_lengths, target_lengths, blank_,
                                reduction_, zero_infinity_);
  }

 private:
  int64_t blank_;
  bool zero_infinity_;
};

}  // namespace tenon::nn
#endif
