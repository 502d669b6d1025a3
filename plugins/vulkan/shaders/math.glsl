// Elementary functions to a few units in the last place: a driver's own may be off by far more. Floats here; with -DTN_F64 the same
// names take doubles. Nothing relies on fma() being fused, on NaN being kept by min() and max(), or on subnormal numbers.
#define M_INF uintBitsToFloat(0x7f800000u)
#define M_NAN uintBitsToFloat(0x7fc00000u)

bool m_is_nan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }
bool m_is_finite(float x) { return (floatBitsToUint(x) & 0x7fffffffu) < 0x7f800000u; }
bool m_signbit(float x) { return (floatBitsToUint(x) >> 31) != 0u; }
float m_abs(float x) { return uintBitsToFloat(floatBitsToUint(x) & 0x7fffffffu); }
float m_copysign(float x, float sign) {
  return uintBitsToFloat((floatBitsToUint(x) & 0x7fffffffu) | (floatBitsToUint(sign) & 0x80000000u));
}
// The upper 12 bits of the significand: products of two such numbers are exact.
float m_upper(float x) { return uintBitsToFloat(floatBitsToUint(x) & 0xfffff000u); }

// x * 2^n for whole n in [-252, 254].
float m_ldexp(float x, int n) {
  const int first = n >> 1;
  precise float y = x * uintBitsToFloat(uint(first + 127) << 23);
  y = y * uintBitsToFloat(uint(n - first + 127) << 23);
  return y;
}

// The rounding error of c as the product of a and b: c - a b (Dekker's product).
float m_residue(float c, float a, float b) {
  const float ah = m_upper(a), bh = m_upper(b);
  precise float al = a - ah, bl = b - bh;
  precise float r = c - ah * bh;
  r = r - ah * bl;
  r = r - al * bh;
  r = r - al * bl;
  return r;
}

// Far from where a product of parts would overflow, or lose bits.
bool m_is_middling(float x) { return (floatBitsToUint(x) & 0x7fffffffu) - 0x20000000u < 0x40000000u; }

// Correctly rounded except for rare ties; a driver's quotient may be 2.5 ulp off.
float m_div(float x, float y) {
  const float q = x / y;
  if (m_is_middling(x) && m_is_middling(y) && m_is_middling(q)) return q + m_residue(x, q, y) / y;
  return q;
}

float m_sqrt(float x) {
  const float s = sqrt(x);
  return m_is_middling(x) ? s + m_residue(x, s, s) / (s + s) : s;
}

float m_rsqrt(float x) { return m_div(1.0, m_sqrt(x)); }

// ---- Exponentials -------------------------------------------------------------------------------------------------------

// e^r - 1 for |r| <= ln 2 / 2. Chebyshev fit, as plugins/cpu has it.
float m_expm1_reduced(float r) {
  float q = fma(r, 0.0013927684631198645, 0.008364380337297916);
  q = fma(q, r, 0.04166654497385025);
  q = fma(q, r, 0.1666657030582428);
  q = fma(q, r, 0.5);
  return fma(r * r, q, r);
}

// Splits x into n ln 2 + r; the upper part of ln 2 has few bits, so that n times it is exact (Cephes expf).
float m_reduce_exp(float x, out float n) {
  n = roundEven(x * 1.44269504);
  precise float r = x - n * 0.693359375;
  r = r - n * -2.12194440e-4;
  return r;
}

// e^x as m 2^n, m near 1, so that a factor can join before the result leaves the normal range.
float m_exp_parts(float x, out int n) {
  float whole;
  const float r = m_reduce_exp(min(100.0, max(-150.0, x)), whole);
  n = int(whole);
  return m_expm1_reduced(r) + 1.0;
}

float m_exp(float x) {
  int n;
  const float m = m_exp_parts(x, n);
  return m_is_nan(x) ? x : m_ldexp(m, n);
}

float m_exp2(float x) {
  const float limited = min(129.0, max(-151.0, x)), n = roundEven(limited);
  const float m = m_expm1_reduced((limited - n) * 0.693147181) + 1.0;
  return m_is_nan(x) ? x : m_ldexp(m, int(n));
}

