// Scaling of the loss, so that small gradients are not lost in f16 (Micikevicius et al. 2018, section 3.2).
#ifndef TENON_AMP_GRAD_SCALER_HPP
#define TENON_AMP_GRAD_SCALER_HPP

#include <cmath>
#include <limits>
#include <unordered_map>
#include <vector>

#include "tenon/optim/optimizer.hpp"

namespace tenon::amp {

struct GradScalerOptions {
  double init_scale = 65536, growth_factor = 2, backoff_factor = 0.5;
  int64_t growth_interval = 2000;  // steps without inf or NaN before the scale grows
  bool enabled = true;
};

// Multiplies losses by a scale, divides gradients by it before a step, leaves a step out when a gradient is inf or NaN, and then
// lowers the scale; after growth_interval good steps it raises it. bf16 needs none. Not thread-safe.
//
//   scaler.scale(loss).backward();
//   scaler.step(optimizer);
//   scaler.update();
class GradScaler {
 public:
  explicit GradScaler(const GradScalerOptions& options = {}) : options_(options) {
    require(options.growth_factor > 1, "growth_factor must be above 1");
    require(options.backoff_factor < 1 && options.backoff_factor > 0,
            "backoff_factor must be between 0 and 1");
    require(options.init_scale > 0, "init_scale must be above 0");
    require(options.growth_interval > 0, "growth_interval must be above 0");
    scale_ = options.init_scale;
  }

  // loss · scale
  Tensor scale(const Tensor& loss) const { return options_.enabled ? loss * scale_ : loss; }

  // Divides an optimizer's gradients by the scale, so that you can clip them; otherwise step() does it. Throws
  // Error(TN_FAILED_PRECONDITION) if called twice between updates.
  void unscale_(optim::Optimizer& optimizer) {
    if (!options_.enabled) return;
    if (!seen_.try_emplace(&optimizer, false).second)
      throw Error(
          TN_FAILED_PRECONDITION,
          "[GradScaler] unscale_() was called twice, or after step(): call update() between");
    std::vector<Tensor> grads;
    for (const Tensor& param : optimizer.parameters())
      if (param.grad().defined()) grads.push_back(param.grad());
    if (grads.empty())
      throw Error(TN_FAILED_PRECONDITION, "[GradScaler] no parameter has a gradient");
    NoGrad guard;
    const double largest =
        multi_norm(grads, std::numeric_limits<double>::infinity()).item<double>();
    seen_[&optimizer] = !std::isfinite(largest);
    multi_scale(grads, tensor(1 / scale_).to(grads.front().device()));
  }
  // Takes the optimizer's step, unless a gradient is inf or NaN. Returns whether it did.
  bool step(optim::Optimizer& optimizer) {
    if (options_.enabled && seen_.find(&optimizer) == seen_.end()) unscale_(optimizer);
    if (options_.enabled && seen_[&optimizer]) return false;
    optimizer.step();
    return true;
  }
  // Adjusts the scale. Call it once, after the steps of all optimizers.
  void update() {
    if (!options_.enabled) return;
    require(!seen_.empty(), "update() without a step() since the last");
    bool found = false;
    for (const auto& [optimizer, infinite] : seen_) found = found || infinite;
    seen_.clear();
    good_steps_ = found ? 0 : good_steps_ + 1;
    if (found) scale_ *= options_.backoff_factor;
    if (good_steps_ < options_.growth_interval) return;
    const double grown = scale_ * options_.growth_factor;
    if (std::isfinite(static_cast<float>(grown))) scale_ = grown;
    good_steps_ = 0;
  }

  double get_scale() const { return options_.enabled ? scale_ : 1; }
  bool is_enabled() const { return options_.enabled; }

  optim::StateDict state_dict() const {
    return {{"scale", tensor(scale_)},
            {"growth_factor", tensor(options_.growth_factor)},
            {"backoff_factor", tensor(options_.backoff_factor)},
            {"growth_interval", tensor(options_.growth_interval)},
            {"_growth_tracker", tensor(good_steps_)}};
  }
  void load_state_dict(const optim::StateDict& state) {
    const auto entry = [&](const char* key) {
      const auto found = state.find(key);
      require(found != state.end(), std::string("no \"") + key + "\" in the state");
      return found->second;
    };
    GradScalerOptions options = options_;
    options.init_scale = entry("scale").item<double>();
    options.growth_factor = entry("growth_factor").item<double>();
    options.backoff_factor = entry("backoff_factor").item<double>();
    options.growth_interval = entry("growth_interval").item<int64_t>();
    const int64_t good_steps = entry("_growth_tracker").item<int64_t>();
    *this = GradScaler(options);
    good_steps_ = good_steps;
  }

 private:
  static void require(bool good, const std::string& message) {
    if (!good) throw Error(TN_INVALID_ARGUMENT, "[GradScaler] " + message);
  }

  GradScalerOptions options_;
  double scale_ = 65536;
  int64_t good_steps_ = 0;
  std::unordered_map<optim::Optimizer*, bool>
      seen_;  // optimizers unscaled since the last update, and whether one of their gradients was infinite
};

}  // namespace tenon::amp
#endif
