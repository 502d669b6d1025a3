// exp of numbers that are not above 0, as softmax and logsumexp need it: at most 1.3 ulp off for f32.
// Far below 0 the result is 0; NaN gives NaN.
#include <hwy/contrib/math/math-inl.h>

#include "lanes-inl.hpp"
#include "simd/math-inl.hpp"

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

// Σ exp(x - max); leaves the terms in y where that can hold them exactly.
template <bool Keep, class T>
HWY_INLINE Compute<T> exp_sum(const T* x, T* y, size_t n, Compute<T> max) {
  const LaneTag<T> d;
  const auto shift = hn::Set(d, max);
  auto a = hn::Zero(d), b = a;
  const auto term = [&](size_t i, auto v) HWY_ATTR {
    const auto e = exp_below(d, hn::Sub(v, shift));
    if constexpr (Keep) store(e, d, y + i);
    return e;
  };
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    a = hn::Add(a, term(i, load(d, x + i)));
    b = hn::Add(b, term(i + lanes, load(d, x + i + lanes)));
  }
  for (; i + lanes <= n; i += lanes) a = hn::Add(a, term(i, load(d, x + i)));
  if (i < n) {
    const auto first = hn::FirstN(d, n - i);
    const auto e = exp_below(d, hn::Sub(load_first(d, x + i, n - i, max), shift));
    if constexpr (Keep) store_first(e, d, y + i, n - i);
    b = hn::Add(b, hn::IfThenElseZero(first, e));
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(a, b)));
}

// The logarithms of n such sums, in their place: a vector at a time, where one by one they cost as much as a short row's terms.
template <class C>
HWY_INLINE void log_sums(C* sums, size_t n) {
  const LaneTag<C> d;
  map_row(sums, sums, n, [d](auto sum) HWY_ATTR {
    if constexpr (std::is_same_v<C, float>) return log_f32(d, sum);
    return hn::IfThenElse(hn::IsNaN(sum), sum, hn::Log(d, sum));
  });
}

// The greatest element. NaN needs no care here: it makes the sum NaN, and with it the whole row.
template <class T>
HWY_INLINE Compute<T> greatest(const T* x, size_t n) {
  const LaneTag<T> d;
  const auto lowest = -std::numeric_limits<Compute<T>>::infinity();
  const auto step = [](auto a, auto b) HWY_ATTR { return hn::Max(a, b); };
  return hn::GetLane(hn::MaxOfLanes(d, fold(d, x, n, hn::Set(d, lowest), lowest, step, step)));
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
