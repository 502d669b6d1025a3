// where, where_between, clamp and its gradient, nan_to_num.
#include <cmath>
#include <limits>

#include "kernels.hpp"
#include "tenon/schemas.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/where.cpp"
#include <hwy/foreach_target.h>

#include "simd/map-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

// Elements are only moved, so their size says all.
struct Choose {
  template <class T>
  HWY_INLINE T operator()(uint8_t condition, T x, T y) const {
    return condition != 0 ? x : y;
  }
};
template <class T>
constexpr const Elementwise& kChoose = kLoop<Choose, kGrainCopy, T, uint8_t, T, T>;

// The condition is the first tensor, so kernels are told apart by the output's size.
const Elementwise* chosen(const void*, const tn_call& call) {
  switch (size_of(call.outs[0]->dtype)) {
    case 1:
      return &kChoose<uint8_t>;
    case 2:
      return &kChoose<uint16_t>;
    case 4:
      return &kChoose<uint32_t>;
    case 8:
      return &kChoose<uint64_t>;
    default:
      return &kChoose<Bytes16>;
  }
}
tn_status* run_where(void* self, void* plan, const tn_call* call) {
  return run_elementwise(const_cast<Elementwise*>(chosen(self, *call)), plan, call);
}

// An absent bound is `none`.
double bound(const tn_call& call, uint32_t i, double none) {
  return call.args[i].tag == TN_VALUE_NONE ? none : real_arg(call, i);
}
// NaN stays; where min is above max, max wins.
struct ClampFloat {
  double low, high;
  explicit ClampFloat(const tn_call& call)
      : low(bound(call, arg::clamp::min, -HUGE_VAL)),
        high(bound(call, arg::clamp::max, HUGE_VAL)) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    using T = hn::TFromD<D>;
    const V lower = hn::Set(d, static_cast<T>(low)), upper = hn::Set(d, static_cast<T>(high));
    const V raised = hn::IfThenElse(hn::Lt(x, lower), lower, x);
    const V result = hn::IfThenElse(hn::Gt(raised, upper), upper, raised);
    return hn::IfThenElse(hn::Eq(lower, lower), hn::IfThenElse(hn::Eq(upper, upper), result, upper),
                          lower);
  }
};
// A bound outside the dtype's range is the range's end.
template <class T>
struct ClampInt {
  T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  explicit ClampInt(const tn_call& call) {
    if (call.args[arg::clamp::min].tag != TN_VALUE_NONE)
      low = limited(call.args[arg::clamp::min].as.i);
    if (call.args[arg::clamp::max].tag != TN_VALUE_NONE)
      high = limited(call.args[arg::clamp::max].as.i);
  }
  static T limited(int64_t value) {
    if constexpr (std::is_same_v<T, uint64_t>)
      return value < 0 ? 0 : static_cast<T>(value);
    else
      return static_cast<T>(
          value < int64_t{std::numeric_limits<T>::min()}   ? std::numeric_limits<T>::min()
          : value > int64_t{std::numeric_limits<T>::max()} ? std::numeric_limits<T>::max()
                                                           : value);
  }
  HWY_INLINE T operator()(T x) const {
    const T raised = x < low ? low : x;
    return raised > high ? high : raised;
  }
};
// g except at and outside of the bounds; the comparisons are such that NaN is inside. An absent
// bound is NaN: nothing is outside of it.
struct ClampBackward {
  double low, high;
  explicit ClampBackward(const tn_call& call)
      : low(bound(call, arg::clamp_backward::min, NAN)),
        high(bound(call, arg::clamp_backward::max, NAN)) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V g, V x) const {
    using T = hn::TFromD<D>;
    const auto below = hn::Le(x, hn::Set(d, static_cast<T>(low)));
    return hn::IfThenZeroElse(hn::Or(below, hn::Ge(x, hn::Set(d, static_cast<T>(high)))), g);
  }
};
// Both bounds belong to the inside; NaN is outside.
struct WhereBetween {
  double low, high;
  explicit WhereBetween(const tn_call& call)
      : low(real_arg(call, arg::where_between::low)),
        high(real_arg(call, arg::where_between::high)) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V inside, V outside) const {
    using T = hn::TFromD<D>;
    const auto above = hn::Ge(x, hn::Set(d, static_cast<T>(low)));
    const auto below = hn::Le(x, hn::Set(d, static_cast<T>(high)));
    return hn::IfThenElse(hn::And(above, below), inside, outside);
  }
};
struct NanToNum {
  double nan, high, low;
  explicit NanToNum(const tn_call& call)
      : nan(real_arg(call, arg::nan_to_num::nan)),
        high(real_arg(call, arg::nan_to_num::posinf)),
        low(real_arg(call, arg::nan_to_num::neginf)) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    using T = hn::TFromD<D>;
    const V infinity = hn::Set(d, std::numeric_limits<T>::infinity());
    const V upper = hn::IfThenElse(hn::Eq(x, infinity), hn::Set(d, static_cast<T>(high)), x);
    const V both =
        hn::IfThenElse(hn::Eq(x, hn::Neg(infinity)), hn::Set(d, static_cast<T>(low)), upper);
    return hn::IfThenElse(hn::Eq(x, x), both, hn::Set(d, static_cast<T>(nan)));
  }
};
template <class T>
void add_clamp(KernelList& list) {
  add_loop<ClampInt<T>, T, T>(list, TN_SCHEMA_CLAMP, TN_MASK(kDtype<T>));
}

void add_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_WHERE,
            .dtypes = TN_MASK_BOOL,
            .run = run_where,
            .flags = kElementwiseFlags,
            .stretch = {chosen}});
  add_ternary<WhereBetween, kGrainCopy>(list, TN_SCHEMA_WHERE_BETWEEN);
  add_unary<NanToNum, kGrainCopy>(list, TN_SCHEMA_NAN_TO_NUM);
  add_unary<ClampFloat, kGrainCopy>(list, TN_SCHEMA_CLAMP);
  add_binary<ClampBackward, kGrainCopy>(list, TN_SCHEMA_CLAMP_BACKWARD);
  add_clamp<uint8_t>(list), add_clamp<uint16_t>(list), add_clamp<uint32_t>(list),
      add_clamp<uint64_t>(list);
  add_clamp<int8_t>(list), add_clamp<int16_t>(list), add_clamp<int32_t>(list),
      add_clamp<int64_t>(list);
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_where_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
