// ln |Γ(x)| and its derivative ψ(x). Formulas: M. Abramowitz, I. Stegun, "Handbook of Mathematical Functions", 1964.

// π, (ln 2π − 1) / 2, and 1 − γ followed by (−1)^k (ζ(k) − 1) / k, as many as matter in C for |t| ≤ 1/2.
#ifdef TN_F64
const double kPi = 3.14159265358979323846lf, kStirling = 0.41893853320467274178lf;
const double kAroundTwo[26] = double[26](
    0.42278433509846714lf, 0.32246703342411322lf, -0.067352301053198095lf, 0.020580808427784548lf, -0.0073855510286739853lf,
    0.0028905103307415233lf, -0.001192753911703261lf, 0.00050966952474304242lf, -0.00022315475845357938lf, 9.9457512781808534e-5lf,
    -4.4926236738133142e-5lf, 2.0507212775670692e-5lf, -9.4394882752683959e-6lf, 4.3748667899074878e-6lf, -2.0392157538013662e-6lf,
    9.5514121304074198e-7lf, -4.492469198764566e-7lf, 2.1207184805554666e-7lf, -1.00432248239681e-7lf, 4.7698101693639806e-8lf,
    -2.2711094608943165e-8lf, 1.0838659214896954e-8lf, -5.1834750419700467e-9lf, 2.4836745438024783e-9lf, -1.1921401405860912e-9lf,
    5.731367241678862e-10lf);
#else
const float kPi = 3.14159274, kStirling = 0.418938533;
const float kAroundTwo[12] =
    float[12](0.422784335, 0.322467033, -0.0673523011, 0.0205808084, -0.00738555103, 0.00289051033, -0.00119275391, 0.000509669525,
              -0.000223154758, 9.94575128e-5, -4.49262367e-5, 2.05072128e-5);
#endif

// ln Γ(2 + t) for |t| ≤ 1/2: 6.1.33.
C lgamma_around_two(C t) {
  C p = C(0.0);
  for (int k = kAroundTwo.length() - 1; k >= 0; --k) p = p * t + kAroundTwo[k];
  return p * t;
}

// ln Γ(x) for 0 < x < 8, by way of the number with the same fraction around 2.
C lgamma_low(C x) {
  const C n = roundEven(x), t = x - n, y = lgamma_around_two(t);
  if (n == C(1.0)) return y - m_log1p(t);
  if (n == C(0.0)) return y - m_log(t * (C(1.0) + t));
  C factor = C(1.0);
  for (C i = C(2.0); i < n; i += C(1.0)) factor *= i + t;
  return y + m_log(factor);
}

// From 8 on: 6.1.41.
C lgamma_high(C x) {
  const C r = C(1.0) / x, s = r * r;
  C p = C(1.0) / C(156.0) * s - C(691.0) / C(360360.0);
  p = p * s + C(1.0) / C(1188.0);
  p = p * s - C(1.0) / C(1680.0);
  p = p * s + C(1.0) / C(1260.0);
  p = p * s - C(1.0) / C(360.0);
  p = p * s + C(1.0) / C(12.0);
  return (x - C(0.5)) * (m_log(x) - C(1.0)) + (kStirling + p * r);
}

C m_lgamma(C x) {
  const C a = m_abs(x);
  if (m_is_nan(x)) return x;
  if (!m_is_finite(x)) return C(M_INF);
  if (a < C(1e-17)) return -m_log(a);  // 1 / |x| itself; products do not accept subnormal operands
  const C y = a < C(8.0) ? lgamma_low(a) : lgamma_high(a);
  if (!m_signbit(x)) return y;
  // Γ(x) Γ(−x) = −π / (x sin πx): 6.1.17.
  const C f = a - roundEven(a);
  return f == C(0.0) ? C(M_INF) : m_log(kPi / (a * m_abs(m_sin(kPi * f)))) - y;
}

// As in plugins/common/gamma.hpp: 6.3.7, 6.3.5, 6.3.18.
C m_digamma(C x) {
  if (x == C(0.0)) return m_signbit(x) ? C(M_INF) : C(-M_INF);
  if (!m_is_finite(x)) return m_signbit(x) ? C(M_NAN) : x;
  C y = C(0.0);
  if (x < C(0.0)) {
    const C f = x - roundEven(x);
    if (f == C(0.0)) return C(M_NAN);
    y = -kPi / m_tan(kPi * f);
    x = C(1.0) - x;
  }
  for (; x < C(10.0); x += C(1.0)) y -= C(1.0) / x;
  const C r = C(1.0) / x, s = r * r;
  C p = C(1.0) / C(12.0) * s - C(691.0) / C(32760.0);
  p = p * s + C(1.0) / C(132.0);
  p = p * s - C(1.0) / C(240.0);
  p = p * s + C(1.0) / C(252.0);
  p = p * s - C(1.0) / C(120.0);
  p = p * s + C(1.0) / C(12.0);
  return y + (m_log(x) - C(0.5) * r - s * p);
}
