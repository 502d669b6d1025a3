// Optimizer steps: one pass over each parameter, all parameters spread over the threads together.
// Half types compute in f32.
#include "../../common/step.hpp"

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

template <class T, class Step>
void update(const Step& step_reference, const Parameter& parameter, int64_t begin, int64_t end) {
  using R = Compute<T>;
  constexpr uint32_t kStates = kStatesOf<Step>;
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
          return update<F16>(narrow, parameter, begin, end);
        default:
          return update<BF16>(narrow, parameter, begin, end);
      }
    });
    lists.finish();
  }
};

void sgd_step(const tn_call& call) { with_sgd(call, Run{call}); }
void adam_step(const tn_call& call) { with_adam(call, Run{call}); }
void rmsprop_step(const tn_call& call) { with_rmsprop(call, Run{call}); }
void adagrad_step(const tn_call& call) { with_adagrad(call, Run{call}); }

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
