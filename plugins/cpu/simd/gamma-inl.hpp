// The logarithm of the gamma function and its derivative, in f64 lanes for f32 (wide-inl.hpp).
// Formulas: M. Abramowitz, I. Stegun, "Handbook of Mathematical Functions", 1964.
#if defined(TENON_CPU_GAMMA_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CPU_GAMMA_INL
#undef TENON_CPU_GAMMA_INL
#else
#define TENON_CPU_GAMMA_INL
#endif

#include "simd/math-inl.hpp"
#include "simd/wide-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

constexpr double kPi = 3.14159265358979323846;

// sin and cos of pi times what x has beyond the nearest whole number: those of pi x but for their
// common sign.
template <class D, class V>
HWY_INLINE void sincos_pi_f64(D d, V x, V& sine, V& cosine) {
  sincos_f64(d, hn::Mul(hn::Sub(x, hn::Round(x)), hn::Set(d, kPi)), sine, cosine);
}

// z(z+1)...(z+7) in u = z(z+7), as z+i and z+7-i have the product u + i(7-i).
template <class D, class V>
HWY_INLINE V rise_by_8(D d, V u) {
  return hn::Mul(u, poly(d, u, 1.0, 28.0, 252.0, 720.0));
}

// ln Gamma(w) for w >= 8: 6.1.41.
template <class D, class V>
HWY_INLINE V stirling(D d, V w) {
  const V r = hn::Div(hn::Set(d, 1.0), w);
  const V series = poly(d, hn::Mul(r, r), 1.0 / 156, -691.0 / 360360, 1.0 / 1188, -1.0 / 1680,
                        1.0 / 1260, -1.0 / 360, 1.0 / 12);
  const V most = hn::Mul(hn::Sub(w, hn::Set(d, 0.5)), hn::Sub(log_f64(d, w), hn::Set(d, 1.0)));
  // (ln 2 pi - 1) / 2
  return hn::Add(most, hn::MulAdd(r, series, hn::Set(d, 0.41893853320467274178)));
}

// ln |Gamma(x)|. Lanes below 1/2 are reflected (6.1.17), those below 8 raised (6.1.16); what both
// divide by has one logarithm.
struct WideLgamma {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V one = hn::Set(d, 1.0), eight = hn::Set(d, 8.0), infinity = hn::Set(d, __builtin_inf());
    const auto reflected = hn::Lt(x, hn::Set(d, 0.5));
    const V z = hn::IfThenElse(reflected, hn::Sub(one, x), x);
    const auto raised = hn::Lt(z, eight);
    V divisor = hn::IfThenElse(raised, rise_by_8(d, hn::Mul(z, hn::Add(z, hn::Set(d, 7.0)))), one);
    V y = stirling(d, hn::IfThenElse(raised, hn::Add(z, eight), z));
    if (!hn::AllFalse(d, reflected)) {
      V sine, cosine;
      sincos_pi_f64(d, x, sine, cosine);
      divisor = hn::IfThenElse(reflected, hn::Div(hn::Mul(divisor, hn::Set(d, kPi)), hn::Abs(sine)),
                               divisor);
    }
    y = hn::Sub(y, log_f64(d, divisor));
    y = hn::IfThenElse(reflected, hn::Neg(y), y);
    y = hn::IfThenElse(hn::Eq(hn::Abs(x), infinity), infinity, y);
    return near_roots(d, x, y);
  }

 private:
  // At its roots 1 and 2 a sum of large terms has no digits left: the first terms of 6.1.33.
  template <class D, class V>
  static HWY_INLINE V near_roots(D d, V x, V y) {
    const V one = hn::Set(d, 1.0);
    const auto second = hn::Gt(x, hn::Set(d, 1.5));
    const V t = hn::Sub(x, hn::IfThenElse(second, hn::Set(d, 2.0), one));
    // zeta(3) and zeta(2), less 1 around 2.
    const V less = hn::IfThenElseZero(second, one);
    const V cube = hn::Mul(hn::Sub(less, hn::Set(d, 1.20205690315959428540)), hn::Set(d, 1.0 / 3)),
            square = hn::Mul(hn::Sub(hn::Set(d, 1.64493406684822643647), less), hn::Set(d, 0.5)),
            slope = hn::Sub(less, hn::Set(d, 0.57721566490153286061));
    // Not a product, as that is -0 at a root.
    const V series = hn::MulAdd(t, hn::MulAdd(t, hn::MulAdd(t, cube, square), slope), hn::Zero(d));
    return hn::IfThenElse(hn::Lt(hn::Abs(t), hn::Set(d, 0x1p-10)), series, y);
  }
};

// psi(x), by the derivatives of the same steps: 6.3.7, 6.3.5, 6.3.18.
struct WideDigamma {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V one = hn::Set(d, 1.0), seven = hn::Set(d, 7.0), eight = hn::Set(d, 8.0);
    const V zero = hn::Zero(d);
    const auto reflected = hn::Lt(x, hn::Set(d, 0.5));
    const V z = hn::IfThenElse(reflected, hn::Sub(one, x), x);
    const auto raised = hn::Lt(z, eight);
    const V u = hn::Mul(z, hn::Add(z, seven));
    const V slope = hn::Mul(poly(d, u, 4.0, 84.0, 504.0, 720.0), hn::Add(hn::Add(z, z), seven));
    V y = asymptotic(d, hn::IfThenElse(raised, hn::Add(z, eight), z));
    y = hn::Sub(y, hn::IfThenElseZero(raised, hn::Div(slope, rise_by_8(d, u))));
    if (hn::AllFalse(d, reflected)) return y;
    V sine, cosine;
    sincos_pi_f64(d, x, sine, cosine);
    const V pole =
        hn::IfThenElse(hn::Eq(x, zero), hn::CopySign(hn::Set(d, __builtin_inf()), hn::Neg(x)),
                       hn::Set(d, __builtin_nan("")));
    const V below = hn::NegMulAdd(hn::Set(d, kPi), hn::Div(cosine, sine), y);
    return hn::IfThenElse(reflected, hn::IfThenElse(hn::Eq(sine, zero), pole, below), y);
  }

 private:
  template <class D, class V>
  static HWY_INLINE V asymptotic(D d, V w) {
    const V r = hn::Div(hn::Set(d, 1.0), w), s = hn::Mul(r, r);
    const V series = poly(d, s, 1.0 / 12, -691.0 / 32760, 1.0 / 132, -1.0 / 240, 1.0 / 252,
                          -1.0 / 120, 1.0 / 12);
    return hn::Sub(log_f64(d, w), hn::MulAdd(s, series, hn::Mul(r, hn::Set(d, 0.5))));
  }
};

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
