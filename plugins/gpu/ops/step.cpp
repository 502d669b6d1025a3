// Optimizer steps: all parameters of a dtype in one launch, one pass over them. The formulas are those of torch.optim; half types
// compute in f32. Lists arrive contiguous: the core writes back what was not.
#include "capture.hpp"
#include "tensor_list.hpp"

namespace tenon::gpu {
namespace {

// One element: a parameter, its gradient, its states. R is what it is computed in.
template <class R>
struct SgdNumbers {
  using arg = tenon::arg::sgd_step;
  R lr, momentum, fresh, decay, nesterov_momentum;
  bool first;
  explicit SgdNumbers(const tn_call& call)
      : lr(static_cast<R>(real_arg(call, arg::lr))),
        momentum(static_cast<R>(real_arg(call, arg::momentum))),
        fresh(static_cast<R>(int_arg(call, arg::first) != 0 ? 1.0
                                                            : 1 - real_arg(call, arg::dampening))),
        decay(static_cast<R>(real_arg(call, arg::weight_decay))),
        nesterov_momentum(int_arg(call, arg::nesterov) != 0 ? momentum : R(0)),
        first(int_arg(call, arg::first) != 0) {}
};
template <class R>
struct Sgd {
  static constexpr uint32_t kStates = 0;
  SgdNumbers<R> n;
  explicit Sgd(const tn_call& call) : n(call) {}
  GPU_FN void operator()(R& p, R g, R*) const { p -= n.lr * (g + n.decay * p); }
};
template <class R>
struct SgdMomentum {
  static constexpr uint32_t kStates = 1;
  SgdNumbers<R> n;
  explicit SgdMomentum(const tn_call& call) : n(call) {}
  GPU_FN void operator()(R& p, R g, R* s) const {
    g += n.decay * p;
    s[0] = (n.first ? R(0) : n.momentum * s[0]) + n.fresh * g;  // at first the memory is undefined
    p -= n.lr * (n.nesterov_momentum != R(0) ? g + n.nesterov_momentum * s[0] : s[0]);
  }
};

template <class R, bool kMax>
struct Adam {
  static constexpr uint32_t kStates = kMax ? 3 : 2;
  R beta1, beta2, eps, decay, keep, size, root;
  explicit Adam(const tn_call& call) {
    using arg = tenon::arg::adam_step;
    const double step = static_cast<double>(int_arg(call, arg::step)), lr = real_arg(call, arg::lr),
                 b1 = real_arg(call, arg::beta1), b2 = real_arg(call, arg::beta2),
                 weight_decay = real_arg(call, arg::weight_decay);
    const bool decoupled = int_arg(call, arg::decoupled) != 0;
    beta1 = static_cast<R>(b1);
    beta2 = static_cast<R>(b2);
    eps = static_cast<R>(real_arg(call, arg::eps));
    decay = static_cast<R>(decoupled ? 0 : weight_decay);
    keep = static_cast<R>(decoupled ? 1 - lr * weight_decay : 1);
    size = static_cast<R>(lr / (1 - std::pow(b1, step)));
    root = static_cast<R>(1 / std::sqrt(1 - std::pow(b2, step)));
  }
  GPU_FN void operator()(R& p, R g, R* s) const {
    p *= keep;
    g += decay * p;
    s[0] += (R(1) - beta1) * (g - s[0]);
    s[1] = beta2 * s[1] + (R(1) - beta2) * g * g;
    R second = s[1];
    if constexpr (kMax) second = s[2] = s[2] > second ? s[2] : second;
    p -= size * s[0] / (std::sqrt(second) * root + eps);
  }
};
template <class R>
using AdamPlain = Adam<R, false>;
template <class R>
using AdamMax = Adam<R, true>;

// With momentum the memory is the last state.
template <class R, bool kCentered, bool kMomentum>
struct RmsProp {
  static constexpr uint32_t kStates = 1 + (kCentered ? 1 : 0) + (kMomentum ? 1 : 0);
  using arg = tenon::arg::rmsprop_step;
  R lr, alpha, eps, decay, momentum;
  explicit RmsProp(const tn_call& call)
      : lr(static_cast<R>(real_arg(call, arg::lr))),
        alpha(static_cast<R>(real_arg(call, arg::alpha))),
        eps(static_cast<R>(real_arg(call, arg::eps))),
        decay(static_cast<R>(real_arg(call, arg::weight_decay))),
        momentum(static_cast<R>(real_arg(call, arg::momentum))) {}
  GPU_FN void operator()(R& p, R g, R* s) const {
    g += decay * p;
    s[0] = alpha * s[0] + (R(1) - alpha) * g * g;
    R variance = s[0];
    if constexpr (kCentered) {
      s[1] += (R(1) - alpha) * (g - s[1]);
      variance -= s[1] * s[1];
    }
    R change = g / (std::sqrt(variance) + eps);
    if constexpr (kMomentum) change = s[kStates - 1] = momentum * s[kStates - 1] + change;
    p -= lr * change;
  }
};
template <class R>
using RmsPlain = RmsProp<R, false, false>;
template <class R>
using RmsMomentum = RmsProp<R, false, true>;
template <class R>
using RmsCentered = RmsProp<R, true, false>;
template <class R>
using RmsBoth = RmsProp<R, true, true>;

template <class R>
struct Adagrad {
  static constexpr uint32_t kStates = 1;
  using arg = tenon::arg::adagrad_step;
  R lr, eps, decay;
  explicit Adagrad(const tn_call& call)
      : lr(static_cast<R>(real_arg(call, arg::lr) /
                          (1 + static_cast<double>(int_arg(call, arg::step) - 1) *
                                   real_arg(call, arg::lr_decay)))),
        eps(static_cast<R>(real_arg(call, arg::eps))),
        decay(static_cast<R>(real_arg(call, arg::weight_decay))) {}
  GPU_FN void operator()(R& p, R g, R* s) const {
    g += decay * p;
    s[0] += g * g;
    p -= lr * g / (std::sqrt(s[0]) + eps);
  }
};

// Lists: parameters, states, gradients.
template <class T, class Step>
GPU_KERNEL step_parameters(Step step, TensorTable<T, Step::kStates + 2> table) {
  constexpr uint32_t kStates = Step::kStates;
  each_elements<kStates + 1>(table, [&](Vec<T, 16 / sizeof(T)>* values, uint32_t) {
    for (uint32_t j = 0; j < 16 / sizeof(T); ++j) {
      Compute<T> p = widen(values[0].at[j]), s[kStates + 1];
      for (uint32_t k = 0; k < kStates; ++k) s[k] = widen(values[1 + k].at[j]);
      step(p, widen(values[1 + kStates].at[j]), s);
      values[0].at[j] = narrow<T>(p);
      for (uint32_t k = 0; k < kStates; ++k) values[1 + k].at[j] = narrow<T>(s[k]);
    }
  });
}

template <template <class> class Step, uint32_t kLists>
void run_step(const tn_call& call, const uint32_t (&lists)[kLists]) {
  with_each_type(Floats{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Own = Step<Compute<T>>;
    static_assert(Own::kStates + 2 == kLists);
    const Own step(call);
    uint32_t blocks_before = 0;
    for_tables<T>(call, lists, blocks_before, [&](const auto& table, uint32_t blocks) {
      launch(call, {{blocks, 1, 1}}, step_parameters<T, Own>, step, table);
    });
  });
}

// A graph would take the step of this number again and again.
void refuse_counted(const tn_call& call) {
  refuse_captured(stream_of(call).handle(), "an optimizer's step that depends on its number");
}

void run_sgd(const tn_call& call, uint32_t) {
  using arg = tenon::arg::sgd_step;
  if (real_arg(call, arg::momentum) == 0) return run_step<Sgd>(call, {arg::params, arg::grads});
  if (int_arg(call, arg::first) != 0) refuse_counted(call);
  run_step<SgdMomentum>(call, {arg::params, arg::momenta, arg::grads});
}
void run_adam(const tn_call& call, uint32_t) {
  using arg = tenon::arg::adam_step;
  refuse_counted(call);
  if (call.args[arg::max_exp_avg_sq].count == 0)
    return run_step<AdamPlain>(call, {arg::params, arg::exp_avg, arg::exp_avg_sq, arg::grads});
  run_step<AdamMax>(call,
                    {arg::params, arg::exp_avg, arg::exp_avg_sq, arg::max_exp_avg_sq, arg::grads});
}
void run_rmsprop(const tn_call& call, uint32_t) {
  using arg = tenon::arg::rmsprop_step;
  const bool centered = call.args[arg::grad_avg].count != 0,
             momentum = real_arg(call, arg::momentum) != 0;
  if (centered && momentum)
    return run_step<RmsBoth>(
        call, {arg::params, arg::square_avg, arg::grad_avg, arg::momenta, arg::grads});
  if (centered)
    return run_step<RmsCentered>(call, {arg::params, arg::square_avg, arg::grad_avg, arg::grads});
  if (momentum)
    return run_step<RmsMomentum>(call, {arg::params, arg::square_avg, arg::momenta, arg::grads});
  run_step<RmsPlain>(call, {arg::params, arg::square_avg, arg::grads});
}
void run_adagrad(const tn_call& call, uint32_t) {
  using arg = tenon::arg::adagrad_step;
  if (real_arg(call, arg::lr_decay) != 0) refuse_counted(call);
  run_step<Adagrad>(call, {arg::params, arg::sums, arg::grads});
}

}  // namespace

void add_step_kernels(KernelList& list) {
  const auto add = [&](std::string_view schema, void (*run)(const tn_call&, uint32_t)) {
    list.add({.schema = schema, .dtypes = Floats::kMask, .run = run});
  };
  add(TN_SCHEMA_SGD_STEP, run_sgd);
  add(TN_SCHEMA_ADAM_STEP, run_adam);
  add(TN_SCHEMA_RMSPROP_STEP, run_rmsprop);
  add(TN_SCHEMA_ADAGRAD_STEP, run_adagrad);
}

}  // namespace tenon::gpu
