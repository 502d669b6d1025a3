// Functions of f32 that are computed in f64 lanes, where textbook formulas are exact enough to give
// 1 ulp, and functions of f64 by the C library. Thresholds: below them the first terms of the
// series are exact to f32.
#if defined(TENON_CPU_WIDE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CPU_WIDE_INL
#undef TENON_CPU_WIDE_INL
#else
#define TENON_CPU_WIDE_INL
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// f(lane) for every lane, by a scalar function.
template <class D, class V, class F>
HWY_INLINE V each_lane(D d, V x, F f) {
  using T = hn::TFromD<D>;
  alignas(64) T lanes[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(x, d, lanes);
  for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = f(lanes[i]);
  return hn::Load(d, lanes);
}
template <class D, class V, class F>
HWY_INLINE V each_lane(D d, V x, V y, F f) {
  using T = hn::TFromD<D>;
  alignas(64) T a[HWY_MAX_BYTES / sizeof(T)], b[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(x, d, a);
  hn::Store(y, d, b);
  for (size_t i = 0; i < hn::Lanes(d); ++i) a[i] = f(a[i], b[i]);
  return hn::Load(d, a);
}

// Op on both halves of the operands as f64.
template <class Op, class D, class... V>
HWY_INLINE hn::Vec<D> in_f64(D d, V... x) {
#if HWY_TARGET == HWY_SCALAR  // has no halves
  const hn::Rebind<double, D> dw;
  // Its DemoteTo limits infinities to the largest number.
  return hn::Set(d, static_cast<float>(hn::GetLane(Op()(dw, hn::PromoteTo(dw, x)...))));
#else
  const hn::Half<D> dh;
  const hn::Rebind<double, hn::Half<D>> dw;
  const auto low = Op()(dw, hn::PromoteTo(dw, hn::LowerHalf(dh, x))...);
  const auto high = Op()(dw, hn::PromoteTo(dw, hn::UpperHalf(dh, x))...);
  return hn::Combine(d, hn::DemoteTo(dh, high), hn::DemoteTo(dh, low));
#endif
}

// Highway's functions, with the edge cases that they leave undefined.
template <class D, class V>
HWY_INLINE V exp_f64(D d, V x) {
  const V limited = hn::Min(hn::Set(d, 700.0), hn::Max(hn::Set(d, -700.0), x));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(d, limited));
}
// What a logarithm of x gives where x is not a positive finite number.
template <class D, class V>
HWY_INLINE V log_edges(D d, V x, V result) {
  const V zero = hn::Zero(d), infinity = hn::Set(d, __builtin_inf());
  result = hn::IfThenElse(hn::Lt(x, infinity), result, x);
  result = hn::IfThenElse(hn::Lt(x, zero), hn::Set(d, __builtin_nan("")), result);
  return hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), result);
}
template <class D, class V>
HWY_INLINE V log_f64(D d, V x) {
  return log_edges(d, x, hn::Log(d, x));
}
// ln x to some 1e-12, enough for what is rounded to f32; x a positive normal number. By 2 artanh((m − 1)/(m + 1)), m in [√½, √2):
// Abramowitz and Stegun 4.1.27.
template <class D, class V>
HWY_INLINE V log_positive(D d, V x) {
  const hn::RebindToSigned<D> di;
  const auto bits = hn::BitCast(di, x);
  const auto exponent = hn::ShiftRight<52>(hn::Sub(bits, hn::Set(di, 0x3fe6a09e667f3bcd)));
  const V m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<52>(exponent))), one = hn::Set(d, 1.0);
  const V s = hn::Div(hn::Sub(m, one), hn::Add(m, one)), z = hn::Mul(s, s);
  const V p = poly(d, z, 2.0 / 13, 2.0 / 11, 2.0 / 9, 2.0 / 7, 2.0 / 5, 2.0 / 3);
  const V fraction = hn::MulAdd(hn::Mul(s, z), p, hn::Add(s, s));
  return hn::MulAdd(hn::ConvertTo(d, exponent), hn::Set(d, 0.693147180559945309417), fraction);
}
template <class D, class V>
HWY_INLINE V log_near(D d, V x) {
  return log_edges(d, x, log_positive(d, x));
}

