// Arithmetic and rounding of floats, one operand.
#include "kernels.hpp"
#include "tenon/schemas.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/unary.cpp"
#include <hwy/foreach_target.h>

#include "simd/map-inl.hpp"
#include "simd/math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

// A functor over vectors: TENON_CPU_OP1(Neg, hn::Neg(x)).
#define TENON_CPU_OP1(Name, expression)                                         \
  struct Name {                                                                 \
    template <class D, class V>                                                 \
    HWY_INLINE V operator()([[maybe_unused]] D d, [[maybe_unused]] V x) const { \
      return expression;                                                        \
    }                                                                           \
  };

TENON_CPU_OP1(NegOp, hn::Neg(x))
TENON_CPU_OP1(AbsOp, hn::Abs(x))
TENON_CPU_OP1(SquareOp, hn::Mul(x, x))
TENON_CPU_OP1(FloorOp, hn::Floor(x))
TENON_CPU_OP1(CeilOp, hn::Ceil(x))
TENON_CPU_OP1(TruncOp, hn::Trunc(x))
TENON_CPU_OP1(FracOp, hn::Sub(x, hn::Trunc(x)))
TENON_CPU_OP1(RoundOp, hn::Round(x))
TENON_CPU_OP1(ReciprocalOp, hn::Div(hn::Set(d, 1), x))
TENON_CPU_OP1(SqrtOp, hn::Sqrt(x))
TENON_CPU_OP1(RsqrtOp, hn::Div(hn::Set(d, 1), hn::Sqrt(x)))
TENON_CPU_OP1(CopyOp, x)
TENON_CPU_OP1(ZeroOp, hn::Zero(d))
// NaN stays; -0 becomes 0.
TENON_CPU_OP1(SignOp, hn::IfThenElse(hn::Or(hn::Lt(x, hn::Zero(d)), hn::Gt(x, hn::Zero(d))),
                                     hn::CopySign(hn::Set(d, 1), x), hn::Add(x, hn::Zero(d))))
// NaN stays.
TENON_CPU_OP1(ReluOp, hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x))

void add_kernels(KernelList& list) {
  add_unary<NegOp, kGrainCopy>(list, TN_SCHEMA_NEG);
  add_unary<AbsOp, kGrainCopy>(list, TN_SCHEMA_ABS);
  add_unary<SignOp, kGrainCopy>(list, TN_SCHEMA_SIGN);
  add_unary<SquareOp, kGrainCopy>(list, TN_SCHEMA_SQUARE);
  add_unary<FloorOp, kGrainCopy>(list, TN_SCHEMA_FLOOR);
  add_unary<CeilOp, kGrainCopy>(list, TN_SCHEMA_CEIL);
  add_unary<RoundOp, kGrainCopy>(list, TN_SCHEMA_ROUND);
  add_unary<TruncOp, kGrainCopy>(list, TN_SCHEMA_TRUNC);
  add_unary<FracOp, kGrainCopy>(list, TN_SCHEMA_FRAC);
  add_unary<ReciprocalOp, kGrainCopy>(list, TN_SCHEMA_RECIPROCAL);
  add_unary<SqrtOp, kGrainCopy>(list, TN_SCHEMA_SQRT);
  add_unary<RsqrtOp, kGrainCopy>(list, TN_SCHEMA_RSQRT);
  add_unary<CopyOp, kGrainCopy>(list, TN_SCHEMA_CONJ);
  add_unary<CopyOp, kGrainCopy>(list, TN_SCHEMA_REAL);
  add_unary<ZeroOp, kGrainCopy>(list, TN_SCHEMA_IMAG);
  add_unary<ReluOp, kGrainCopy>(list, TN_SCHEMA_RELU);
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_unary_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
