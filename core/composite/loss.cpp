// Losses.
#include "composite/composite.hpp"

namespace {

Tensor reduced(const CompositeArgs& in, const Tensor& loss, std::string_view reduction) {
  if (reduction == "none") return loss;
  if (reduction == "sum") return sum(loss);
  in.frame().require(reduction == "mean", "reduction must be none, mean or sum, got \"{}\"",
                     reduction);
  return mean(loss);
}

// The targets' classes: weights (0 where ignored) and the classes with ignored ones replaced, both
// with a channel of 1.
struct Picks {
  Tensor weights, index;
  int64_t channel;
};
Picks pick(const Tensor& target, const Tensor& weight, const Tensor& like, int64_t ignore) {
  const int64_t channel = like.ndim() == 1 ? 0 : 1;
  const Tensor kept = target != ignore, index = where(kept, target, 0).to(DType::I64);
  const Tensor each =
      weight.defined()
          ? reshape(index_select(weight.to(like.dtype()), 0, reshape(index, index.numel())),
                    index.shape())
          : full(index.shape(), 1, like.dtype(), like.device());
  return {unsqueeze(where(kept, each, 0), channel), unsqueeze(index, channel), channel};
}

// Cross entropy against probabilities: −Σ t·w·ln p, the mean over all targets.
Tensor against_probabilities(const CompositeArgs& in, const Tensor& log_probs, Tensor target,
                             int64_t channel) {
  const double smoothing = in.real(5);
  const auto classes = static_cast<double>(log_probs.shape(channel));
  if (smoothing > 0) target = target * (1 - smoothing) + smoothing / classes;
  Tensor terms = log_probs * target;
  if (in.has(2)) {
    std::vector<int64_t> shape(log_probs.ndim(), 1);
    shape[channel] = in.tensor(2).numel();
    terms = terms * reshape(in.tensor(2), shape);
  }
  const std::string_view reduction = in.str(3);
  if (reduction == "none") return -sum(terms, channel);
  if (reduction == "sum") return -sum(terms);
  return sum(terms) / (-static_cast<double>(log_probs.numel()) / classes);
}

// Label smoothing, Szegedy et al. 2016: the target's class gets 1−s, and all classes s/C more.
Tensor smoothed(const CompositeArgs& in, const Tensor& log_probs, const Tensor& target,
                int64_t channel) {
  const Tensor weight = in.tensor(2);
  const std::string_view reduction = in.str(3);
  const double smoothing = in.real(5);
  const auto sharp = nll_loss(log_probs, target, weight, reduction, in.integer(4));
  Tensor terms = log_probs;
  if (weight.defined()) {
    std::vector<int64_t> shape(log_probs.ndim(), 1);
    shape[channel] = weight.numel();
    terms = terms * reshape(weight, shape);
  }
  Tensor even = where(target == in.integer(4), 0, -sum(terms, channel));
  if (reduction != "none") even = sum(even);
  if (reduction == "mean") even = even / sharp.total_weight;
  return sharp.loss * (1 - smoothing) +
         even * (smoothing / static_cast<double>(log_probs.shape(channel)));
}

}  // namespace

// −w[t]·x[t]; the mean is weighted
TN_DECOMPOSE(nll_loss) {
  const Tensor x = in.tensor(0);
  const Picks picks = pick(in.tensor(1), in.tensor(2), x, in.integer(4));
  const Tensor terms = -(gather(x, picks.channel, picks.index) * picks.weights);
  out[1] = sum(picks.weights);
  const std::string_view reduction = in.str(3);
  if (reduction == "none")
    out[0] = squeeze(terms, picks.channel);
  else
    out[0] = reduction == "sum" ? sum(terms) : sum(terms) / out[1];
}

// −w[t]·g at the target, 0 elsewhere
TN_DECOMPOSE(nll_loss_backward) {
  const Tensor x = in.tensor(1);
  const Picks picks = pick(in.tensor(2), in.tensor(3), x, in.integer(6));
  Tensor g = in.tensor(0).to(x.dtype());
  const std::string_view reduction = in.str(5);
  if (reduction == "mean") g = g / in.tensor(4);
  if (reduction == "none") g = unsqueeze(g, picks.channel);
  out[0] = scatter(full(x.shape(), 0, x.dtype(), x.device()), picks.channel, picks.index,
                   -(picks.weights * g));
}