float m_expm1(float x) {
  float n;
  const float r = m_reduce_exp(min(89.0, max(-20.0, x)), n);
  const float p = m_expm1_reduced(r);
  if (m_is_nan(x) || x == 0.0) return x;
  if (x > 32.0) return m_ldexp(p + 1.0, int(n));
  const float power = m_ldexp(1.0, int(n));
  return fma(p, power, power - 1.0);
}

// ---- Logarithms ---------------------------------------------------------------------------------------------------------

// log(1 + f) - f + f^2 / 2 for 1 + f between the roots of 1/2 and 2. Chebyshev fit, as plugins/cpu has it.
float m_log1p_rest(float f) {
  float p = fma(f, 0.06971611827611923, -0.11479733884334564);
  p = fma(p, f, 0.11685419827699661);
  p = fma(p, f, -0.12425687164068222);
  p = fma(p, f, 0.14249058067798615);
  p = fma(p, f, -0.1666780263185501);
  p = fma(p, f, 0.20000715553760529);
  p = fma(p, f, -0.2499999701976776);
  p = fma(p, f, 0.3333333134651184);
  return f * f * f * p;
}

// log(1 + f) plus n ln 2 (the splitting is that of Cephes logf).
float m_log1p_reduced(float f, float n) {
  const float y = fma(f * f, -0.5, fma(n, -2.12194440e-4, m_log1p_rest(f)));
  return fma(n, 0.693359375, f + y);
}

// Splits a positive x into 2^n (1 + f), with 1 + f between the roots of 1/2 and 2, and returns f. Subnormal numbers are read as integers.
float m_split(float x, out float n) {
  uint bits = floatBitsToUint(x);
  n = 0.0;
  if (bits < 0x00800000u) {
    bits = floatBitsToUint(float(bits));
    n = -149.0;
  }
  const int exponent = int(bits - 0x3f3504f3u) >> 23;
  n += float(exponent);
  return uintBitsToFloat(bits - (uint(exponent) << 23)) - 1.0;
}

// y, the logarithm of x, or the result for special x.
float m_log_edges(float x, float y) {
  const uint bits = floatBitsToUint(x);
  if ((bits << 1) == 0u) return -M_INF;
  if (m_is_nan(x) || bits == 0x7f800000u) return x;
  return m_signbit(x) ? M_NAN : y;
}

float m_log(float x) {
  float n;
  const float f = m_split(x, n);
  return m_log_edges(x, m_log1p_reduced(f, n));
}

float m_log2(float x) {
  float n;
  const float f = m_split(x, n), y = fma(f * f, -0.5, m_log1p_rest(f));
  // log2(e) as 1 + 0.4427: the products with f and y are small.
  const float rest = fma(f, 0.44269504, fma(y, 0.44269504, y));
  return m_log_edges(x, n + (f + rest));
}

float m_log10(float x) {
  float n;
  const float f = m_split(x, n), y = f + fma(f * f, -0.5, m_log1p_rest(f));
  // log10(2) in two parts, the upper one of 8 bits (Cephes log10f).
  const float rest = fma(y, 0.4342944819, n * 2.48745663981195213739e-4);
  return m_log_edges(x, fma(n, 0.30078125, rest));
}

float m_log1p(float x) {
  if (x > -0.29 && x < 0.41) return m_log1p_reduced(x, 0.0);
  if (!m_is_finite(x)) return m_signbit(x) && !m_is_nan(x) ? M_NAN : x;
  precise float u = 1.0 + x;
  // What the sum lost enters as the first term of its series.
  precise float lost = x > 1.0 ? 1.0 - (u - x) : x - (u - 1.0);
  float n;
  const float f = m_split(u, n);
  return m_log_edges(u, m_log1p_reduced(f, n) + (u > 0.0 ? lost / u : 0.0));
}

// log(1 + e) for e in [0, 1].
float m_log1p_unit(float e) {
  return e > 0.41421356 ? m_log1p_reduced((e - 1.0) * 0.5, 1.0) : m_log1p_reduced(e, 0.0);
}

#include "math_angle.glsl"
#include "math_power.glsl"
#include "math_normal.glsl"
#ifdef TN_F64
#include "math64.glsl"
#endif
