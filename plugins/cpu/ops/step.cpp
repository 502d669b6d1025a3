// Optimizer steps: one pass over each parameter, all parameters spread over the threads together.
// The formulas are those of torch.optim. Half types compute in f32.
#include <cmath>

#include "kernels.hpp"
#include "ops/step_lists.hpp"
#include "tenon/schemas.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/step.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

// One element: a parameter, its gradient, its state. R is what it is computed in.
template <class R, bool Momentum, bool Nesterov>
struct Sgd {
  using arg = tenon::arg::sgd_step;
  static constexpr int kStates = Momentum ? 1 : 0;
  R lr, momentum, fresh, decay;
  explicit Sgd(const tn_call& call)
      : lr(static_cast<R>(real_arg(call, arg::lr))),
        momentum(
            static_cast<R>(call.args[arg::first].as.i != 0 ? 0.0 : real_arg(call, arg::momentum))),
        fresh(static_cast<R>(call.args[arg::first].as.i != 0 ? 1.0
                                                             : 1 - real_arg(call, arg::dampening))),
        decay(static_cast<R>(real_arg(call, arg::weight_decay))),
        nesterov_momentum(static_cast<R>(real_arg(call, arg::momentum))),
        first(call.args[arg::first].as.i != 0) {}
  HWY_INLINE void operator()(R& p, R g, R* s) const {
    g += decay * p;
    if constexpr (Momentum) {
      s[0] = (first ? R(0) : momentum * s[0]) + fresh * g;  // at first the memory is undefined
      g = Nesterov ? g + nesterov_momentum * s[0] : s[0];
    }
    p -= lr * g;
  }
  R nesterov_momentum;
  bool first;
};

template <class R, bool Amsgrad>
struct Adam {
  static constexpr int kStates = Amsgrad ? 3 : 2;
  R beta1, beta2, eps, decay, keep, size, root;
  explicit Adam(const tn_call& call) {
    using arg = tenon::arg::adam_step;
    const double step = static_cast<double>(call.args[arg::step].as.i),
                 lr = real_arg(call, arg::lr), b1 = real_arg(call, arg::beta1),
                 b2 = real_arg(call, arg::beta2), weight_decay = real_arg(call, arg::weight_decay);
    const bool decoupled = call.args[arg::decoupled].as.i != 0;
    beta1 = static_cast<R>(b1);
    beta2 = static_cast<R>(b2);
    eps = static_cast<R>(real_arg(call, arg::eps));
    decay = static_cast<R>(decoupled ? 0 : weight_decay);
    keep = static_cast<R>(decoupled ? 1 - lr * weight_decay : 1);
    size = static_cast<R>(lr / (1 - std::pow(b1, step)));
    root = static_cast<R>(1 / std::sqrt(1 - std::pow(b2, step)));
  }
  HWY_INLINE void operator()(R& p, R g, R* s) const {
    p *= keep;
    g += decay * p;
    s[0] += (1 - beta1) * (g - s[0]);
    s[1] = beta2 * s[1] + (1 - beta2) * g * g;
    R second = s[1];
    if constexpr (Amsgrad) second = s[2] = s[2] > second ? s[2] : second;
    p -= size * s[0] / (std::sqrt(second) * root + eps);
  }
};

template <class R, bool Centered, bool Momentum>
struct RmsProp {
  using arg = tenon::arg::rmsprop_step;
  static constexpr int kStates = 1 + (Centered ? 1 : 0) + (Momentum ? 1 : 0);
  R lr, alpha, eps, decay, momentum;
  explicit RmsProp(const tn_call& call)
      : lr(static_cast<R>(real_arg(call, arg::lr))),
        alpha(static_cast<R>(real_arg(call, arg::alpha))),
        eps(static_cast<R>(real_arg(call, arg::eps))),
        decay(static_cast<R>(real_arg(call, arg::weight_decay))),
        momentum(static_cast<R>(real_arg(call, arg::momentum))) {}
  HWY_INLINE void operator()(R& p, R g, R* s) const {
    g += decay * p;
    s[0] = alpha * s[0] + (1 - alpha) * g * g;
    R variance = s[0];
    if constexpr (Centered) {
      s[1] += (1 - alpha) * (g - s[1]);
      variance -= s[1] * s[1];
    }
    R change = g / (std::sqrt(variance) + eps);
    if constexpr (Momentum) change = s[kStates - 1] = momentum * s[kStates - 1] + change;
    p -= lr * change;
  }
};

template <class R>
struct Adagrad {
  using arg = tenon::arg::adagrad_step;
  static constexpr int kStates = 1;
  R lr, eps, decay;
  explicit Adagrad(const tn_call& call)
      : lr(static_cast<R>(real_arg(call, arg::lr) /
                          (1 + static_cast<double>(call.args[arg::step].as.i - 1) *
                                   real_arg(call, arg::lr_decay)))),
        eps(static_cast<R>(real_arg(call, arg::eps))),
        decay(static_cast<R>(real_arg(call, arg::weight_decay))) {}
  HWY_INLINE void operator()(R& p, R g, R* s) const {
    g += decay * p;
    s[0] += g * g;
    p -= lr * g / (std::sqrt(s[0]) + eps);
  }
};

