// The error function, the normal distribution and what activations make of exp. Included by math.glsl. Polynomials as plugins/cpu
// has them.

// 2 sqrt(2 / pi) and 0.044715 of gelu's formula with tanh; 1 / sqrt(2 pi).
#ifdef TN_F64
const double kGeluScale = 1.5957691216057308lf, kGeluCube = 0.044715lf, kNormalPeak = 0.39894228040143267794lf;
#else
const float kGeluScale = 1.5957691216057308, kGeluCube = 0.044715, kNormalPeak = 0.39894228040143267794;
#endif

// s = 1 / (1 + e^-x), and 1 - s.
float m_sigmoid(float x, out float complement) {
  const float e = m_exp(-m_abs(x)), r = m_div(1.0, 1.0 + e), er = e * r;
  complement = x < 0.0 ? r : er;
  return x < 0.0 ? er : r;
}
float m_sigmoid(float x) {
  float complement;
  return m_sigmoid(x, complement);
}

// x / (1 + e^-x); minus infinity gives 0.
float m_silu(float x) {
  if (m_is_nan(x)) return x;
  int n;
  const float m = m_exp_parts(-m_abs(x), n);
  const float q = m_div(max(x, -150.0), 1.0 + m_ldexp(m, n));
  return x < 0.0 ? m_ldexp(q * m, n) : q;
}

// log(1 + e^-|x|)
float m_softplus_rest(float x) { return m_log1p_unit(m_exp(-m_abs(x))); }

// erf for |x| <= 475/512. Both polynomials of erf: N. Juffa, "erff with max ulp error < 1", stackoverflow.com/q/35148198.
float m_erf_small(float x) {
  const float z = x * x;
  float p = fma(z, -5.96761703e-4, 4.99119423e-3);
  p = fma(p, z, -2.67681349e-2);
  p = fma(p, z, 1.12819925e-1);
  p = fma(p, z, -3.76125336e-1);
  p = fma(p, z, 1.28379166e-1);
  return fma(p, x, x);
}

float m_erf(float x) {
  if (m_is_nan(x)) return x;
  const float t = m_abs(x), s = x * x;
  if (t <= 0.927734375) return m_erf_small(x);
  if (t > 4.0) return m_copysign(1.0, x);
  float r = fma(-1.72853470e-5, t, 3.83197126e-4);
  const float u = fma(-3.88396438e-3, t, 2.42546219e-2);
  r = fma(r, s, u);
  r = fma(r, t, -1.06777877e-1);
  r = fma(r, t, -6.34846687e-1);
  r = fma(r, t, -1.28717512e-1);
  r = fma(r, t, -t);
  return m_copysign(1.0 - m_exp(r), x);
}

// The upper tail of the normal distribution over its density's exponential, for u >= 0: erfc(u / sqrt 2) / 2 * exp(u^2 / 2), fitted
// on [0, 14] as a polynomial in (u - 4) / (u + 4) over u + 4.
float m_scaled_tail(float u) {
  const float r = m_div(1.0, u + 4.0), t = (u - 4.0) * r;
  float p = fma(t, -0.00012018439883831888, 0.0002012617333093658);
  p = fma(p, t, 0.001572317909449339);
  p = fma(p, t, -0.0035261837765574455);
  p = fma(p, t, -0.0075292508117854595);
  p = fma(p, t, 0.06040668860077858);
  p = fma(p, t, -0.1865226775407791);
  p = fma(p, t, 0.38713669776916504);
  p = fma(p, t, -0.607896625995636);
  p = fma(p, t, 0.7552851438522339);
  return p * r;
}

// exp(-s x^2) for 0 <= x <= 15, corrected for the rounding error of the square; s is 1 or 1/2.
float m_exp_minus_square(float x, float s) {
  const float square = x * x, error = -m_residue(square, x, x);
  float n;
  const float r = m_reduce_exp(-s * square, n);
  return m_ldexp(m_expm1_reduced(fma(-s, error, r)) + 1.0, int(n));
}

// x Phi(x), as max(x, 0) minus |x| times the upper tail at |x|; minus infinity gives 0.
float m_gelu(float x) {
  if (m_is_nan(x)) return x;
  const float u = min(15.0, m_abs(x));
  return max(x, 0.0) - u * m_scaled_tail(u) * m_exp_minus_square(u, 0.5);
}

// The normal distribution function, and exp(-x^2 / 2) as a by-product. x is not NaN.
float m_normal_cdf(float x, out float density) {
  const float u = min(15.0, m_abs(x));
  density = m_exp_minus_square(u, 0.5);
  const float beyond = m_scaled_tail(u) * density;
  return x < 0.0 ? beyond : 1.0 - beyond;
}

float m_erfc(float x) {
  if (m_is_nan(x)) return x;
  if (m_abs(x) < 0.5) return 1.0 - m_erf_small(x);
  const float z = min(10.5, m_abs(x));
  const float tail = 2.0 * m_scaled_tail(z * 1.41421356) * m_exp_minus_square(z, 1.0);
  return x < 0.0 ? 2.0 - tail : tail;
}
