// Angles, and powers of two floats, by way of f64.
#include <cmath>

#include "kernels.hpp"
#include "tenon/schemas.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/unary_trigonometry.cpp"
#include <hwy/foreach_target.h>

#include "simd/map-inl.hpp"
#include "simd/math-inl.hpp"
#include "simd/wide-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

#define TENON_CPU_TRIG1(Name, Wide, scalar)                                            \
  struct Name {                                                                        \
    template <class D, class V>                                                        \
    HWY_INLINE V operator()(D d, V x) const {                                          \
      const auto by_library = [](double v) { return static_cast<double>(scalar(v)); }; \
      if constexpr (sizeof(hn::TFromD<D>) == 4)                                        \
        return trig_f32<Wide>(d, x, by_library);                                       \
      else                                                                             \
        return each_lane(d, x, by_library);                                            \
    }                                                                                  \
  };
#define TENON_CPU_ANGLE1(Name, Wide, scalar)                                             \
  struct Name {                                                                          \
    template <class D, class V>                                                          \
    HWY_INLINE V operator()(D d, V x) const {                                            \
      if constexpr (sizeof(hn::TFromD<D>) == 4)                                          \
        return in_f64<Wide>(d, x);                                                       \
      else                                                                               \
        return each_lane(d, x, [](double v) { return static_cast<double>(scalar(v)); }); \
    }                                                                                    \
  };
#define TENON_CPU_ANGLE2(Name, Wide, scalar)                                                    \
  struct Name {                                                                                 \
    template <class D, class V>                                                                 \
    HWY_INLINE V operator()(D d, V x, V y) const {                                              \
      if constexpr (sizeof(hn::TFromD<D>) == 4)                                                 \
        return in_f64<Wide>(d, x, y);                                                           \
      else                                                                                      \
        return each_lane(d, x, y,                                                               \
                         [](double a, double b) { return static_cast<double>(scalar(a, b)); }); \
    }                                                                                           \
  };

TENON_CPU_TRIG1(SinOp, WideSin, std::sin)
TENON_CPU_TRIG1(CosOp, WideCos, std::cos)
TENON_CPU_TRIG1(TanOp, WideTan, std::tan)
TENON_CPU_ANGLE1(AsinOp, WideAsin, std::asin)
TENON_CPU_ANGLE1(AcosOp, WideAcos, std::acos)
TENON_CPU_ANGLE1(AtanOp, WideAtan, std::atan)
TENON_CPU_ANGLE2(Atan2Op, WideAtan2, std::atan2)
TENON_CPU_ANGLE2(HypotOp, WideHypot, std::hypot)

// The exponents that programs use most are plain products and roots, whatever stands in the lanes beside.
struct PowOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V y) const {
    const V square = hn::Mul(x, x);
    const auto is = [&](double number) HWY_ATTR {
      return hn::Eq(y, hn::Set(d, static_cast<hn::TFromD<D>>(number)));
    };
    const auto is_square = is(2), is_cube = is(3), is_inverse = is(-1);
    if (hn::AllTrue(d, is_square)) return square;
    const V cube = hn::Mul(square, x), one = hn::Set(d, 1), inverse = hn::Div(one, x);
    if (hn::AllTrue(d, is_cube)) return cube;
    if (hn::AllTrue(d, is_inverse)) return inverse;
    const auto is_root = is(0.5), is_inverse_root = is(-0.5);
    const V root = positive_root(d, x), inverse_root = hn::Div(one, root);
    if (hn::AllTrue(d, is_root)) return root;
    if (hn::AllTrue(d, is_inverse_root)) return inverse_root;
    V power = any(d, x, y);
    power = hn::IfThenElse(is_root, root, power);
    power = hn::IfThenElse(is_inverse_root, inverse_root, power);
    power = hn::IfThenElse(is_inverse, inverse, power);
    return hn::IfThenElse(is_square, square, hn::IfThenElse(is_cube, cube, power));
  }
  // Of minus infinity the power is infinity, of -0 it is 0.
  template <class D, class V>
  static HWY_INLINE V positive_root(D d, V x) {
    const V infinity = hn::Set(d, static_cast<hn::TFromD<D>>(HUGE_VAL));
    const V root = hn::Sqrt(hn::Add(x, hn::Zero(d)));
    return hn::IfThenElse(hn::Eq(x, hn::Neg(infinity)), infinity, root);
  }
  template <class D, class V>
  static HWY_INLINE V any(D d, V x, V y) {
    if constexpr (sizeof(hn::TFromD<D>) == 4)
      return in_f64<WidePow>(d, x, y);
    else
      return each_lane(d, x, y, [](double a, double b) { return std::pow(a, b); });
  }
};

void add_kernels(KernelList& list) {
  add_unary<SinOp, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_SIN);
  add_unary<CosOp, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_COS);
  add_unary<TanOp, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_TAN);
  add_unary<AsinOp, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_ASIN);
  add_unary<AcosOp, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_ACOS);
  add_unary<AtanOp, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_ATAN);
  add_binary<Atan2Op, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_ATAN2);
  add_binary<HypotOp, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_HYPOT);
  add_binary<PowOp, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_POW);
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_unary_trigonometry_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
