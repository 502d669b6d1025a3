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

// Over parameters and gradients, which all steps have where sgd_step has them, and the lists of `states`.
template <class... Real>
void each_parameter(const tn_call& call, Step step, std::initializer_list<uint32_t> states,
                    Real... numbers) {
  for (uint32_t k = 0; k < call.args[arg::sgd_step::params].count; ++k) {
    const tn_view& param = *call.args[arg::sgd_step::params].as.views[k];
    const Compute compute = compute_of(param.dtype);
    Launch launch(call, shaders::step, compute);
    launch.constant(step).constant(param.dtype).constant(static_cast<uint32_t>(states.size()));
    launch.out(param).in(*call.args[arg::sgd_step::grads].as.views[k]);
    for (const uint32_t list : states) launch.out(*call.args[list].as.views[k]);
    launch.word(numel(param));
    for (const uint32_t word : attributes(compute, numbers...)) launch.word(word);
    launch.elements(numel(param));
  }
}

void run_sgd(const tn_call& call, uint32_t) {
  using arg = tenon::arg::sgd_step;
  const double lr = real_arg(call, arg::lr), momentum = real_arg(call, arg::momentum),
               decay = real_arg(call, arg::weight_decay);
  const bool first = call.args[arg::first].as.i != 0;
  const double fresh = first ? 1.0 : 1 - real_arg(call, arg::dampening);
  if (momentum == 0) return each_parameter(call, kSgd, {}, lr, 0.0, fresh, decay, 0.0, 0.0);
  const bool nesterov = call.args[arg::nesterov].as.i != 0;
  each_parameter(call, nesterov ? kSgdNesterov : kSgdMomentum, {arg::momenta}, lr, momentum, fresh,
                 decay, momentum, first ? 1.0 : 0.0);
}

void run_adam(const tn_call& call, uint32_t) {
  using arg = tenon::arg::adam_step;
  const double step = static_cast<double>(call.args[arg::step].as.i), lr = real_arg(call, arg::lr),
               beta1 = real_arg(call, arg::beta1), beta2 = real_arg(call, arg::beta2),
               eps = real_arg(call, arg::eps), weight_decay = real_arg(call, arg::weight_decay);
  const bool decoupled = call.args[arg::decoupled].as.i != 0;
  const double decay = decoupled ? 0 : weight_decay, keep = decoupled ? 1 - lr * weight_decay : 1,
               size = lr / (1 - std::pow(beta1, step)),
               root = 1 / std::sqrt(1 - std::pow(beta2, step));
  if (call.args[arg::max_exp_avg_sq].count == 0)
    return each_parameter(call, kAdam, {arg::exp_avg, arg::exp_avg_sq}, beta1, beta2, eps, decay,
                          keep, size, root);
  each_parameter(call, kAdamMax, {arg::exp_avg, arg::exp_avg_sq, arg::max_exp_avg_sq}, beta1, beta2,
                 eps, decay, keep, size, root);
}

void run_rmsprop(const tn_call& call, uint32_t) {
  using arg = tenon::arg::rmsprop_step;
  const bool centered = call.args[arg::grad_avg].count != 0;
  const double momentum = real_arg(call, arg::momentum);
  const auto run = [&](Step step, std::initializer_list<uint32_t> states) {
    each_parameter(call, step, states, real_arg(call, arg::lr), real_arg(call, arg::alpha),
                   real_arg(call, arg::eps), real_arg(call, arg::weight_decay), momentum);
  };
  if (centered)
    return momentum != 0 ? run(kRmsBoth, {arg::square_avg, arg::grad_avg, arg::momenta})
                         : run(kRmsCentered, {arg::square_avg, arg::grad_avg});
  momentum != 0 ? run(kRmsMomentum, {arg::square_avg, arg::momenta}) : run(kRms, {arg::square_avg});
}

void run_adagrad(const tn_call& call, uint32_t) {
  using arg = tenon::arg::adagrad_step;
  const double past = static_cast<double>(call.args[arg::step].as.i - 1);
  each_parameter(call, kAdagrad, {arg::sums},
                 real_arg(call, arg::lr) / (1 + past * real_arg(call, arg::lr_decay)),
                 real_arg(call, arg::eps), real_arg(call, arg::weight_decay));
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
