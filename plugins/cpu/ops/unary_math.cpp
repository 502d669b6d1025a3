// exp, log and their relations on floats. f64 goes through the C library.
#include <cmath>

#include "../../common/erfinv.hpp"
#include "../../common/gamma.hpp"
#include "kernels.hpp"
#include "tenon/schemas.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/unary_math.cpp"
#include <hwy/foreach_target.h>

#include "simd/gamma-inl.hpp"
#include "simd/map-inl.hpp"
#include "simd/math-inl.hpp"
#include "simd/wide-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

// std::lgamma, which writes the global signgam, is not for several threads.
double log_gamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

// As erfinv.hpp computes it.
template <class D, class V>
HWY_INLINE V erfinv_f32(D d, V x) {
  const V one = hn::Set(d, 1.0f), a = hn::Abs(x);
  const V w = hn::Neg(log_f32(d, hn::Mul(hn::Sub(one, a), hn::Add(one, a))));
  const V centre = poly(d, hn::Sub(w, hn::Set(d, 2.5f)), TENON_ERFINV_CENTRE);
  const V tail = poly(d, hn::Sub(hn::Sqrt(w), hn::Set(d, 3.0f)), TENON_ERFINV_TAIL);
  const V y = hn::Mul(hn::IfThenElse(hn::Lt(w, hn::Set(d, 5.0f)), centre, tail), x);
  const V edge = hn::IfThenElse(hn::Eq(a, one), hn::CopySign(hn::Set(d, HUGE_VALF), x),
                                hn::Set(d, std::numeric_limits<float>::quiet_NaN()));
  return hn::IfThenElse(hn::Lt(a, one), y, edge);
}

// f32 by a vector expression, f64 lane by lane.
#define TENON_CPU_MATH1(Name, expression32, scalar64)                                      \
  struct Name {                                                                            \
    template <class D, class V>                                                            \
    HWY_INLINE V operator()(D d, V x) const {                                              \
      if constexpr (sizeof(hn::TFromD<D>) == 4)                                            \
        return expression32;                                                               \
      else                                                                                 \
        return each_lane(d, x, [](double v) { return static_cast<double>(scalar64(v)); }); \
    }                                                                                      \
  };

TENON_CPU_MATH1(ExpOp, exp_f32(d, x), std::exp)
TENON_CPU_MATH1(Exp2Op, exp2_f32(d, x), std::exp2)
TENON_CPU_MATH1(Expm1Op, expm1_f32(d, x), std::expm1)
TENON_CPU_MATH1(LogOp, log_f32(d, x), std::log)
TENON_CPU_MATH1(Log2Op, in_f64<WideLog2>(d, x), std::log2)
TENON_CPU_MATH1(Log10Op, in_f64<WideLog10>(d, x), std::log10)
TENON_CPU_MATH1(Log1pOp, log1p_f32(d, x), std::log1p)
TENON_CPU_MATH1(SinhOp, in_f64<WideSinh>(d, x), std::sinh)
TENON_CPU_MATH1(CoshOp, in_f64<WideCosh>(d, x), std::cosh)
TENON_CPU_MATH1(TanhOp, tanh_f32(d, x), std::tanh)
TENON_CPU_MATH1(AsinhOp, in_f64<WideAsinh>(d, x), std::asinh)
TENON_CPU_MATH1(AcoshOp, in_f64<WideAcosh>(d, x), std::acosh)
TENON_CPU_MATH1(AtanhOp, in_f64<WideAtanh>(d, x), std::atanh)
TENON_CPU_MATH1(ErfOp, erf_f32(d, x), std::erf)
TENON_CPU_MATH1(ErfcOp, erfc_f32(d, x), std::erfc)
TENON_CPU_MATH1(ErfinvOp, erfinv_f32(d, x), erfinv)
TENON_CPU_MATH1(LgammaOp, in_f64<WideLgamma>(d, x), log_gamma)
TENON_CPU_MATH1(DigammaOp, in_f64<WideDigamma>(d, x), digamma)

void add_kernels(KernelList& list) {
  add_unary<ExpOp, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_EXP);
  add_unary<Exp2Op, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_EXP2);
  add_unary<Expm1Op, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_EXPM1);
  add_unary<LogOp, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_LOG);
  add_unary<Log2Op, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_LOG2);
  add_unary<Log10Op, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_LOG10);
  add_unary<Log1pOp, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_LOG1P);
  add_unary<SinhOp, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_SINH);
  add_unary<CoshOp, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_COSH);
  add_unary<TanhOp, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_TANH);
  add_unary<AsinhOp, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_ASINH);
  add_unary<AcoshOp, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_ACOSH);
  add_unary<AtanhOp, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_ATANH);
  add_unary<ErfOp, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_ERF);
  add_unary<ErfcOp, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_ERFC);
  add_unary<ErfinvOp, kGrainMath, kGrainHeavy>(list, TN_SCHEMA_ERFINV);
  add_unary<LgammaOp, kGrainHeavy, kGrainHeavy>(list, TN_SCHEMA_LGAMMA);
  add_unary<DigammaOp, kGrainHeavy, kGrainHeavy>(list, TN_SCHEMA_DIGAMMA);
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_unary_math_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
