// The error function of doubles and what activations make of exp. Included by math64.glsl.

double m_sigmoid(double x, out double complement) {
  const double e = m_exp(-m_abs(x)), r = 1.0lf / (1.0lf + e), er = e * r;
  complement = x < 0.0lf ? r : er;
  return x < 0.0lf ? er : r;
}
double m_sigmoid(double x) {
  double complement;
  return m_sigmoid(x, complement);
}
double m_silu(double x) { return x == double(-M_INF) ? 0.0lf : x * m_sigmoid(x); }
double m_softplus_rest(double x) { return m_log1p(m_exp(-m_abs(x))); }

// erf x / x - 1 for |x| < 0.84375, of the square.
double m_erf_small(double z) {
  double p = z * -2.37630166566501626084e-05lf - 5.77027029648944159157e-03lf;
  p = p * z - 2.84817495755985104766e-02lf;
  p = p * z - 3.25042107247001499370e-01lf;
  p = p * z + 1.28379167095512558561e-01lf;
  double q = z * -3.96022827877536812320e-06lf + 1.32494738004321644526e-04lf;
  q = q * z + 5.08130628187576562776e-03lf;
  q = q * z + 6.50222499887672944485e-02lf;
  q = q * z + 3.97917223959155352819e-01lf;
  return p / (q * z + 1.0lf);
}
// erf x - 0.845… for 0.84375 <= |x| < 1.25, of s = |x| - 1.
double m_erf_middle(double s) {
  double p = s * -2.16637559486879084300e-03lf + 3.54783043256182359371e-02lf;
  p = p * s - 1.10894694282396677476e-01lf;
  p = p * s + 3.18346619901161753674e-01lf;
  p = p * s - 3.72207876035701323847e-01lf;
  p = p * s + 4.14856118683748331666e-01lf;
  p = p * s - 2.36211856075265944077e-03lf;
  double q = s * 1.19844998467991074170e-02lf + 1.36370839120290507362e-02lf;
  q = q * s + 1.26171219808761642112e-01lf;
  q = q * s + 7.18286544141962662868e-02lf;
  q = q * s + 5.40397917702171048937e-01lf;
  q = q * s + 1.06420880400844228286e-01lf;
  return p / (q * s + 1.0lf);
}
// erfc a for 1.25 <= a < 28.
double m_erf_tail(double a) {
  const double s = 1.0lf / (a * a);
  double p, q;
  if (a < 2.857142857142857lf) {
    p = s * -9.81432934416914548592e+00lf - 8.12874355063065934246e+01lf;
    p = p * s - 1.84605092906711035994e+02lf;
    p = p * s - 1.62396669462573470355e+02lf;
    p = p * s - 6.23753324503260060396e+01lf;
    p = p * s - 1.05586262253232909814e+01lf;
    p = p * s - 6.93858572707181764372e-01lf;
    p = p * s - 9.86494403484714822705e-03lf;
    q = s * -6.04244152148580987438e-02lf + 6.57024977031928170135e+00lf;
    q = q * s + 1.08635005541779435134e+02lf;
    q = q * s + 4.29008140027567833386e+02lf;
    q = q * s + 6.45387271733267880336e+02lf;
    q = q * s + 4.34565877475229228821e+02lf;
    q = q * s + 1.37657754143519042600e+02lf;
    q = q * s + 1.96512716674392571292e+01lf;
  } else {
    p = s * -4.83519191608651397019e+02lf - 1.02509513161107724954e+03lf;
    p = p * s - 6.37566443368389627722e+02lf;
    p = p * s - 1.60636384855821916062e+02lf;
    p = p * s - 1.77579549177547519889e+01lf;
    p = p * s - 7.99283237680523006574e-01lf;
    p = p * s - 9.86494292470009928597e-03lf;
    q = s * -2.24409524465858183362e+01lf + 4.74528541206955367215e+02lf;
    q = q * s + 2.55305040643316442583e+03lf;
    q = q * s + 3.19985821950859553908e+03lf;
    q = q * s + 1.53672958608443695994e+03lf;
    q = q * s + 3.25792512996573918826e+02lf;
    q = q * s + 3.03380607434824582924e+01lf;
  }
  const double z = m_top(a);
  return m_exp(-z * z - 0.5625lf) * m_exp((z - a) * (z + a) + p / (q * s + 1.0lf)) / a;
}

double m_erf(double x) {
  if (m_is_nan(x)) return x;
  const double a = m_abs(x);
  if (a < 0.84375lf) return x + x * m_erf_small(x * x);
  if (a < 1.25lf) return m_copysign(8.45062911510467529297e-01lf + m_erf_middle(a - 1.0lf), x);
  return m_copysign(a < 6.0lf ? 1.0lf - m_erf_tail(a) : 1.0lf, x);
}

double m_erfc(double x) {
  if (m_is_nan(x)) return x;
  const double a = m_abs(x);
  if (a < 0.84375lf) {
    const double y = m_erf_small(x * x);
    return x < 0.25lf ? 1.0lf - (x + x * y) : 0.5lf - ((x - 0.5lf) + x * y);
  }
  if (a < 1.25lf) {
    const double y = m_erf_middle(a - 1.0lf);
    return x < 0.0lf ? 1.0lf + (8.45062911510467529297e-01lf + y) : (1.0lf - 8.45062911510467529297e-01lf) - y;
  }
  const double tail = a < 28.0lf ? m_erf_tail(a) : 0.0lf;
  return x < 0.0lf ? 2.0lf - tail : tail;
}

double m_normal_cdf(double x, out double density) {
  density = m_exp(-0.5lf * x * x);
  return 0.5lf * m_erfc(-x * 0.70710678118654752440lf);
}
double m_gelu(double x) { return x == double(-M_INF) ? 0.0lf : 0.5lf * x * m_erfc(-x * 0.70710678118654752440lf); }