struct WideLog2 {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Mul(log_near(d, x), hn::Set(d, 1.44269504088896340736));
  }
};
struct WideLog10 {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Mul(log_near(d, x), hn::Set(d, 0.43429448190325182765));
  }
};
struct WideSinh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V e = exp_f64(d, x),
            large = hn::Mul(hn::Set(d, 0.5), hn::Sub(e, hn::Div(hn::Set(d, 1.0), e)));
    const V small = hn::MulAdd(hn::Mul(hn::Mul(x, x), x), hn::Set(d, 1.0 / 6), x);
    return hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Set(d, 1e-3)), small, large);
  }
};
struct WideCosh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V e = exp_f64(d, x);
    return hn::Mul(hn::Set(d, 0.5), hn::Add(e, hn::Div(hn::Set(d, 1.0), e)));
  }
};
struct WideAsinh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V a = hn::Abs(x), root = hn::Sqrt(hn::MulAdd(a, a, hn::Set(d, 1.0)));
    const V large = log_near(d, hn::Add(a, root));
    const V small = hn::NegMulAdd(hn::Mul(hn::Mul(x, x), x), hn::Set(d, 1.0 / 6), x);
    return hn::CopySign(hn::IfThenElse(hn::Lt(a, hn::Set(d, 1e-3)), small, large), x);
  }
};
struct WideAcosh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V one = hn::Set(d, 1.0);
    const V result = log_near(d, hn::Add(x, hn::Sqrt(hn::Mul(hn::Sub(x, one), hn::Add(x, one)))));
    return hn::IfThenElse(hn::Lt(x, one), hn::Set(d, __builtin_nan("")), result);
  }
};
struct WideAtanh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V one = hn::Set(d, 1.0);
    const V large =
        hn::Mul(hn::Set(d, 0.5), log_near(d, hn::Div(hn::Add(one, x), hn::Sub(one, x))));
    const V small = hn::MulAdd(hn::Mul(hn::Mul(x, x), x), hn::Set(d, 1.0 / 3), x);
    return hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Set(d, 1e-3)), small, large);
  }
};
// The angle whose tangent is q, 0 <= q <= 1, to 5e-11: the series in q² as its interpolation at Chebyshev's points.
template <class D, class V>
HWY_INLINE V atan_unit(D d, V q) {
  const V z = hn::Mul(q, q);
  const V p = poly(d, z, 0.0005930437556365282, -0.0042216579909296476, 0.014072923344697239,
                   -0.029913111945516959, 0.047294798621813336, -0.062463151941283171,
                   0.075866528336466704, -0.090735531189764088, 0.11109392308322223,
                   -0.14285624891483525, 0.19999998154086215, -0.33333333326944142);
  return hn::MulAdd(hn::Mul(q, z), p, q);
}
// The same of asin for |x| <= 1/2, to 6e-11; z is x².
template <class D, class V>
HWY_INLINE V asin_half(D d, V x, V z) {
  const V p =
      poly(d, z, 0.030974540371355073, 0.010574415516912909, 0.023611817008891752,
           0.030269138728589183, 0.044647663888134848, 0.074999924044018382, 0.16666666686085643);
  return hn::MulAdd(hn::Mul(x, z), p, x);
}
// asin |x| for |x| <= 1/2, and acos |x| beyond, as twice the asin of √((1 − |x|)/2): Abramowitz and Stegun 4.4.
template <class D, class V>
struct ArcSine {
  V angle;
  hn::Mask<D> steep;
  HWY_INLINE ArcSine(D d, V magnitude) {
    const V half = hn::Set(d, 0.5);
    steep = hn::Gt(magnitude, half);
    const V rest = hn::NegMulAdd(half, magnitude, half);
    const V z = hn::IfThenElse(steep, rest, hn::Mul(magnitude, magnitude));
    const V s = asin_half(d, hn::IfThenElse(steep, hn::Sqrt(z), magnitude), z);
    angle = hn::IfThenElse(steep, hn::Add(s, s), s);
  }
};
constexpr double kHalfPi = 1.57079632679489661923;

