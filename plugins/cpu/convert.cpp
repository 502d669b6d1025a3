#include "convert.hpp"

#include "half.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "convert.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using F = hn::ScalableTag<float>;
using U = hn::RebindToUnsigned<F>;
using H = hn::Rebind<hwy::float16_t, F>;
using S = hn::Rebind<uint16_t, F>;

void from_f16(const uint16_t* in, float* out, int64_t n) {
  const int64_t step = static_cast<int64_t>(hn::Lanes(F()));
  int64_t i = 0;
#if HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR  // which know no infinity and no NaN
  for (; i + step <= n; i += step)
    hn::StoreU(hn::PromoteTo(F(), hn::LoadU(H(), reinterpret_cast<const hwy::float16_t*>(in + i))),
               F(), out + i);
#else
  (void)step;
#endif
  for (; i < n; ++i) out[i] = tn_f16_to_f32(in[i]);
}

void to_f16(const float* in, uint16_t* out, int64_t n) {
  const int64_t step = static_cast<int64_t>(hn::Lanes(F()));
  int64_t i = 0;
#if HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR  // which truncate
  for (; i + step <= n; i += step)
    hn::StoreU(hn::DemoteTo(H(), hn::LoadU(F(), in + i)), H(),
               reinterpret_cast<hwy::float16_t*>(out + i));
#else
  (void)step;
#endif
  for (; i < n; ++i) out[i] = tn_f32_to_f16(in[i]);
}

void from_bf16(const uint16_t* in, float* out, int64_t n) {
  const int64_t step = static_cast<int64_t>(hn::Lanes(F()));
  int64_t i = 0;
  for (; i + step <= n; i += step) {
    const auto bits = hn::ShiftLeft<16>(hn::PromoteTo(U(), hn::LoadU(S(), in + i)));
    hn::StoreU(hn::BitCast(F(), bits), F(), out + i);
  }
  for (; i < n; ++i) out[i] = tn_bf16_to_f32(in[i]);
}

void to_bf16(const float* in, uint16_t* out, int64_t n) {
  const int64_t step = static_cast<int64_t>(hn::Lanes(F()));
  const auto one = hn::Set(U(), 1u), bias = hn::Set(U(), 0x7fffu), quiet = hn::Set(U(), 0x400000u);
  int64_t i = 0;
  for (; i + step <= n; i += step) {
    const auto value = hn::LoadU(F(), in + i);
    const auto bits = hn::BitCast(U(), value);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), one);
    const auto rounded = hn::Add(hn::Add(bits, bias), odd);
    const auto nan = hn::RebindMask(U(), hn::IsNaN(value));
    const auto chosen = hn::IfThenElse(nan, hn::Or(bits, quiet), rounded);
    hn::StoreU(hn::TruncateTo(S(), hn::ShiftRight<16>(chosen)), S(), out + i);
  }
  for (; i < n; ++i) out[i] = tn_f32_to_bf16(in[i]);
}

HalfConversions conversions() { return {from_f16, to_f16, from_bf16, to_bf16}; }

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(conversions);
const HalfConversions& half_conversions() {
  static const HalfConversions best = HWY_DYNAMIC_DISPATCH(conversions)();
  return best;
}
}  // namespace tenon::cpu
#endif
