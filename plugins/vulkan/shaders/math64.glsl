// math.glsl's functions of doubles. Polynomials and formulas: fdlibm (Sun Microsystems, 1993) unless another source is named.
#define M_LN2 0.693147180559945309417lf

bool m_is_nan(double x) {
  const uvec2 b = unpackDouble2x32(x);
  const uint high = b.y & 0x7fffffffu;
  return high > 0x7ff00000u || (high == 0x7ff00000u && b.x != 0u);
}
bool m_is_finite(double x) { return (unpackDouble2x32(x).y & 0x7ff00000u) != 0x7ff00000u; }
bool m_signbit(double x) { return (unpackDouble2x32(x).y >> 31) != 0u; }
double m_abs(double x) {
  const uvec2 b = unpackDouble2x32(x);
  return packDouble2x32(uvec2(b.x, b.y & 0x7fffffffu));
}
double m_copysign(double x, double sign) {
  const uvec2 b = unpackDouble2x32(x);
  return packDouble2x32(uvec2(b.x, (b.y & 0x7fffffffu) | (unpackDouble2x32(sign).y & 0x80000000u)));
}
// The upper 26 bits of the significand, and the upper 21.
double m_upper(double x) {
  const uvec2 b = unpackDouble2x32(x);
  return packDouble2x32(uvec2(b.x & 0xf8000000u, b.y));
}
double m_top(double x) { return packDouble2x32(uvec2(0u, unpackDouble2x32(x).y)); }

// 2^n for n in [-1022, 1023].
double m_power_of_two(int n) { return packDouble2x32(uvec2(0u, uint(n + 1023) << 20)); }

// x * 2^n for whole n in [-2044, 2046].
double m_ldexp(double x, int n) {
  const int first = n >> 1;
  precise double y = x * m_power_of_two(first);
  y = y * m_power_of_two(n - first);
  return y;
}

double m_residue(double c, double a, double b) {
  const double ah = m_upper(a), bh = m_upper(b);
  precise double al = a - ah, bl = b - bh;
  precise double r = c - ah * bh;
  r = r - ah * bl;
  r = r - al * bh;
  r = r - al * bl;
  return r;
}

bool m_is_middling(double x) { return (unpackDouble2x32(x).y & 0x7fffffffu) - 0x20000000u < 0x3fd00000u; }

double m_div(double x, double y) {
  const double q = x / y;
  if (m_is_middling(x) && m_is_middling(y) && m_is_middling(q)) return q + m_residue(x, q, y) / y;
  return q;
}

double m_sqrt(double x) {
  const double s = sqrt(x);
  return m_is_middling(x) ? s + m_residue(x, s, s) / (s + s) : s;
}

double m_rsqrt(double x) { return m_div(1.0lf, m_sqrt(x)); }

// ---- Exponentials -------------------------------------------------------------------------------------------------------

// Splits x into n ln 2 + high - low.
int m_reduce_exp(double x, out double high, out double low) {
  const double n = roundEven(x * 1.44269504088896338700lf);
  precise double h = x - n * 6.93147180369123816490e-01lf;
  high = h;
  low = n * 1.90821492927058770002e-10lf;
  return int(n);
}

double m_exp(double x) {
  if (m_is_nan(x)) return x;
  double high, low;
  const int n = m_reduce_exp(min(720.0lf, max(-760.0lf, x)), high, low);
  const double r = high - low, t = r * r;
  double p = t * 4.13813679705723846039e-08lf - 1.65339022054652515390e-06lf;
  p = p * t + 6.61375632143793436117e-05lf;
  p = p * t - 2.77777777770155933842e-03lf;
  p = p * t + 1.66666666666666019037e-01lf;
  const double c = r - t * p;
  return m_ldexp(1.0lf - ((low - (r * c) / (2.0lf - c)) - high), n);
}

double m_exp2(double x) {
  if (m_is_nan(x)) return x;
  const double limited = min(1030.0lf, max(-1080.0lf, x)), n = roundEven(limited);
  return m_ldexp(m_exp((limited - n) * M_LN2), int(n));
}

