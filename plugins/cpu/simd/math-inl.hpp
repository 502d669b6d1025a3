// Vector mathematics on f32. Errors against the exact value in units in the last place, as
// tests/plugins/cpu measures them, stand at each function. Polynomials without a source are
// Chebyshev fits on the interval named, rounded to f32.
#if defined(TENON_CPU_MATH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CPU_MATH_INL
#undef TENON_CPU_MATH_INL
#else
#define TENON_CPU_MATH_INL
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The coefficients from the highest power down.
// Long ones are evaluated as two chains, of even and odd powers, which halves the latency.
template <class D, class V, class... C>
HWY_INLINE V poly(D d, V x, C... coefficients) {
  constexpr size_t kCount = sizeof...(C), kStep = kCount > 5 ? 2 : 1;
  const hn::TFromD<D> c[] = {static_cast<hn::TFromD<D>>(coefficients)...};
  const V by = kStep == 2 ? hn::Mul(x, x) : x;
  V first = hn::Set(d, c[0]);
  for (size_t i = kStep; i < kCount; i += kStep) first = hn::MulAdd(first, by, hn::Set(d, c[i]));
  if constexpr (kStep == 1) return first;
  V second = hn::Set(d, c[1]);
  for (size_t i = 3; i < kCount; i += 2) second = hn::MulAdd(second, by, hn::Set(d, c[i]));
  return kCount % 2 == 0 ? hn::MulAdd(first, x, second) : hn::MulAdd(second, x, first);
}

// x between low and high; NaN stays NaN.
template <class D, class V>
HWY_INLINE V clamp_keep_nan(D d, V x, double low, double high) {
  using T = hn::TFromD<D>;
#if HWY_TARGET == HWY_AVX3 || \
    HWY_TARGET == HWY_AVX2  // minps returns its second operand when one is NaN
  return hn::Min(hn::Set(d, static_cast<T>(high)), hn::Max(hn::Set(d, static_cast<T>(low)), x));
#else
  const V limited =
      hn::Min(hn::Set(d, static_cast<T>(high)), hn::Max(hn::Set(d, static_cast<T>(low)), x));
  return hn::IfThenElse(hn::IsNaN(x), x, limited);
#endif
}

// x * 2^n for whole n in [-252, 254].
template <class D, class V>
HWY_INLINE V scale_by_power(D d, V x, V n) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(V) == 64) return V{_mm512_scalef_ps(x.raw, n.raw)};
#endif
  const hn::RebindToSigned<D> di;
  const auto bias = hn::Set(di, 127);
  const auto whole = hn::ConvertTo(di, n);
  const auto half = hn::ShiftRight<1>(whole);
  const auto rest = hn::Sub(whole, half);
  const V first = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(half, bias)));
  const V second = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(rest, bias)));
  return hn::Mul(hn::Mul(x, first), second);
}

// e^r - 1 for |r| <= ln 2 / 2.
template <class D, class V>
HWY_INLINE V expm1_reduced(D d, V r) {
  const V q = poly(d, r, 0.0013927684631198645, 0.008364380337297916, 0.04166654497385025,
                   0.1666657030582428, 0.5);
  return hn::MulAdd(hn::Mul(r, r), q, r);
}

// Splits x into n ln 2 + r; the upper part of ln 2 has few bits, so that n times it is
// exact (Cephes expf).
template <class D, class V>
HWY_INLINE V reduce_exp(D d, V x, V& n) {
  n = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504f)));
  const V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);
  return hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
}

// e^x as m 2^n, m near 1, so that a factor can join before the result leaves the normal range.
template <class D, class V>
HWY_INLINE V exp_parts_f32(D d, V x, V& n) {
  const V r = reduce_exp(d, clamp_keep_nan(d, x, -150.0, 89.0), n);
  return hn::Add(expm1_reduced(d, r), hn::Set(d, 1.0f));
}

// 1 ulp.
template <class D, class V>
HWY_INLINE V exp_f32(D d, V x) {
  V n;
  const V m = exp_parts_f32(d, x, n);
  return scale_by_power(d, m, n);
}

