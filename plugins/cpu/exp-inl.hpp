// exp of numbers that are not above 0, as softmax and logsumexp need it: at most 1.3 ulp off for f32.
// Far below it gives 0, of NaN NaN.
#include <hwy/contrib/math/math-inl.h>

#include "lanes-inl.hpp"

#if defined(TENON_CPU_EXP_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CPU_EXP_INL
#undef TENON_CPU_EXP_INL
#else
#define TENON_CPU_EXP_INL
#endif

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

template <class D, class V>
HWY_INLINE V exp_below(D d, V x) {
  if constexpr (std::is_same_v<hn::TFromD<D>, float>) {
    const hn::RebindToSigned<D> di;
    const auto low = hn::Lt(x, hn::Set(d, -87.3f));
    // x = q·ln 2 + r, the multiple of ln 2 taken off in two parts. Adding 1.5·2^23 rounds to a whole
    // number in the low bits, with 127 on top the exponent of 2^q.
    const auto whole = hn::Set(d, 12582912.0f + 127);
    const auto t = hn::MulAdd(x, hn::Set(d, 1.44269504f), whole);
    const auto q = hn::Sub(t, whole);
    auto r = hn::NegMulAdd(q, hn::Set(d, 0.693359375f), x);
    r = hn::NegMulAdd(q, hn::Set(d, -2.12194440e-4f), r);
    auto p = hn::Set(d, 1.9875691500e-4f);
    p = hn::MulAdd(p, r, hn::Set(d, 1.3981999507e-3f));
    p = hn::MulAdd(p, r, hn::Set(d, 8.3334519073e-3f));
    p = hn::MulAdd(p, r, hn::Set(d, 4.1665795894e-2f));
    p = hn::MulAdd(p, r, hn::Set(d, 1.6666665459e-1f));
    p = hn::MulAdd(p, r, hn::Set(d, 5.0000001201e-1f));
    p = hn::MulAdd(hn::Mul(r, r), p, hn::Add(r, hn::Set(d, 1.0f)));
    const auto scale = hn::ShiftLeft<23>(hn::BitCast(di, t));
    return hn::IfThenZeroElse(low, hn::Mul(p, hn::BitCast(d, scale)));
  } else {
    return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(d, x));
  }
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