TN_DECOMPOSE(cross_entropy) {
  const Tensor logits = in.tensor(0), target = in.tensor(1);
  const double smoothing = in.real(5);
  const Frame& frame = in.frame();
  const std::string_view reduction = in.str(3);
  frame.require(logits.ndim() >= 1, "logits must be (C) or (N, C, …), got rank 0");
  frame.require(smoothing >= 0 && smoothing <= 1, "smoothing must be between 0 and 1, got {}",
                smoothing);
  frame.require(reduction == "none" || reduction == "mean" || reduction == "sum",
                "reduction must be none, mean or sum, got \"{}\"", reduction);
  const int64_t channel = logits.ndim() == 1 ? 0 : 1;
  const Tensor log_probs = log_softmax(logits, channel);
  if (is_floating(target.dtype())) {
    frame.require(std::ranges::equal(logits.shape(), target.shape()),
                  "probabilities have shape {}, logits {}", format_shape(target.shape()),
                  format_shape(logits.shape()));
    out[0] = against_probabilities(in, log_probs, target, channel);
  } else if (smoothing > 0) {
    out[0] = smoothed(in, log_probs, target, channel);
  } else {
    out[0] = nll_loss(log_probs, target, in.tensor(2), reduction, in.integer(4)).loss;
  }
}

TN_DECOMPOSE(mse_loss) { out[0] = reduced(in, square(in.tensor(0) - in.tensor(1)), in.str(2)); }

TN_DECOMPOSE(l1_loss) { out[0] = reduced(in, abs(in.tensor(0) - in.tensor(1)), in.str(2)); }

// ½d²/β up to |d| = β, |d| − ½β beyond; Girshick 2015
TN_DECOMPOSE(smooth_l1_loss) {
  const Tensor d = in.tensor(0) - in.tensor(1), size = abs(d);
  const double beta = in.real(3);
  in.frame().require(beta >= 0, "beta must not be negative, got {}", beta);
  const Tensor loss =
      beta == 0 ? size : where(size < beta, square(d) * (0.5 / beta), size - 0.5 * beta);
  out[0] = reduced(in, loss, in.str(2));
}

// −t·ln x − (1−t)·ln(1−x), logarithms not below −100; at the ends, where ln has no slope, the
// gradient is 0
TN_DECOMPOSE(bce_loss) {
  const Tensor x = in.tensor(0), target = in.tensor(1);
  const auto bounded_log = [](const Tensor& p) {
    const Tensor empty = p == 0;
    return where(empty, -100.0, clamp(log(where(empty, 1, p)), -100.0));
  };
  Tensor loss = -(target * bounded_log(x) + (1 - target) * bounded_log(1 - x));
  if (in.has(2)) loss = loss * in.tensor(2);
  out[0] = reduced(in, loss, in.str(3));
}

// (1−t)·x + (1 + (w−1)·t)·ln(1+e^−x), in which nothing overflows
TN_DECOMPOSE(bce_with_logits_loss) {
  const Tensor x = in.tensor(0), target = in.tensor(1);
  const Tensor tail = softplus(-x, 1.0, 40.0);
  Tensor loss = (1 - target) * x + (in.has(3) ? ((in.tensor(3) - 1) * target + 1) * tail : tail);
  if (in.has(2)) loss = loss * in.tensor(2);
  out[0] = reduced(in, loss, in.str(4));
}

// t·(ln t − x), 0 where t = 0; x and, on request, t are logarithms
TN_DECOMPOSE(kl_div_loss) {
  const Tensor x = in.tensor(0), target = in.tensor(1);
  const Tensor loss =
      in.flag(3) ? exp(target) * (target - x) : target * (log(where(target > 0, target, 1)) - x);
  out[0] = reduced(in, loss, in.str(2));
}
