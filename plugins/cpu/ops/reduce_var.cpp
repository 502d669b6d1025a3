// var and std: blocks of 4096 are centred on their own mean and merged in f64, so a large mean
// costs no accuracy.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/reduce_var.cpp"
#include <hwy/foreach_target.h>

#include <cmath>

#include "moments-inl.hpp"
#include "tenon/schemas.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

template <class T>
struct Variance : MomentsOf<T> {
  double correction;
};

// NaN without elements, or where the correction leaves none; 0/0 and x/0 give what IEEE says. A deviation may fit where its square
// would not.
template <class Out, class T, bool kRoot>
void put(const Variance<T>& r, char* out, int64_t at, const Moments& state, int64_t count) {
  const double divisor = std::max(0.0, static_cast<double>(count) - r.correction);
  const double variance = state.m2 / divisor;
  reinterpret_cast<Out*>(out)[at] = static_cast<T>(kRoot ? std::sqrt(variance) : variance);
}

template <bool kRoot>
void run_variance(const tn_call& call) {
  static_assert(arg::var::x == arg::std::x && arg::var::correction == arg::std::correction);
  visit_dtype<TN_MASK_FLOAT>(input(call, arg::var::x).dtype, [&]<class T>(Tag<T>) {
    using C = Compute<T>;
    Variance<C> r;
    r.correction = real_arg(call, arg::var::correction);
    reduce_call(call, r, source_of<C, TN_MASK(kDtype<T>)>(kDtype<T>),
                put_each<Variance<C>, put<T, C, kRoot>>);
  });
}

void add_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_VAR, .dtypes = TN_MASK_FLOAT, .run = run_of<run_variance<false>>});
  list.add({.schema = TN_SCHEMA_STD, .dtypes = TN_MASK_FLOAT, .run = run_of<run_variance<true>>});
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_reduce_var_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
