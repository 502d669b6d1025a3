// The inverse of erf, as plugins/common/erfinv.hpp has it.

// x·p(w), w = −ln(1 − x²): M. Giles, "Approximating the erfinv function", GPU Computing Gems 2, 2012, table 5.
C erfinv_start(C x, C w) {
  if (w < C(5.0)) {
    const C t = w - C(2.5);
    C p = C(3.43273939e-07) + C(2.81022636e-08) * t;
    p = C(-3.5233877e-06) + p * t;
    p = C(-4.39150654e-06) + p * t;
    p = C(0.00021858087) + p * t;
    p = C(-0.00125372503) + p * t;
    p = C(-0.00417768164) + p * t;
    p = C(0.246640727) + p * t;
    return (C(1.50140941) + p * t) * x;
  }
  const C t = m_sqrt(w) - C(3.0);
  C p = C(0.000100950558) + C(-0.000200214257) * t;
  p = C(0.00134934322) + p * t;
  p = C(-0.00367342844) + p * t;
  p = C(0.00573950773) + p * t;
  p = C(-0.0076224613) + p * t;
  p = C(0.00943887047) + p * t;
  p = C(1.00167406) + p * t;
  return (C(2.83297682) + p * t) * x;
}

C m_erfinv(C x) {
  const C a = m_abs(x);
  if (a == C(1.0)) return m_copysign(C(M_INF), x);
  if (!(a < C(1.0))) return C(M_NAN);
#if defined(TN_F64)
  // Halley's steps on erf, or, where 1 − |x| is exact, Newton's on ln erfc.
  const C rest = 1.0lf - a;
  const C w = a > 0.5lf ? -(m_log(rest) + m_log1p(a)) : -m_log1p(-a * a);
  C y = erfinv_start(a, w);
  for (int step = w > 16.0lf ? 4 : 2; step > 0; --step) {
    const C slope = 1.1283791670955126lf * m_exp(-y * y);
    if (a > 0.5lf) {
      const C tail = m_erfc(y);
      y += m_log(tail / rest) * tail / slope;
    } else {
      const C u = (m_erf(y) - a) / slope;
      y -= u / (1.0lf + y * u);
    }
  }
  return m_copysign(y, x);
#else
  return erfinv_start(x, -m_log((C(1.0) - a) * (C(1.0) + a)));
#endif
}
