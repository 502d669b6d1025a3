// Optimizer steps as in torch.optim: reads their calls and updates one element. For the CPU and for GPUs, where GPU_FN marks a function.
// Vulkan reads its numbers here; its formulas are in GLSL.
#ifndef TENON_PLUGINS_COMMON_STEP_HPP
#define TENON_PLUGINS_COMMON_STEP_HPP

#include <array>
#include <cmath>

#include "host_device.hpp"
#include "tenon/kernel_call.hpp"
#include "tenon/schemas.h"

namespace tenon {

struct SgdNumbers {
  double lr, momentum, fresh, decay;
  bool nesterov, first;
  explicit SgdNumbers(const tn_call& raw) {
    using arg = tenon::arg::sgd_step;
    const sdk::Call call(raw);
    lr = call.real(arg::lr);
    momentum = call.real(arg::momentum);
    first = call.flag(arg::first);
    fresh = first ? 1 : 1 - call.real(arg::dampening);
    decay = call.real(arg::weight_decay);
    nesterov = call.flag(arg::nesterov);
  }
};

// The values that depend on a step's number and rate: the share of a parameter that is kept, the step's size, and the factor of √.
struct AdamOfStep {
  double keep, size, root;
};
struct AdamNumbers {
  double beta1, beta2, eps, decay, keep, size, root;
  double shrink;  // decoupled decay, scaled by the rate
  bool amsgrad;
  explicit AdamNumbers(const tn_call& raw)
      : AdamNumbers(raw, static_cast<double>(sdk::Call(raw).integer(arg::adam_step::step)),
                    sdk::Call(raw).real(arg::adam_step::lr)) {}
  // The arguments of adam_step, or of adam_step_counted, which has them in the same positions.
  AdamNumbers(const tn_call& raw, double step, double lr) {
    using arg = tenon::arg::adam_step;
    static_assert(arg::lr == tenon::arg::adam_step_counted::lr &&
                  arg::decoupled == tenon::arg::adam_step_counted::decoupled);
    const sdk::Call call(raw);
    const double weight_decay = call.real(arg::weight_decay);
    const bool decoupled = call.flag(arg::decoupled);
    beta1 = call.real(arg::beta1);
    beta2 = call.real(arg::beta2);
    eps = call.real(arg::eps);
    decay = decoupled ? 0 : weight_decay;
    shrink = decoupled ? weight_decay : 0;
    amsgrad = !call.ins(arg::max_exp_avg_sq).empty();
    const AdamOfStep now = of_step(step, lr);
    keep = now.keep;
    size = now.size;
    root = now.root;
  }
  TENON_SHARED_FN AdamOfStep of_step(double step, double lr) const {
    return {1 - lr * shrink, lr / (1 - std::pow(beta1, step)),
            1 / std::sqrt(1 - std::pow(beta2, step))};
  }
};

struct RmsPropNumbers {
  double lr, alpha, eps, decay, momentum;
  bool centered;
  explicit RmsPropNumbers(const tn_call& raw) {
    using arg = tenon::arg::rmsprop_step;
    const sdk::Call call(raw);
    lr = call.real(arg::lr);
    alpha = call.real(arg::alpha);
    eps = call.real(arg::eps);
    decay = call.real(arg::weight_decay);
    momentum = call.real(arg::momentum);
    centered = !call.ins(arg::grad_avg).empty();
  }
};

struct AdagradNumbers {
  double lr, eps, decay;
  bool decays;  // whether the rate decays
  explicit AdagradNumbers(const tn_call& raw) {
    using arg = tenon::arg::adagrad_step;
    const sdk::Call call(raw);
    const double past = static_cast<double>(call.integer(arg::step) - 1);
    decays = call.real(arg::lr_decay) != 0;
    lr = call.real(arg::lr) / (1 + past * call.real(arg::lr_decay));
    eps = call.real(arg::eps);
    decay = call.real(arg::weight_decay);
  }
};

// ---- Formulas: a parameter p, its gradient g, and its states s from the lists states() of a call. They compute in R.

// kFirst: the momentum's memory is still undefined. Decided before the loop, which then needs no branch.
template <class R, bool kMomentum, bool kNesterov, bool kFirst>
struct Sgd {
  using Numbers = SgdNumbers;
  static constexpr std::array<uint32_t, kMomentum ? 1 : 0> states() {
    if constexpr (kMomentum)
      return {arg::sgd_step::momenta};
    else
      return {};
  }
  R lr, momentum, fresh, decay;
  explicit Sgd(const Numbers& n)
      : lr(static_cast<R>(n.lr)),
        momentum(static_cast<R>(n.momentum)),
        fresh(static_cast<R>(n.fresh)),
        decay(static_cast<R>(n.decay)) {}
  TENON_SHARED_INLINE_FN void operator()(R& p, R g, R* s) const {
    g += decay * p;
    if constexpr (kMomentum) {
      s[0] = kFirst ? fresh * g : momentum * s[0] + fresh * g;
      g = kNesterov ? g + momentum * s[0] : s[0];
    }
    p -= lr * g;
  }
};

template <class R, bool kAmsgrad>
struct Adam {
  using Numbers = AdamNumbers;
  static constexpr std::array<uint32_t, kAmsgrad ? 3 : 2> states() {
    using arg = tenon::arg::adam_step;
    if constexpr (kAmsgrad)
      return {arg::exp_avg, arg::exp_avg_sq, arg::max_exp_avg_sq};
    else
      return {arg::exp_avg, arg::exp_avg_sq};
  }
  R beta1, beta2, eps, decay, keep, size, root;
  explicit Adam(const Numbers& n)
      : beta1(static_cast<R>(n.beta1)),
        beta2(static_cast<R>(n.beta2)),
        eps(static_cast<R>(n.eps)),
        decay(static_cast<R>(n.decay)),
        keep(static_cast<R>(n.keep)),
        size(static_cast<R>(n.size)),
        root(static_cast<R>(n.root)) {}
  TENON_SHARED_INLINE_FN void operator()(R& p, R g, R* s) const {
    p *= keep;
    g += decay * p;
    s[0] += (R(1) - beta1) * (g - s[0]);
    s[1] = beta2 * s[1] + (R(1) - beta2) * g * g;
    R second = s[1];
    if constexpr (kAmsgrad) second = s[2] = s[2] > second ? s[2] : second;
    p -= size * s[0] / (std::sqrt(second) * root + eps);
  }
};

template <class R, bool kCentered, bool kMomentum>
struct RmsProp {
  using Numbers = RmsPropNumbers;
  static constexpr uint32_t kMemory = kCentered ? 2 : 1;  // the index of the momentum's state
  static constexpr std::array<uint32_t, kMemory + (kMomentum ? 1 : 0)> states() {
    using arg = tenon::arg::rmsprop_step;
    if constexpr (kCentered && kMomentum)
      return {arg::square_avg, arg::grad_avg, arg::momenta};
    else if constexpr (kCentered)
      return {arg::square_avg, arg::grad_avg};
    else if constexpr (kMomentum)
      return {arg::square_avg, arg::momenta};
    else
      return {arg::square_avg};
  }
  R lr, alpha, eps, decay, momentum;
  explicit RmsProp(const Numbers& n)
      : lr(static_cast<R>(n.lr)),
        alpha(static_cast<R>(n.alpha)),
        eps(static_cast<R>(n.eps)),
        decay(static_cast<R>(n.decay)),
        momentum(static_cast<R>(n.momentum)) {}
  TENON_SHARED_INLINE_FN void operator()(R& p, R g, R* s) const {
    g += decay * p;
    s[0] = alpha * s[0] + (R(1) - alpha) * g * g;
    R variance = s[0];
    if constexpr (kCentered) {
      s[1] += (R(1) - alpha) * (g - s[1]);
      variance -= s[1] * s[1];
    }
    R change = g / (std::sqrt(variance) + eps);
    if constexpr (kMomentum) change = s[kMemory] = momentum * s[kMemory] + change;
    p -= lr * change;
  }
};

template <class R>
struct Adagrad {
  using Numbers = AdagradNumbers;
  static constexpr std::array<uint32_t, 1> states() { return {arg::adagrad_step::sums}; }
  R lr, eps, decay;
  explicit Adagrad(const Numbers& n)
      : lr(static_cast<R>(n.lr)), eps(static_cast<R>(n.eps)), decay(static_cast<R>(n.decay)) {}
  TENON_SHARED_INLINE_FN void operator()(R& p, R g, R* s) const {
    g += decay * p;
    s[0] += g * g;
    p -= lr * g / (std::sqrt(s[0]) + eps);
  }
};

template <class Step>
inline constexpr uint32_t kStatesOf = static_cast<uint32_t>(Step::states().size());

// ---- Which formula a call asks for: run(StepOf<…>(), numbers) -------------------------------------------------------------------

template <template <class R, bool...> class Formula, bool... kWith>
struct StepOf {
  template <class R>
  using in = Formula<R, kWith...>;
};

template <class Run>
void with_sgd(const tn_call& call, const Run& run) {
  const SgdNumbers n(call);
  if (n.momentum == 0) return run(StepOf<Sgd, false, false, false>(), n);
  if (n.first)
    n.nesterov ? run(StepOf<Sgd, true, true, true>(), n) : run(StepOf<Sgd, true, false, true>(), n);
  else
    n.nesterov ? run(StepOf<Sgd, true, true, false>(), n)
               : run(StepOf<Sgd, true, false, false>(), n);
}
template <class Run>
void with_adam(const AdamNumbers& n, const Run& run) {
  n.amsgrad ? run(StepOf<Adam, true>(), n) : run(StepOf<Adam, false>(), n);
}
template <class Run>
void with_rmsprop(const tn_call& call, const Run& run) {
  const RmsPropNumbers n(call);
  const bool momentum = n.momentum != 0;
  if (n.centered)
    momentum ? run(StepOf<RmsProp, true, true>(), n) : run(StepOf<RmsProp, true, false>(), n);
  else
    momentum ? run(StepOf<RmsProp, false, true>(), n) : run(StepOf<RmsProp, false, false>(), n);
}
template <class Run>
void with_adagrad(const tn_call& call, const Run& run) {
  run(StepOf<Adagrad>(), AdagradNumbers(call));
}

}  // namespace tenon
#endif