// 1 ulp.
template <class D, class V>
HWY_INLINE V exp2_f32(D d, V x) {
  const V limited = clamp_keep_nan(d, x, -151.0, 129.0);
  const V n = hn::Round(limited);
  const V r = hn::Mul(hn::Sub(limited, n), hn::Set(d, 0.693147181f));
  return scale_by_power(d, hn::Add(expm1_reduced(d, r), hn::Set(d, 1.0f)), n);
}

// e^x - 1. 2 ulp.
template <class D, class V>
HWY_INLINE V expm1_f32(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  V n;
  const V r = reduce_exp(d, clamp_keep_nan(d, x, -20.0, 89.0), n);
  const V p = expm1_reduced(d, r);
  const V power = scale_by_power(d, one, hn::Min(n, hn::Set(d, 127.0f)));
  const V small = hn::MulAdd(p, power, hn::Sub(power, one));
  const V large = scale_by_power(d, hn::Add(p, one), n);
  const V result = hn::IfThenElse(hn::Gt(x, hn::Set(d, 32.0f)), large, small);
  return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, result);
}

// log(1 + f) for 1 + f between the roots of 1/2 and 2, plus n ln 2 (the splitting is that
// of Cephes logf).
template <class D, class V>
HWY_INLINE V log1p_reduced(D d, V f, V n) {
  const V p = poly(d, f, 0.06971611827611923, -0.11479733884334564, 0.11685419827699661,
                   -0.12425687164068222, 0.14249058067798615, -0.1666780263185501,
                   0.20000715553760529, -0.2499999701976776, 0.3333333134651184);
  const V square = hn::Mul(f, f);
  V y = hn::Mul(hn::Mul(square, f), p);
  y = hn::MulAdd(n, hn::Set(d, -2.12194440e-4f), y);
  y = hn::NegMulAdd(square, hn::Set(d, 0.5f), y);
  return hn::MulAdd(n, hn::Set(d, 0.693359375f), hn::Add(f, y));
}

// 1 ulp.
template <class D, class V>
HWY_INLINE V log_f32(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V zero = hn::Zero(d), infinity = hn::Set(d, __builtin_inff());
  const auto tiny = hn::Lt(x, hn::Set(d, 1.17549435e-38f));
  const V normal = hn::IfThenElse(tiny, hn::Mul(x, hn::Set(d, 0x1p23f)), x);
  const auto bits = hn::BitCast(di, normal);
  // 0x3f3504f3 has the bits of the root of 1/2.
  const auto exponent = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, 0x3f3504f3)));
  const V m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(exponent)));
  const V n = hn::Sub(hn::ConvertTo(d, exponent), hn::IfThenElseZero(tiny, hn::Set(d, 23.0f)));
  V result = log1p_reduced(d, hn::Sub(m, hn::Set(d, 1.0f)), n);
  result = hn::IfThenElse(hn::Lt(x, infinity), result, x);  // infinity and NaN
  result = hn::IfThenElse(hn::Lt(x, zero), hn::Set(d, __builtin_nanf("")), result);
  return hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), result);
}

// log(1 + x): what rounding 1 + x loses is added to its fraction. 1 ulp.
template <class D, class V>
HWY_INLINE V log1p_f32(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V one = hn::Set(d, 1.0f), infinity = hn::Set(d, __builtin_inff());
  const V u = hn::Add(x, one);
  const V lost =
      hn::IfThenElse(hn::Gt(x, one), hn::Sub(one, hn::Sub(u, x)), hn::Sub(x, hn::Sub(u, one)));
  const auto bits = hn::BitCast(di, u);
  const auto exponent = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, 0x3f3504f3)));
  const V m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(exponent)));
  // 2^-exponent; from 2^64 on nothing that was lost is seen.
  const auto limited = hn::Min(exponent, hn::Set(di, 64));
  const V down = hn::BitCast(d, hn::ShiftLeft<23>(hn::Sub(hn::Set(di, 127), limited)));
  V y = log1p_reduced(d, hn::MulAdd(lost, down, hn::Sub(m, one)), hn::ConvertTo(d, exponent));
  y = hn::IfThenElse(hn::Lt(x, infinity), y, x);  // infinity and NaN
  y = hn::IfThenElse(hn::Lt(x, hn::Neg(one)), hn::Set(d, __builtin_nanf("")), y);
  y = hn::IfThenElse(hn::Eq(x, hn::Neg(one)), hn::Neg(infinity), y);
  return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, y);
}

