// Negative log likelihoods of distributions, and of alignments. The classes keep the options of the functions.
#ifndef TENON_NN_NLL_LOSS_HPP
#define TENON_NN_NLL_LOSS_HPP

#include <numbers>

#include "tenon/nn/loss.hpp"

namespace tenon::nn {

struct PoissonNLLLossOptions {
  bool log_input = true;  // x is the logarithm of the rate
  bool full = false;      // with Stirling's term
  double eps = 1e-8;
  std::string reduction = "mean";
};

struct GaussianNLLLossOptions {
  bool full = false;  // with the constant
  double eps = 1e-6;  // variances are this at least
  std::string reduction = "mean";
};

namespace functional {
// exp(x) - target · x, or x - target · log(x + eps).
inline Tensor poisson_nll_loss(const Tensor& x, const Tensor& target,
                               const PoissonNLLLossOptions& o = {}) {
  const Tensor found = o.log_input ? x.exp() - target * x : x - target * (x + o.eps).log();
  const auto reduced = [&](const Tensor& each) {
    return nn::detail::reduced("poisson_nll_loss", each, o.reduction);
  };
  if (!o.full) return reduced(found);
  const Tensor more = target * target.log() - target + 0.5 * (2 * std::numbers::pi * target).log();
  return reduced(found + where(target <= 1, 0, more));
}

// (log var + (x - target)² / var) / 2; var has the shape of x, or a 1 in its place, or lacks the last dimension.
inline Tensor gaussian_nll_loss(const Tensor& x, const Tensor& target, const Tensor& var,
                                const GaussianNLLLossOptions& o = {}) {
  const char* const name = "gaussian_nll_loss";
  nn::detail::check_positive(name, "eps", o.eps);
  if (var.numel() > 0 && (var < 0).any().item<bool>())
    nn::detail::refuse(name, "var must not be negative");
  const Tensor wide = var.ndim() + 1 == x.ndim() &&
                              std::ranges::equal(var.shape(), x.shape().first(var.shape().size()))
                          ? var.unsqueeze(-1)
                          : var;
  // Clamps from below, but keeps the gradient.
  const Tensor held = wide + (wide.clamp(o.eps) - wide).detach();
  const Tensor found = 0.5 * (held.log() + (x - target).square() / held);
  return nn::detail::reduced(name, o.full ? found + 0.5 * std::log(2 * std::numbers::pi) : found,
                             o.reduction);
}
}  // namespace functional

class PoissonNLLLoss : public detail::Loss {
 public:
  explicit PoissonNLLLoss(const PoissonNLLLossOptions& options = {})
      : LossOf("PoissonNLLLoss", options.reduction), options_(options) {}
  Tensor forward(const Tensor& x, const Tensor& target) const override {
    return functional::poisson_nll_loss(x, target, options_);
  }

 private:
  PoissonNLLLossOptions options_;
};

class GaussianNLLLoss : public detail::LossOfThree {
 public:
  explicit GaussianNLLLoss(const GaussianNLLLossOptions& options = {})
      : LossOf("GaussianNLLLoss", options.reduction), options_(options) {
    detail::check_positive(name_, "eps", options.eps);
  }
  Tensor forward(const Tensor& x, const Tensor& target, const Tensor& var) const override {
    return functional::gaussian_nll_loss(x, target, var, options_);
  }

 private:
  GaussianNLLLossOptions options_;
};

}  // namespace tenon::nn
#endif
