// Optimizer steps: one pass over each parameter, all parameters spread over the threads together.
// Half types compute in f32.
#include "../../common/step.hpp"

#include "kernels.hpp"
#include "ops/halves.hpp"
#include "ops/step_lists.hpp"
#include "tenon/schemas.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/step.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

template <class T, class Step>
void update(const Step& step_reference, const Parameter& parameter, int64_t begin, int64_t end) {
  constexpr uint32_t kStates = kStatesOf<Step>;
  const Step step = step_reference;
  T* __restrict p = reinterpret_cast<T*>(parameter.data[0]);
  const T* __restrict g = reinterpret_cast<const T*>(parameter.data[1]);
  T* __restrict s0 = reinterpret_cast<T*>(parameter.data[2]);
  T* __restrict s1 = reinterpret_cast<T*>(parameter.data[3]);
  T* __restrict s2 = reinterpret_cast<T*>(parameter.data[4]);
  for (int64_t i = begin; i < end; ++i) {
    T value = p[i], state[3] = {};
    if constexpr (kStates > 0) state[0] = s0[i];
    if constexpr (kStates > 1) state[1] = s1[i];
    if constexpr (kStates > 2) state[2] = s2[i];
    step(value, g[i], state);
    p[i] = value;
    if constexpr (kStates > 0) s0[i] = state[0];
    if constexpr (kStates > 1) s1[i] = state[1];
    if constexpr (kStates > 2) s2[i] = state[2];
  }
}

constexpr uint32_t kGradientList = 1;  // of a Parameter's, the one that is only read

// Half types pass through floats, block by block, which vectors convert.
template <class T, class Step>
void update_halves(const Step& step, const Parameter& parameter, int64_t begin, int64_t end) {
  constexpr int64_t kBlock = 256;
  constexpr uint32_t kLists = 2 + kStatesOf<Step>;
  float values[kLists][kBlock];
  for (int64_t at = begin; at < end; at += kBlock) {
    const int64_t n = std::min(kBlock, end - at);
    Parameter block{TN_DTYPE_F32, n, {}};
    for (uint32_t k = 0; k < kLists; ++k) {
      widen_range(reinterpret_cast<const T*>(parameter.data[k]) + at, values[k], n);
      block.data[k] = reinterpret_cast<char*>(values[k]);
    }
    update<float>(step, block, 0, n);
    for (uint32_t k = 0; k < kLists; ++k)
      if (k != kGradientList)
        round_range(values[k], reinterpret_cast<T*>(parameter.data[k]) + at, n);
  }
}

// A formula of step.hpp over the parameters of a call. These and gradients are where sgd_step has them.
struct Run {
  const tn_call& call;
  template <class Formula, class Numbers>
  void operator()(Formula, const Numbers& numbers) const {
    const typename Formula::template in<float> narrow(numbers);
    const typename Formula::template in<double> wide(numbers);
    std::vector<uint32_t> arguments{arg::sgd_step::params, arg::sgd_step::grads};
    for (const uint32_t state : narrow.states()) arguments.push_back(state);
    StepLists lists(call, std::move(arguments));
    each_part(lists, [&](const Parameter& parameter, int64_t begin, int64_t end) HWY_ATTR {
      switch (parameter.dtype) {
        case TN_DTYPE_F64:
          return update<double>(wide, parameter, begin, end);
        case TN_DTYPE_F32:
          return update<float>(narrow, parameter, begin, end);
        case TN_DTYPE_F16:
          return update_halves<F16>(narrow, parameter, begin, end);
        default:
          return update_halves<BF16>(narrow, parameter, begin, end);
      }
    });
    lists.finish();
  }
};

void sgd_step(const tn_call& call) { with_sgd(call, Run{call}); }
void adam_step(const tn_call& call) { with_adam(AdamNumbers(call), Run{call}); }
void adam_step_counted(const tn_call& call) {
  using arg = tenon::arg::adam_step_counted;
  const double rate = *static_cast<const double*>(call.args[arg::lr].as.view->data);
  const int64_t step = ++*static_cast<int64_t*>(call.args[arg::step].as.view->data);
  with_adam(AdamNumbers(call, static_cast<double>(step), rate), Run{call});
}
void rmsprop_step(const tn_call& call) { with_rmsprop(call, Run{call}); }
void adagrad_step(const tn_call& call) { with_adagrad(call, Run{call}); }

void add_kernels(KernelList& list) {
  const auto add = [&](std::string_view schema, auto run) {
    list.add({.schema = schema, .dtypes = TN_MASK_FLOAT, .run = run, .flags = TN_KERNEL_STRIDED});
  };
  add(TN_SCHEMA_SGD_STEP, run_of<sgd_step>);
  add(TN_SCHEMA_ADAM_STEP, run_of<adam_step>);
  add(TN_SCHEMA_ADAM_STEP_COUNTED, run_of<adam_step_counted>);
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
