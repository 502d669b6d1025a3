// Angles: sine, cosine, tangent and their inverses. Included by math.glsl.

// 2 / pi in binary, after 32 zeros.
const uint kTwoOverPi[8] =
    uint[8](0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu);

// x minus the nearest multiple of pi / 2, exact before it is rounded (Payne and Hanek); returns the multiple modulo 4.
// For 64 <= |x| < infinity. With x = m 2^k, the bits of 2 / pi above 2^(1 - k) only add multiples of 4, so m is multiplied by the 96 bits
// from there on.
uint m_reduce_large(float x, out float r) {
  const uint bits = floatBitsToUint(x), m = (bits & 0x7fffffu) | 0x800000u;
  const uint begin = ((bits >> 23) & 0xffu) - 150u + 30u, word = begin >> 5, shift = begin & 31u;
  uint w[3];
  for (uint i = 0; i < 3; ++i) {
    w[i] = kTwoOverPi[word + i] << shift;
    if (shift != 0u) w[i] |= kTwoOverPi[word + i + 1u] >> (32u - shift);
  }
  uint high, low, carry;
  umulExtended(m, w[2], high, low);
  uint high1, low1;
  umulExtended(m, w[1], high1, low1);
  const uint middle = uaddCarry(low1, high, carry);
  const uint top = m * w[0] + high1 + carry;
  // 2 bits of the quadrant, then a fraction of one.
  uint quadrant = top >> 30;
  uint a = (top << 2) | (middle >> 30), b = (middle << 2) | (low >> 30);
  bool negative = (a >> 31) != 0u;
  if (negative) {
    ++quadrant;
    a = ~a;
    b = ~b;
  }
  const int zeros = a == 0u ? 32 : 31 - findMSB(a);
  const uint lead = zeros == 0 ? a : zeros == 32 ? b : (a << zeros) | (b >> (32 - zeros));
  const float upper = float(lead & 0xffffff00u), rest = float(lead & 0xffu);
  precise float turn = upper * 1.57079637;
  r = turn + (fma(rest, 1.57079637, upper * -4.37113883e-8) - m_residue(turn, upper, 1.57079637));
  r = m_ldexp(r, -32 - zeros);
  if (negative != m_signbit(x)) r = -r;
  return m_signbit(x) ? 0u - quadrant : quadrant;
}

// The same for any finite x. Up to 128 subtracts the multiple of pi / 2 in parts of 16, 17 and 24 bits.
uint m_reduce_angle(float x, out float r) {
  if (m_abs(x) > 128.0) return m_reduce_large(x, r);
  const float n = roundEven(x * 0.636619772);
  precise float t = x - n * 1.570770263671875;
  t = t - n * 2.6063062250614166e-05;
  t = t - n * 6.07710062827671e-11;
  r = t;
  return uint(int(n));
}

// For |r| <= pi / 4 (Cephes sinf, cosf and tanf).
float m_sin_reduced(float r) {
  const float z = r * r;
  float p = fma(z, -1.9515295891e-4, 8.3321608736e-3);
  p = fma(p, z, -1.6666654611e-1);
  return fma(p * z, r, r);
}
float m_cos_reduced(float r) {
  const float z = r * r;
  float p = fma(z, 2.443315711809948e-5, -1.388731625493765e-3);
  p = fma(p, z, 4.166664568298827e-2);
  // 1 - z / 2, and the rounding error of the difference.
  precise float less = 0.5 * z, most = 1.0 - less, lost = (1.0 - most) - less;
  return most + fma(z * z, p, lost);
}
float m_tan_reduced(float r) {
  const float z = r * r;
  float p = fma(z, 9.38540185543e-3, 3.11992232697e-3);
  p = fma(p, z, 2.44301354525e-2);
  p = fma(p, z, 5.34112807005e-2);
  p = fma(p, z, 1.33387994085e-1);
  p = fma(p, z, 3.33331568548e-1);
  return fma(p * z, r, r);
}

