// Arithmetic of floats, three operands.
#include "kernels.hpp"
#include "tenon/schemas.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/ternary.cpp"
#include <hwy/foreach_target.h>

#include "simd/map-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

struct LerpOp {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x, V y, V weight) const {
    return hn::MulAdd(weight, hn::Sub(y, x), x);
  }
};
struct AddcmulOp {
  double value;
  explicit AddcmulOp(const tn_call& call) : value(real_arg(call, arg::addcmul::value)) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V y, V z) const {
    const V factor = hn::Set(d, static_cast<hn::TFromD<D>>(value));
    return hn::MulAdd(hn::Mul(factor, y), z, x);
  }
};
struct AddcdivOp {
  double value;
  explicit AddcdivOp(const tn_call& call) : value(real_arg(call, arg::addcdiv::value)) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V y, V z) const {
    const V factor = hn::Set(d, static_cast<hn::TFromD<D>>(value));
    return hn::Add(x, hn::Div(hn::Mul(factor, y), z));
  }
};

void add_kernels(KernelList& list) {
  add_ternary<LerpOp, kGrainCopy>(list, TN_SCHEMA_LERP);
  add_ternary<AddcmulOp, kGrainCopy>(list, TN_SCHEMA_ADDCMUL);
  add_ternary<AddcdivOp, kGrainCopy>(list, TN_SCHEMA_ADDCDIV);
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_ternary_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
