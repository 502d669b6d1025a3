// Optimizer steps: one dispatch for each parameter, all in one batch. The formulas are those of torch.optim; half types compute in f32.
// Lists arrive contiguous; the core writes back what was not.
#include <initializer_list>

#include "../common/step.hpp"
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

// Runs over parameters, gradients and the lists in `states`. All steps have sgd_step's positions for parameters and gradients.
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
  const SgdNumbers n(call);
  if (n.momentum == 0) return each_parameter(call, kSgd, {}, n.lr, 0.0, n.fresh, n.decay, 0.0, 0.0);
  each_parameter(call, n.nesterov ? kSgdNesterov : kSgdMomentum, {arg::sgd_step::momenta}, n.lr,
                 n.momentum, n.fresh, n.decay, n.momentum, n.first ? 1.0 : 0.0);
}

void run_adam(const tn_call& call, uint32_t) {
  using arg = tenon::arg::adam_step;
  const AdamNumbers n(call);
  const auto run = [&](Step step, std::initializer_list<uint32_t> states) {
    each_parameter(call, step, states, n.beta1, n.beta2, n.eps, n.decay, n.keep, n.size, n.root);
  };
  n.amsgrad ? run(kAdamMax, {arg::exp_avg, arg::exp_avg_sq, arg::max_exp_avg_sq})
            : run(kAdam, {arg::exp_avg, arg::exp_avg_sq});
}

void run_rmsprop(const tn_call& call, uint32_t) {
  using arg = tenon::arg::rmsprop_step;
  const RmsPropNumbers n(call);
  const auto run = [&](Step step, std::initializer_list<uint32_t> states) {
    each_parameter(call, step, states, n.lr, n.alpha, n.eps, n.decay, n.momentum);
  };
  if (n.centered)
    return n.momentum != 0 ? run(kRmsBoth, {arg::square_avg, arg::grad_avg, arg::momenta})
                           : run(kRmsCentered, {arg::square_avg, arg::grad_avg});
  n.momentum != 0 ? run(kRmsMomentum, {arg::square_avg, arg::momenta})
                  : run(kRms, {arg::square_avg});
}

void run_adagrad(const tn_call& call, uint32_t) {
  const AdagradNumbers n(call);
  each_parameter(call, kAdagrad, {arg::adagrad_step::sums}, n.lr, n.eps, n.decay);
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