float m_sin(float x) {
  if (!m_is_finite(x)) return M_NAN;
  if (x == 0.0) return x;
  float r;
  const uint q = m_reduce_angle(x, r);
  const float y = (q & 1u) != 0u ? m_cos_reduced(r) : m_sin_reduced(r);
  return (q & 2u) != 0u ? -y : y;
}

float m_cos(float x) {
  if (!m_is_finite(x)) return M_NAN;
  float r;
  const uint q = m_reduce_angle(x, r);
  const float y = (q & 1u) != 0u ? m_sin_reduced(r) : m_cos_reduced(r);
  return ((q + 1u) & 2u) != 0u ? -y : y;
}

float m_tan(float x) {
  if (!m_is_finite(x)) return M_NAN;
  if (x == 0.0) return x;
  float r;
  const uint q = m_reduce_angle(x, r);
  const float y = m_tan_reduced(r);
  return (q & 1u) != 0u ? m_div(-1.0, y) : y;
}

// asin x for 0 <= x <= 1/2 (Cephes asinf).
float m_asin_reduced(float x) {
  const float z = x * x;
  float p = fma(z, 4.2163199048e-2, 2.4181311049e-2);
  p = fma(p, z, 4.5470025998e-2);
  p = fma(p, z, 7.4953002686e-2);
  p = fma(p, z, 1.6666752422e-1);
  return fma(p * z, x, x);
}

float m_asin(float x) {
  const float a = m_abs(x);
  if (m_is_nan(x)) return x;
  if (a > 1.0) return M_NAN;
  if (a <= 0.5) return m_copysign(m_asin_reduced(a), x);
  const float y = m_asin_reduced(m_sqrt(0.5 * (1.0 - a)));
  return m_copysign(1.57079637 - (2.0 * y + 4.37113883e-8), x);
}

float m_acos(float x) {
  const float a = m_abs(x);
  if (m_is_nan(x)) return x;
  if (a > 1.0) return M_NAN;
  if (a <= 0.5) return 1.57079637 - (m_copysign(m_asin_reduced(a), x) + 4.37113883e-8);
  const float y = 2.0 * m_asin_reduced(m_sqrt(0.5 * (1.0 - a)));
  return x < 0.0 ? 3.14159274 - (y + 8.74227766e-8) : y;
}

// For |x| <= tan(pi / 8) (Cephes atanf).
float m_atan_reduced(float x) {
  const float z = x * x;
  float p = fma(z, 8.05374449538e-2, -1.38776856032e-1);
  p = fma(p, z, 1.99777106478e-1);
  p = fma(p, z, -3.33329491539e-1);
  return fma(p * z, x, x);
}

// For 0 <= x <= 1 + sqrt 2: the angle to the ray of slope 1/2 or 1 is the reduced one.
float m_atan_middle(float x) {
  if (x > 0.6875) return 0.785398185 + (m_atan_reduced((x - 1.0) / (x + 1.0)) - 2.18556941e-8);
  if (x > 0.41421356) return 0.463647604 + (m_atan_reduced((2.0 * x - 1.0) / (2.0 + x)) + 5.01215868e-9);
  return m_atan_reduced(x);
}

float m_atan(float x) {
  if (m_is_nan(x)) return x;
  const float a = m_abs(x);
  if (a > 2.41421356) return m_copysign(1.57079637 - (m_atan_reduced(1.0 / a) + 4.37113883e-8), x);
  return m_copysign(m_atan_middle(a), x);
}

// Uses the quotient of the smaller to the larger magnitude; 0 / 0 counts as 0, infinity / infinity as 1.
float m_atan2(float y, float x) {
  if (m_is_nan(x) || m_is_nan(y)) return M_NAN;
  const float ax = m_abs(x), ay = m_abs(y);
  const bool steep = ay > ax;
  const float q = ax == ay ? (ax == 0.0 ? 0.0 : 1.0) : steep ? m_div(ax, ay) : m_div(ay, ax);
  float angle = m_atan_middle(q);
  if (steep) angle = 1.57079637 - (angle + 4.37113883e-8);
  if (m_signbit(x)) angle = 3.14159274 - (angle + 8.74227766e-8);
  return m_copysign(angle, y);
}