struct WideAtan {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V a = hn::Abs(x), one = hn::Set(d, 1.0);
    const auto steep = hn::Gt(a, one);
    const V q = atan_unit(d, hn::IfThenElse(steep, hn::Div(one, a), a));
    const V angle = hn::IfThenElse(steep, hn::Sub(hn::Set(d, kHalfPi), q), q);
    return hn::CopySign(angle, x);
  }
};
struct WideAsin {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const ArcSine<D, V> arc(d, hn::Abs(x));
    const V angle = hn::IfThenElse(arc.steep, hn::Sub(hn::Set(d, kHalfPi), arc.angle), arc.angle);
    return hn::CopySign(angle, x);
  }
};
struct WideAcos {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V half_pi = hn::Set(d, kHalfPi);
    const ArcSine<D, V> arc(d, hn::Abs(x));
    const V angle = hn::IfThenElse(arc.steep, arc.angle, hn::Sub(half_pi, arc.angle));
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Sub(hn::Add(half_pi, half_pi), angle), angle);
  }
};

// Sine and cosine for |x| <= kTrigLimit: x less the nearest multiple of pi/2, in two parts
// (fdlibm's pio2_1 and pio2_1t), then fdlibm's __kernel_sin and __kernel_cos.
constexpr double kTrigLimit = 1e5;
template <class D, class V>
HWY_INLINE void sincos_f64(D d, V x, V& sine, V& cosine) {
  const hn::RebindToUnsigned<D> du;
  const V n = hn::Round(hn::Mul(x, hn::Set(d, 0.63661977236758134308)));
  const V r = hn::NegMulAdd(n, hn::Set(d, 6.07710050650619224932e-11),
                            hn::NegMulAdd(n, hn::Set(d, 1.57079632673412561417), x));
  const V z = hn::Mul(r, r);
  const V sp = poly(d, z, 1.58969099521155010221e-10, -2.50507602534068634195e-08,
                    2.75573137070700676789e-06, -1.98412698298579493134e-04,
                    8.33333333332248946124e-03, -1.66666666666666324348e-01);
  const V cp = poly(d, z, -1.13596475577881948265e-11, 2.08757232129817482790e-09,
                    -2.75573143513906633035e-07, 2.48015872894767294178e-05,
                    -1.38888888888741095749e-03, 4.16666666666666019037e-02, -0.5);
  const V s = hn::MulAdd(hn::Mul(z, r), sp, r);
  const V c = hn::MulAdd(z, cp, hn::Set(d, 1.0));
  // The two lowest bits of n lie at the bottom of n + 1.5 * 2^52.
  const auto quadrant = hn::BitCast(du, hn::Add(n, hn::Set(d, 0x1.8p52)));
  const auto odd =
      hn::RebindMask(d, hn::Ne(hn::And(quadrant, hn::Set(du, uint64_t{1})), hn::Zero(du)));
  const auto sine_sign =
      hn::BitCast(d, hn::ShiftLeft<62>(hn::And(quadrant, hn::Set(du, uint64_t{2}))));
  const auto next = hn::Add(quadrant, hn::Set(du, uint64_t{1}));
  const auto cosine_sign =
      hn::BitCast(d, hn::ShiftLeft<62>(hn::And(next, hn::Set(du, uint64_t{2}))));
  sine = hn::Xor(hn::IfThenElse(odd, c, s), sine_sign);
  cosine = hn::Xor(hn::IfThenElse(odd, s, c), cosine_sign);
}
struct WideSin {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    V s, c;
    sincos_f64(d, x, s, c);
    return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, s);  // keeps -0
  }
};
struct WideCos {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    V s, c;
    sincos_f64(d, x, s, c);
    return c;
  }
};
struct WideTan {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    V s, c;
    sincos_f64(d, x, s, c);
    return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, hn::Div(s, c));
  }
};
// A trigonometric function of f32; vectors with a lane beyond the limit go through the C library.
template <class Op, class D, class V, class F>
HWY_INLINE V trig_f32(D d, V x, F scalar) {
  const auto fine = hn::Le(hn::Abs(x), hn::Set(d, static_cast<float>(kTrigLimit)));
  if (HWY_LIKELY(hn::AllTrue(d, fine))) return in_f64<Op>(d, x);
  return each_lane(
      d, x, [scalar](float v) { return static_cast<float>(scalar(static_cast<double>(v))); });
}

