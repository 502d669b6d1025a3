// Optimizer steps: a dispatch for each parameter, all in one batch. The formulas are those of torch.optim; half types compute in
// f32. Lists arrive contiguous: the core writes back what was not.
#include <cmath>
#include <initializer_list>

#include "elementwise.hpp"
#include "shaders/step.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

enum Step : uint32_t {  // as shaders/step.comp
  kSgd,
  kSgdMomentum,
  kSgdNesterov,
  kAdam,
  kAdamMax,
  kRms,
  kRmsMomentum,
  kRmsCentered,
  kRmsBoth,
  kAdagrad
};

// Over parameters, gradients and the lists of `states`.
template <class... Real>
void each_parameter(const tn_call& call, Step step, std::initializer_list<uint32_t> states,
                    Real... numbers) {
  for (uint32_t k = 0; k < call.args[0].count; ++k) {
    const tn_view& param = *call.args[0].as.views[k];
    const Compute compute = compute_of(param.dtype);
    Launch launch(call, shaders::step, compute);
    launch.constant(step).constant(param.dtype).constant(static_cast<uint32_t>(states.size()));
    launch.out(param).in(*call.args[1].as.views[k]);
    for (const uint32_t list : states) launch.out(*call.args[list].as.views[k]);
    launch.word(numel(param));
    for (const uint32_t word : attributes(compute, numbers...)) launch.word(word);
    launch.elements(numel(param));
  }
}

void run_sgd(const tn_call& call, uint32_t) {
  const double lr = real_arg(call, 3), momentum = real_arg(call, 4), decay = real_arg(call, 6);
  const bool first = call.args[8].as.i != 0;
  const double fresh = first ? 1.0 : 1 - real_arg(call, 5);
  if (momentum == 0) return each_parameter(call, kSgd, {}, lr, 0.0, fresh, decay, 0.0, 0.0);
  const bool nesterov = call.args[7].as.i != 0;
  each_parameter(call, nesterov ? kSgdNesterov : kSgdMomentum, {2}, lr, momentum, fresh, decay,
                 momentum, first ? 1.0 : 0.0);
}

void run_adam(const tn_call& call, uint32_t) {
  const double step = static_cast<double>(call.args[5].as.i), lr = real_arg(call, 6),
               beta1 = real_arg(call, 7), beta2 = real_arg(call, 8), eps = real_arg(call, 9),
               weight_decay = real_arg(call, 10);
  const bool decoupled = call.args[11].as.i != 0;
  const double decay = decoupled ? 0 : weight_decay, keep = decoupled ? 1 - lr * weight_decay : 1,
               size = lr / (1 - std::pow(beta1, step)),
               root = 1 / std::sqrt(1 - std::pow(beta2, step));
  if (call.args[4].count == 0)
    return each_parameter(call, kAdam, {2, 3}, beta1, beta2, eps, decay, keep, size, root);
  each_parameter(call, kAdamMax, {2, 3, 4}, beta1, beta2, eps, decay, keep, size, root);
}

void run_rmsprop(const tn_call& call, uint32_t) {
  const bool centered = call.args[3].count != 0;
  const double momentum = real_arg(call, 9);
  const auto run = [&](Step step, std::initializer_list<uint32_t> states) {
    each_parameter(call, step, states, real_arg(call, 5), real_arg(call, 6), real_arg(call, 7),
                   real_arg(call, 8), momentum);
  };
  if (centered) return momentum != 0 ? run(kRmsBoth, {2, 3, 4}) : run(kRmsCentered, {2, 3});
  momentum != 0 ? run(kRmsMomentum, {2, 4}) : run(kRms, {2});
}

void run_adagrad(const tn_call& call, uint32_t) {
  const double past = static_cast<double>(call.args[3].as.i - 1);
  each_parameter(call, kAdagrad, {2}, real_arg(call, 4) / (1 + past * real_arg(call, 5)),
                 real_arg(call, 6), real_arg(call, 7));
}

}  // namespace

void add_step_kernels(KernelList& list) {
  const auto add = [&](std::string_view schema, void (*run)(const tn_call&, uint32_t)) {
    list.add({.schema = schema, .dtypes = kFloats | kDouble, .run = run});
  };
  add(TN_SCHEMA_SGD_STEP, run_sgd);
  add(TN_SCHEMA_ADAM_STEP, run_adam);
  add(TN_SCHEMA_RMSPROP_STEP, run_rmsprop);
  add(TN_SCHEMA_ADAGRAD_STEP, run_adagrad);
}

}  // namespace tenon::vulkan
