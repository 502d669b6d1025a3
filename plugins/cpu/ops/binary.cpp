// Arithmetic of floats, two operands.
#include <cmath>

#include "../../common/nextafter.hpp"
#include "kernels.hpp"
#include "tenon/schemas.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/binary.cpp"
#include <hwy/foreach_target.h>

#include "simd/map-inl.hpp"
#include "simd/math-inl.hpp"
#include "simd/wide-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

#define TENON_CPU_OP2(Name, expression)                             \
  struct Name {                                                     \
    template <class D, class V>                                     \
    HWY_INLINE V operator()([[maybe_unused]] D d, V x, V y) const { \
      return expression;                                            \
    }                                                               \
  };

TENON_CPU_OP2(AddOp, hn::Add(x, y))
TENON_CPU_OP2(SubOp, hn::Sub(x, y))
TENON_CPU_OP2(MulOp, hn::Mul(x, y))
TENON_CPU_OP2(DivOp, hn::Div(x, y))
TENON_CPU_OP2(CopysignOp, hn::CopySign(x, y))
// NaN wins.
TENON_CPU_OP2(MaximumOp, hn::IfThenElse(hn::IsNaN(x), x, hn::IfThenElse(hn::Gt(x, y), x, y)))
TENON_CPU_OP2(MinimumOp, hn::IfThenElse(hn::IsNaN(x), x, hn::IfThenElse(hn::Lt(x, y), x, y)))

// The sign of the divisor, as in Python.
template <class T>
HWY_INLINE T python_remainder(T a, T b) {
  T r = std::fmod(a, b);
  if (r != 0 && (r < 0) != (b < 0)) r += b;
  return r == 0 ? std::copysign(T{0}, b) : r;
}
// As in Python, but for infinities, where the Array API has the quotient rounded down.
template <class T>
HWY_INLINE T floor_divide(T a, T b) {
  if (b == 0 || std::isinf(a) || std::isinf(b)) return std::floor(a / b);
  const T r = std::fmod(a, b);
  T quotient = (a - r) / b;
  if (r != 0 && (r < 0) != (b < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(T{0}, a / b);
  const T floored = std::floor(quotient);
  return quotient - floored > T{0.5} ? floored + 1 : floored;
}
// floor(a / b) and the remainder in f64 lanes. A quotient that was rounded up to a whole number is one too large and the
// remainder has the wrong sign, exactly: of operands that were f32 none of this rounds.
template <class D, class V>
struct FloorDivision {
  V quotient, remainder;
  bool exact;  // else lane by lane: large quotients, infinities, NaN, zeros
  HWY_INLINE FloorDivision(D d, V a, V b) {
    quotient = hn::Floor(hn::Div(a, b));
    exact = hn::AllTrue(d, hn::And(hn::Lt(hn::Abs(quotient), hn::Set(d, 0x1p24)),
                                   hn::Lt(hn::Abs(b), hn::Set(d, HUGE_VAL))));
    const V zero = hn::Zero(d), r = hn::NegMulAdd(quotient, b, a);
    const auto wrong = hn::And(hn::Ne(r, zero), hn::Xor(hn::Lt(r, zero), hn::Lt(b, zero)));
    remainder = hn::IfThenElse(wrong, hn::Add(r, b), r);
    quotient = hn::IfThenElse(wrong, hn::Sub(quotient, hn::Set(d, 1.0)), quotient);
  }
};
struct WideRemainder {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    const FloorDivision<D, V> division(d, a, b);
    if (!division.exact)
      return each_lane(d, a, b, [](double x, double y) { return python_remainder(x, y); });
    const V r = division.remainder, zero = hn::Zero(d);
    return hn::IfThenElse(hn::Eq(r, zero), hn::CopySign(zero, b), r);
  }
};
struct WideFloorDivide {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    const FloorDivision<D, V> division(d, a, b);
    if (!division.exact)
      return each_lane(d, a, b, [](double x, double y) {
        return static_cast<double>(floor_divide(static_cast<float>(x), static_cast<float>(y)));
      });
    const V q = division.quotient, zero = hn::Zero(d);
    return hn::IfThenElse(hn::Eq(q, zero), hn::CopySign(zero, hn::Div(a, b)), q);
  }
};
struct RemainderOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V y) const {
    if constexpr (sizeof(hn::TFromD<D>) == 4)
      return in_f64<WideRemainder>(d, x, y);
    else
      return each_lane(d, x, y, [](double a, double b) { return python_remainder(a, b); });
  }
};
struct FloorDivideOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V y) const {
    if constexpr (sizeof(hn::TFromD<D>) == 4)
      return in_f64<WideFloorDivide>(d, x, y);
    else
      return each_lane(d, x, y, [](double a, double b) { return floor_divide(a, b); });
  }
};
// log(exp x + exp y), by the larger of the two.
struct LogaddexpOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V y) const {
    const V larger = MaximumOp()(d, x, y);
    // 0 for two equal infinities as well.
    const V gap = hn::IfThenZeroElse(hn::Eq(x, y), hn::Abs(hn::Sub(x, y)));
    V rest;
    if constexpr (sizeof(hn::TFromD<D>) == 4)
      rest = log1p_unit_f32(d, exp_f32(d, hn::Neg(gap)));
    else
      rest = each_lane(d, gap, [](double v) { return std::log1p(std::exp(-v)); });
    return hn::Add(larger, rest);
  }
};

// Of the bits of a format, by those of its infinity.
template <class Bits, Bits Infinity>
struct NextafterOp {
  HWY_INLINE Bits operator()(Bits x, Bits y) const { return next_after(x, y, Infinity); }
};
template <class Bits, Bits Infinity>
void add_nextafter(KernelList& list, uint64_t dtypes) {
  add_loop<NextafterOp<Bits, Infinity>, Bits, Bits, Bits>(list, TN_SCHEMA_NEXTAFTER, dtypes);
}

void add_kernels(KernelList& list) {
  add_binary<AddOp, kGrainCopy>(list, TN_SCHEMA_ADD);
  add_binary<SubOp, kGrainCopy>(list, TN_SCHEMA_SUB);
  add_binary<MulOp, kGrainCopy>(list, TN_SCHEMA_MUL);
  add_binary<DivOp, kGrainCopy>(list, TN_SCHEMA_DIV);
  add_binary<MaximumOp, kGrainCopy>(list, TN_SCHEMA_MAXIMUM);
  add_binary<MinimumOp, kGrainCopy>(list, TN_SCHEMA_MINIMUM);
  add_binary<CopysignOp, kGrainCopy>(list, TN_SCHEMA_COPYSIGN);
  add_nextafter<uint16_t, 0x7c00>(list, TN_MASK(TN_DTYPE_F16));
  add_nextafter<uint16_t, 0x7f80>(list, TN_MASK(TN_DTYPE_BF16));
  add_nextafter<uint32_t, 0x7f800000>(list, TN_MASK(TN_DTYPE_F32));
  add_nextafter<uint64_t, 0x7ff0000000000000>(list, TN_MASK(TN_DTYPE_F64));
  add_binary<RemainderOp, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_REMAINDER);
  add_binary<FloorDivideOp, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_FLOOR_DIVIDE);
  add_binary<LogaddexpOp, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_LOGADDEXP);
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_binary_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