// log(1 + e) for e in [0, 1]. 1 ulp.
template <class D, class V>
HWY_INLINE V log1p_unit_f32(D d, V e) {
  const V one = hn::Set(d, 1.0f);
  const auto upper = hn::Gt(e, hn::Set(d, 0.41421356f));
  const V f = hn::IfThenElse(upper, hn::Mul(hn::Sub(e, one), hn::Set(d, 0.5f)), e);
  return log1p_reduced(d, f, hn::IfThenElseZero(upper, one));
}

// 2 ulp; -0 stays.
template <class D, class V>
HWY_INLINE V tanh_f32(D d, V x) {
  const V one = hn::Set(d, 1.0f), magnitude = hn::Abs(x), square = hn::Mul(x, x);
  const V power = exp_f32(d, hn::Add(magnitude, magnitude));
  const V large = hn::Sub(one, hn::Div(hn::Set(d, 2.0f), hn::Add(power, one)));
  const V p = poly(d, square, -0.006096714176237583, 0.020997179672122, -0.05385090783238411,
                   0.1333276927471161, -0.333333283662796);
  const V small = hn::MulAdd(hn::Mul(square, p), x, x);
  return hn::CopySign(hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0.625f)), small, large), x);
}

// s = 1 / (1 + e^-x), and 1 - s. 2 ulp each.
template <class D, class V>
HWY_INLINE V sigmoid_f32(D d, V x, V& complement) {
  const V one = hn::Set(d, 1.0f);
  const V e = exp_f32(d, hn::Neg(hn::Abs(x)));
  const V r = hn::Div(one, hn::Add(one, e)), er = hn::Mul(e, r);
  const auto negative = hn::Lt(x, hn::Zero(d));
  complement = hn::IfThenElse(negative, r, er);
  return hn::IfThenElse(negative, er, r);
}

// x / (1 + e^-x). 2 ulp.
template <class D, class V>
HWY_INLINE V silu_f32(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  V n;
  const V m = exp_parts_f32(d, hn::Neg(hn::Abs(x)), n);
  const V lowest = hn::Set(d, -150.0f);  // below it the result is 0
  const V limited = hn::IfThenElse(hn::Lt(x, lowest), lowest, x);
  const V xr = hn::Div(limited, hn::Add(one, scale_by_power(d, m, n)));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), scale_by_power(d, hn::Mul(xr, m), n), xr);
}

// erf for |x| <= 475/512. Both polynomials of erf: N. Juffa, "erff with max ulp error
// < 1", stackoverflow.com/q/35148198.
template <class D, class V>
HWY_INLINE V erf_small(D d, V x) {
  const V p = poly(d, hn::Mul(x, x), -5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1,
                   -3.76125336e-1, 1.28379166e-1);
  return hn::MulAdd(p, x, x);
}

// 1 ulp.
template <class D, class V>
HWY_INLINE V erf_f32(D d, V x) {
  const V t = hn::Abs(x), s = hn::Mul(x, x);
  V r = hn::MulAdd(hn::Set(d, -1.72853470e-5f), t, hn::Set(d, 3.83197126e-4f));
  const V u = hn::MulAdd(hn::Set(d, -3.88396438e-3f), t, hn::Set(d, 2.42546219e-2f));
  r = hn::MulAdd(r, s, u);
  r = hn::MulAdd(r, t, hn::Set(d, -1.06777877e-1f));
  r = hn::MulAdd(r, t, hn::Set(d, -6.34846687e-1f));
  r = hn::MulAdd(r, t, hn::Set(d, -1.28717512e-1f));
  r = hn::MulAdd(r, t, hn::Neg(t));
  const V large = hn::CopySign(hn::Sub(hn::Set(d, 1.0f), exp_f32(d, r)), x);
  const V beyond = hn::CopySign(hn::Set(d, 1.0f), x);
  const V result = hn::IfThenElse(hn::Gt(t, hn::Set(d, 0.927734375f)), large, erf_small(d, x));
  return hn::IfThenElse(hn::Gt(t, hn::Set(d, 4.0f)), beyond, result);
}

