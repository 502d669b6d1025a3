// Optimizer steps: one launch updates all parameters of a dtype in one pass. Half types compute in f32. Lists arrive contiguous; the core
// writes back what was not.
#include "capture.hpp"
#include "tensor_list.hpp"

#include "../../common/step.hpp"

namespace tenon::gpu {
namespace {

// Lists: parameters, states, gradients.
template <class Step, class T>
GPU_DEVICE void take_step(const Step& step, const TensorTable<T, kStatesOf<Step> + 2>& table) {
  constexpr uint32_t kStates = kStatesOf<Step>;
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

template <class T, class Step>
GPU_KERNEL step_parameters(Step step, TensorTable<T, kStatesOf<Step> + 2> table) {
  take_step(step, table);
}

// For Adam, what depends on the step's number and rate is in device memory, where count_step put it.
template <class T, class Step>
GPU_KERNEL step_by_count(Step step, Ptr<const double> now,
                         TensorTable<T, kStatesOf<Step> + 2> table) {
  using R = Compute<T>;
  const double keep = now[0], size = now[1], root = now[2];
  step.keep = static_cast<R>(keep);
  step.size = static_cast<R>(size);
  step.root = static_cast<R>(root);
  take_step(step, table);
}
GPU_KERNEL count_step(AdamNumbers numbers, Ptr<int64_t> step, Ptr<const double> lr,
                      Ptr<double> now) {
  if (first_thread() != 0) return;
  const int64_t before = step[0];
  const double rate = lr[0];
  const AdamOfStep found = numbers.of_step(static_cast<double>(before + 1), rate);
  step[0] = before + 1;
  now[0] = found.keep;
  now[1] = found.size;
  now[2] = found.root;
}

// Calls fn(table, blocks) for all parameters of a dtype. The arguments of all steps have sgd_step's positions for parameters and gradients.
template <class T, class Step, class Fn>
void for_parameters(const tn_call& call, const Fn& fn) {
  constexpr uint32_t kStates = kStatesOf<Step>;
  uint32_t lists[kStates + 2] = {arg::sgd_step::params}, blocks_before = 0;
  for (uint32_t k = 0; k < kStates; ++k) lists[1 + k] = Step::states()[k];
  lists[kStates + 1] = arg::sgd_step::grads;
  for_tables<T>(call, lists, blocks_before, fn);
}

// Applies a formula of step.hpp to the parameters of all dtypes.
struct Run {
  const tn_call& call;
  template <class Formula, class Numbers>
  void operator()(Formula, const Numbers& numbers) const {
    with_each_type(Floats{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      using Step = typename Formula::template in<Compute<T>>;
      const Step step(numbers);
      for_parameters<T, Step>(call, [&](const auto& table, uint32_t blocks) {
        launch(call, {{blocks, 1, 1}}, step_parameters<T, Step>, step, table);
      });
    });
  }
};
struct RunByCount {
  const tn_call& call;
  template <class Formula>
  void operator()(Formula, const AdamNumbers& numbers) const {
    const Ptr<double> now = scratch<double>(call, 0, 3);
    with_each_type(Floats{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      using Step = typename Formula::template in<Compute<T>>;
      const Step step(numbers);
      for_parameters<T, Step>(call, [&](const auto& table, uint32_t blocks) {
        launch(call, {{blocks, 1, 1}}, step_by_count<T, Step>, step, Ptr<const double>(now), table);
      });
    });
  }
};

// A graph would repeat the step with this number.
void refuse_counted(const tn_call& call) {
  refuse_captured(
      stream_of(call).handle(),
      "an optimizer's step that depends on its number (adam_step_counted has it on the device)");
}

void run_sgd(const tn_call& call, uint32_t) {
  const SgdNumbers n(call);
  if (n.momentum != 0 && n.first) refuse_counted(call);
  with_sgd(call, Run{call});
}
void run_adam(const tn_call& call, uint32_t) {
  refuse_counted(call);
  with_adam(AdamNumbers(call), Run{call});
}
void run_adam_counted(const tn_call& call, uint32_t) {
  using arg = tenon::arg::adam_step_counted;
  const AdamNumbers numbers(call, 1, 0);  // the numbers of its step are on the device
  launch(call, {{1, 1, 1}, {1, 1, 1}}, count_step, numbers, out<int64_t>(input(call, arg::step)),
         in<double>(input(call, arg::lr)), scratch<double>(call, 0, 3));
  with_adam(numbers, RunByCount{call});
}
uint64_t counted_scratch(const tn_call&, uint32_t) { return 3 * sizeof(double); }
void run_rmsprop(const tn_call& call, uint32_t) { with_rmsprop(call, Run{call}); }
void run_adagrad(const tn_call& call, uint32_t) {
  if (AdagradNumbers(call).decays) refuse_counted(call);
  with_adagrad(call, Run{call});
}

}  // namespace

void add_step_kernels(KernelList& list) {
  const auto add = [&](std::string_view schema, void (*run)(const tn_call&, uint32_t)) {
    list.add({.schema = schema, .dtypes = Floats::kMask, .run = run});
  };
  add(TN_SCHEMA_SGD_STEP, run_sgd);
  add(TN_SCHEMA_ADAM_STEP, run_adam);
  list.add({.schema = TN_SCHEMA_ADAM_STEP_COUNTED,
            .dtypes = Floats::kMask,
            .run = run_adam_counted,
            .scratch = counted_scratch});
  add(TN_SCHEMA_RMSPROP_STEP, run_rmsprop);
  add(TN_SCHEMA_ADAGRAD_STEP, run_adagrad);
}

}  // namespace tenon::gpu