double m_expm1(double x) {
  if (m_is_nan(x) || x == 0.0lf) return x;
  double high, low;
  const int n = m_reduce_exp(min(720.0lf, max(-50.0lf, x)), high, low);
  precise double r = high - low, c = (high - r) - low;
  const double halved = 0.5lf * r, z = r * halved;
  double p = z * -2.01099218183624371326e-07lf + 4.00821782732936239552e-06lf;
  p = p * z - 7.93650757867487942473e-05lf;
  p = p * z + 1.58730158725481460165e-03lf;
  p = p * z - 3.33333333333331316428e-02lf;
  const double q = 1.0lf + z * p, t = 3.0lf - q * halved;
  double e = z * ((q - t) / (6.0lf - r * t));
  if (n == 0) return r - (r * e - z);
  e = (r * (e - c) - c) - z;
  if (n == -1) return 0.5lf * (r - e) - 0.5lf;
  if (n == 1) return r < -0.25lf ? -2.0lf * (e - (r + 0.5lf)) : 1.0lf + 2.0lf * (r - e);
  if (n < 0 || n > 56) return m_ldexp(1.0lf - (e - r), n) - 1.0lf;
  const double back = m_power_of_two(-n);
  return m_ldexp(n < 20 ? (1.0lf - back) - (e - r) : (r - (e + back)) + 1.0lf, n);
}

// ---- Logarithms ---------------------------------------------------------------------------------------------------------

// f^2 / 2 + log(1 + f) - f for 1 + f between the roots of 1/2 and 2.
double m_log1p_rest(double f) {
  const double s = f / (2.0lf + f), z = s * s, w = z * z, square = 0.5lf * f * f;
  const double t1 = w * (3.999999999940941908e-01lf + w * (2.222219843214978396e-01lf + w * 1.531383769920937332e-01lf));
  const double t2 = z * (6.666666666666735130e-01lf +
                         w * (2.857142874366239149e-01lf + w * (1.818357216161805012e-01lf + w * 1.479819860511658591e-01lf)));
  return s * (square + (t1 + t2));
}

// log(1 + f) plus n ln 2, plus c.
double m_log1p_reduced(double f, double n, double c) {
  const double rest = m_log1p_rest(f) + (n * 1.90821492927058770002e-10lf + c);
  return n * 6.93147180369123816490e-01lf - ((0.5lf * f * f - rest) - f);
}

// Positive x as 2^n (1 + f), 1 + f between the roots of 1/2 and 2: returns f.
double m_split(double x, out double n) {
  uvec2 b = unpackDouble2x32(x);
  n = 0.0lf;
  if (b.y < 0x00100000u) {  // subnormal: read as an integer
    b = unpackDouble2x32(double(b.y) * 4294967296.0lf + double(b.x));
    n = -1074.0lf;
  }
  const int exponent = int(b.y - 0x3fe6a09eu) >> 20;
  n += double(exponent);
  return packDouble2x32(uvec2(b.x, b.y - (uint(exponent) << 20))) - 1.0lf;
}

double m_log_edges(double x, double y) {
  const uvec2 b = unpackDouble2x32(x);
  if ((b.y & 0x7fffffffu) == 0u && b.x == 0u) return double(-M_INF);
  if (m_is_nan(x) || (b.y == 0x7ff00000u && b.x == 0u)) return x;
  return m_signbit(x) ? double(M_NAN) : y;
}

double m_log(double x) {
  double n;
  const double f = m_split(x, n);
  return m_log_edges(x, m_log1p_reduced(f, n, 0.0lf));
}

double m_log2(double x) {
  double n;
  const double f = m_split(x, n), y = f - (0.5lf * f * f - m_log1p_rest(f));
  return m_log_edges(x, n + y * 1.44269504088896338700lf);
}

double m_log10(double x) {
  double n;
  const double f = m_split(x, n), y = f - (0.5lf * f * f - m_log1p_rest(f));
  const double rest = n * 3.69423907715893078616e-13lf + y * 4.34294481903251816668e-01lf;
  return m_log_edges(x, n * 3.01029995663611771306e-01lf + rest);
}

double m_log1p(double x) {
  if (x > -0.29lf && x < 0.41lf) return x == 0.0lf ? x : m_log1p_reduced(x, 0.0lf, 0.0lf);
  if (!m_is_finite(x)) return m_signbit(x) && !m_is_nan(x) ? double(M_NAN) : x;
  precise double u = 1.0lf + x;
  precise double lost = x > 1.0lf ? 1.0lf - (u - x) : x - (u - 1.0lf);
  double n;
  const double f = m_split(u, n);
  return m_log_edges(u, m_log1p_reduced(f, n, u > 0.0lf ? lost / u : 0.0lf));
}

double m_log1p_unit(double e) { return m_log1p(e); }

#include "math64_angle.glsl"
#include "math64_power.glsl"
#include "math64_normal.glsl"