template <class T, class Step>
void update(const Step& step_reference, const Parameter& parameter, int64_t begin, int64_t end) {
  using R = Compute<T>;
  constexpr int kStates = Step::kStates;
  const Step step = step_reference;
  T* __restrict p = reinterpret_cast<T*>(parameter.data[0]);
  const T* __restrict g = reinterpret_cast<const T*>(parameter.data[1]);
  T* __restrict s0 = reinterpret_cast<T*>(parameter.data[2]);
  T* __restrict s1 = reinterpret_cast<T*>(parameter.data[3]);
  T* __restrict s2 = reinterpret_cast<T*>(parameter.data[4]);
  for (int64_t i = begin; i < end; ++i) {
    R value = static_cast<R>(p[i]), state[3] = {};
    if constexpr (kStates > 0) state[0] = static_cast<R>(s0[i]);
    if constexpr (kStates > 1) state[1] = static_cast<R>(s1[i]);
    if constexpr (kStates > 2) state[2] = static_cast<R>(s2[i]);
    step(value, static_cast<R>(g[i]), state);
    p[i] = static_cast<T>(value);
    if constexpr (kStates > 0) s0[i] = static_cast<T>(state[0]);
    if constexpr (kStates > 1) s1[i] = static_cast<T>(state[1]);
    if constexpr (kStates > 2) s2[i] = static_cast<T>(state[2]);
  }
}

// Step<R> over the lists that it needs: `states` and, at the same places in every step, parameters
// and gradients.
template <template <class> class Step>
void run_step(const tn_call& call, std::vector<uint32_t> states) {
  states.insert(states.begin(), {arg::sgd_step::params, arg::sgd_step::grads});
  StepLists lists(call, std::move(states));
  const Step<float> narrow(call);
  const Step<double> wide(call);
  each_part(lists, [&](const Parameter& parameter, int64_t begin, int64_t end) HWY_ATTR {
    switch (parameter.dtype) {
      case TN_DTYPE_F64:
        return update<double>(wide, parameter, begin, end);
      case TN_DTYPE_F32:
        return update<float>(narrow, parameter, begin, end);
      case TN_DTYPE_F16:
        return update<F16>(narrow, parameter, begin, end);
      default:
        return update<BF16>(narrow, parameter, begin, end);
    }
  });
  lists.finish();
}

template <class R>
using SgdPlain = Sgd<R, false, false>;
template <class R>
using SgdMomentum = Sgd<R, true, false>;
template <class R>
using SgdNesterov = Sgd<R, true, true>;
template <class R>
using AdamPlain = Adam<R, false>;
template <class R>
using AdamMax = Adam<R, true>;
template <class R>
using RmsPlain = RmsProp<R, false, false>;
template <class R>
using RmsMomentum = RmsProp<R, false, true>;
template <class R>
using RmsCentered = RmsProp<R, true, false>;
template <class R>
using RmsBoth = RmsProp<R, true, true>;

void sgd_step(const tn_call& call) {
  using arg = tenon::arg::sgd_step;
  if (real_arg(call, arg::momentum) == 0) return run_step<SgdPlain>(call, {});
  if (call.args[arg::nesterov].as.i != 0) return run_step<SgdNesterov>(call, {arg::momenta});
  run_step<SgdMomentum>(call, {arg::momenta});
}
void adam_step(const tn_call& call) {
  using arg = tenon::arg::adam_step;
  if (call.args[arg::max_exp_avg_sq].count == 0)
    return run_step<AdamPlain>(call, {arg::exp_avg, arg::exp_avg_sq});
  run_step<AdamMax>(call, {arg::exp_avg, arg::exp_avg_sq, arg::max_exp_avg_sq});
}
void rmsprop_step(const tn_call& call) {
  using arg = tenon::arg::rmsprop_step;
  const bool centered = call.args[arg::grad_avg].count != 0,
             momentum = real_arg(call, arg::momentum) != 0;
  if (centered)
    return momentum ? run_step<RmsBoth>(call, {arg::square_avg, arg::grad_avg, arg::momenta})
                    : run_step<RmsCentered>(call, {arg::square_avg, arg::grad_avg});
  momentum ? run_step<RmsMomentum>(call, {arg::square_avg, arg::momenta})
           : run_step<RmsPlain>(call, {arg::square_avg});
}
void adagrad_step(const tn_call& call) { run_step<Adagrad>(call, {arg::adagrad_step::sums}); }

void add_kernels(KernelList& list) {
  const auto add = [&](std::string_view schema, auto run) {
    list.add({.schema = schema, .dtypes = TN_MASK_FLOAT, .run = run, .flags = TN_KERNEL_STRIDED});
  };
  add(TN_SCHEMA_SGD_STEP, run_of<sgd_step>);
  add(TN_SCHEMA_ADAM_STEP, run_of<adam_step>);
  add(TN_SCHEMA_RMSPROP_STEP, run_of<rmsprop_step>);
  add(TN_SCHEMA_ADAGRAD_STEP, run_of<adagrad_step>);
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_step_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