// The upper tail of the normal distribution over its density's exponential, for u >= 0:
// erfc(u / sqrt 2) / 2 * exp(u^2 / 2), fitted on [0, 14] as a polynomial in (u - 4) / (u + 4) over
// u + 4.
template <class D, class V>
HWY_INLINE V scaled_tail(D d, V u) {
  const V four = hn::Set(d, 4.0f);
  const V r = hn::Div(hn::Set(d, 1.0f), hn::Add(u, four));
  const V p = poly(d, hn::Mul(hn::Sub(u, four), r), -0.00012018439883831888, 0.0002012617333093658,
                   0.001572317909449339, -0.0035261837765574455, -0.0075292508117854595,
                   0.06040668860077858, -0.1865226775407791, 0.38713669776916504,
                   -0.607896625995636, 0.7552851438522339);
  return hn::Mul(p, r);
}

// exp(-s x^2) for 0 <= x <= 15, the rounding error of the square made good; s is 1 or 1/2.
template <class D, class V>
HWY_INLINE V exp_minus_square(D d, V x, float s) {
  const V square = hn::Mul(x, x), scale = hn::Set(d, -s);
#if HWY_NATIVE_FMA
  const V error = hn::MulSub(x, x, square);
#else  // Dekker's product
  const V split = hn::Mul(x, hn::Set(d, 4097.0f));
  const V high = hn::Sub(split, hn::Sub(split, x));
  const V low = hn::Sub(x, high);
  const V cross = hn::Mul(hn::Add(high, high), low);
  const V error = hn::Add(hn::Add(hn::Sub(hn::Mul(high, high), square), cross), hn::Mul(low, low));
#endif
  V n;
  const V r = hn::MulAdd(error, scale, reduce_exp(d, hn::Mul(square, scale), n));
  return scale_by_power(d, hn::Add(expm1_reduced(d, r), hn::Set(d, 1.0f)), n);
}

// x Phi(x), as max(x, 0) less |x| times the upper tail at |x|. 5 ulp, the lower tail included.
template <class D, class V>
HWY_INLINE V gelu_f32(D d, V x) {
  const V u = hn::Min(hn::Set(d, 15.0f), hn::Abs(x));
  const V beyond = hn::Mul(hn::Mul(u, scaled_tail(d, u)), exp_minus_square(d, u, 0.5f));
  return hn::Sub(hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x), beyond);
}

// The normal distribution function of x times `factor`, and exp(-x^2 / 2) by the way. 5 ulp, the
// lower tail included.
template <class D, class V>
HWY_INLINE V scaled_cdf_f32(D d, V x, V factor, V& density) {
  // Beyond 15 both are 0; the limit keeps the square finite.
  const V u = hn::Min(hn::Abs(x), hn::Set(d, 15.0f));
  density = exp_minus_square(d, u, 0.5f);
  const V tail = scaled_tail(d, u);
  // In this order, since the tail itself may be tiny.
  const V lower = hn::Mul(hn::Mul(factor, tail), density);
  const V upper = hn::Mul(factor, hn::NegMulAdd(tail, density, hn::Set(d, 1.0f)));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), lower, upper);
}

// 5 ulp.
template <class D, class V>
HWY_INLINE V erfc_f32(D d, V x) {
  const V z = hn::Min(hn::Abs(x), hn::Set(d, 10.5f)), two = hn::Set(d, 2.0f);
  const V tail = hn::Mul(hn::Mul(two, scaled_tail(d, hn::Mul(z, hn::Set(d, 1.41421356f)))),
                         exp_minus_square(d, z, 1.0f));
  const V outer = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Sub(two, tail), tail);
  const auto middle = hn::Lt(hn::Abs(x), hn::Set(d, 0.5f));
  const V result = hn::IfThenElse(middle, hn::Sub(hn::Set(d, 1.0f), erf_small(d, x)), outer);
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