// Angle of (x, y) by the quotient of the smaller to the larger magnitude.
struct WideAtan2 {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V y, V x) const {
    const V zero = hn::Zero(d), ax = hn::Abs(x), ay = hn::Abs(y);
    const auto steep = hn::Gt(ay, ax);
    const V lower = hn::IfThenElse(steep, ax, ay), upper = hn::IfThenElse(steep, ay, ax);
    // 0/0 stands for 0, infinity/infinity for 1.
    const V equal = hn::IfThenElse(hn::Eq(ax, zero), zero, hn::Set(d, 1.0));
    const V q = hn::IfThenElse(hn::Eq(ax, ay), equal, hn::Div(lower, upper));
    V angle = atan_unit(d, q);
    angle = hn::IfThenElse(steep, hn::Sub(hn::Set(d, kHalfPi), angle), angle);
    const V sign = hn::CopySign(hn::Set(d, 1.0), x);
    angle = hn::IfThenElse(hn::Lt(sign, zero), hn::Sub(hn::Set(d, 3.14159265358979323846), angle),
                           angle);
    const V both = hn::Add(x, y);
    const auto nan = hn::Or(hn::IsNaN(x), hn::IsNaN(y));
    return hn::IfThenElse(nan, both, hn::CopySign(angle, y));
  }
};

// e^t to some 1e-12, |t| up to 700.
template <class D, class V>
HWY_INLINE V exp_limited(D d, V t) {
  const hn::RebindToSigned<D> di;
  const V whole = hn::Set(d, 0x1.8p52);  // adding it rounds, and leaves the integer at the bottom
  const V shifted = hn::MulAdd(t, hn::Set(d, 1.44269504088896340736), whole);
  const V r = hn::NegMulAdd(hn::Sub(shifted, whole), hn::Set(d, 0.693147180559945309417), t);
  const V p = poly(d, r, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120,
                   1.0 / 24, 1.0 / 6, 0.5, 1.0);
  const V fraction = hn::MulAdd(r, p, hn::Set(d, 1.0));
  const auto scale = hn::ShiftLeft<52>(hn::BitCast(di, shifted));
  return hn::BitCast(d, hn::Add(hn::BitCast(di, fraction), scale));
}

// |x|^y by exp(y log |x|), with the sign and the exceptions of C's pow.
struct WidePow {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V y) const {
    const V zero = hn::Zero(d), infinity = hn::Set(d, __builtin_inf());
    const auto usual =
        hn::And(hn::And(hn::Gt(x, zero), hn::Lt(x, infinity)), hn::Lt(hn::Abs(y), infinity));
    if (HWY_UNLIKELY(!hn::AllTrue(d, usual))) return any(d, x, y);
    const V t = hn::Mul(y, log_positive(d, x)), most = hn::Set(d, 700.0);
    return exp_limited(d, hn::Min(hn::Max(t, hn::Neg(most)), most));
  }

 private:
  template <class D, class V>
  HWY_NOINLINE static V any(D d, V x, V y) {
    const V one = hn::Set(d, 1.0), zero = hn::Zero(d), half = hn::Set(d, 0.5),
            magnitude = hn::Abs(x);
    V power = exp_f64(d, hn::Mul(y, log_f64(d, magnitude)));
    const auto whole = hn::Eq(hn::Round(y), y);
    const V halved = hn::Mul(y, half);
    const auto odd = hn::And(whole, hn::Ne(hn::Round(halved), halved));
    power = hn::IfThenElse(odd, hn::CopySign(power, x), power);
    const auto lost = hn::And(
        hn::And(hn::Lt(x, zero), hn::Lt(hn::Neg(hn::Set(d, __builtin_inf())), x)), hn::Not(whole));
    power = hn::IfThenElse(lost, hn::Set(d, __builtin_nan("")), power);
    const auto infinite = hn::Eq(hn::Abs(y), hn::Set(d, __builtin_inf()));
    auto unit = hn::Or(hn::Eq(y, zero), hn::Eq(x, one));
    unit = hn::Or(unit, hn::And(hn::Eq(magnitude, one), infinite));
    return hn::IfThenElse(unit, one, power);
  }
};

struct WideHypot {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V y) const {
    const V infinity = hn::Set(d, __builtin_inf());
    const auto infinite = hn::Or(hn::Eq(hn::Abs(x), infinity), hn::Eq(hn::Abs(y), infinity));
    return hn::IfThenElse(infinite, infinity, hn::Sqrt(hn::MulAdd(x, x, hn::Mul(y, y))));
  }
};

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
