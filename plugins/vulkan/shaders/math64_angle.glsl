// Angles of doubles: sine, cosine, tangent and their inverses. Included by math64.glsl.

// 2 / pi in binary, after 64 zeros.
const uint kTwoOverPi64[41] = uint[41](
    0u, 0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u,
    0xb7246e3au, 0x424dd2e0u, 0x06492eeau, 0x09d1921cu, 0xfe1deb1cu, 0xb129a73eu, 0xe88235f5u, 0x2ebb4484u, 0xe99c7026u, 0xb45f7e41u,
    0x3991d639u, 0x835339f4u, 0x9c845f8bu, 0xbdf9283bu, 0x1ff897ffu, 0xde05980fu, 0xef2f118bu, 0x5a0a6d1fu, 0x6d367ecfu, 0x27cb09b7u,
    0x4f463f66u, 0x9e5fea2du, 0x7527bac7u, 0xebe5f17bu, 0x3d0739f7u, 0x8a5292eau, 0x6bfb5fb1u, 0x1f8d5d08u, 0x56033046u, 0xfc7b6babu,
    0xf0cfbc20u);

// Like math.glsl's m_reduce_large, with 192 bits of 2 / pi and m of two words.
uint m_reduce_large(double x, out double r) {
  const uvec2 bits = unpackDouble2x32(x);
  const uint m0 = bits.x, m1 = (bits.y & 0xfffffu) | 0x100000u;
  const uint begin = ((bits.y >> 20) & 0x7ffu) - 1075u + 62u, word = begin >> 5, shift = begin & 31u;
  // p = m w modulo 2^192, the lowest word first.
  uint p[6] = uint[6](0u, 0u, 0u, 0u, 0u, 0u);
  uint carry0 = 0u, carry1 = 0u, before = 0u;
  for (uint i = 0; i < 6; ++i) {
    const uint at = word + 5u - i;
    uint w = kTwoOverPi64[at] << shift;
    if (shift != 0u) w |= kTwoOverPi64[at + 1u] >> (32u - shift);
    // Column i: m0 w_i, m1 w_(i-1) and what is carried.
    uint high, low, high1, low1, c1, c2;
    umulExtended(m0, w, high, low);
    umulExtended(m1, before, high1, low1);
    uint sum = uaddCarry(low, low1, c1);
    sum = uaddCarry(sum, carry0, c2);
    p[i] = sum;
    uint c3, c4;
    uint next = uaddCarry(high, high1, c3);
    next = uaddCarry(next, carry1 + c1 + c2, c4);
    carry0 = next;
    carry1 = c3 + c4;
    before = w;
  }
  uint quadrant = p[5] >> 30;
  uint f[5];
  for (uint i = 0; i < 5; ++i) f[i] = (p[5u - i] << 2) | (p[4u - i] >> 30);
  const bool negative = (f[0] >> 31) != 0u;
  if (negative) {
    ++quadrant;
    for (uint i = 0; i < 5; ++i) f[i] = ~f[i];
  }
  // The fraction as a sum of words; the first non-zero one determines the precision.
  double fraction = 0.0lf, scale = 2.3283064365386962890625e-10lf, turn = 0.0lf, lost = 0.0lf;
  for (uint i = 0; i < 5; ++i) {
    const double part = double(f[i]) * scale;
    precise double sum = fraction + part;
    precise double rest = part - (sum - fraction);
    lost += rest;
    fraction = sum;
    scale *= 2.3283064365386962890625e-10lf;
  }
  r = fraction * 1.57079632679489655800lf + (fraction * 6.12323399573676603587e-17lf + lost * 1.57079632679489655800lf);
  if (negative != m_signbit(x)) r = -r;
  return m_signbit(x) ? 0u - quadrant : quadrant;
}

// x minus the nearest multiple of pi / 2. Up to a million subtracts the multiple in parts of 33, 33 and 53 bits.
uint m_reduce_angle(double x, out double r) {
  if (m_abs(x) > 1e6lf) return m_reduce_large(x, r);
  const double n = roundEven(x * 6.36619772367581382433e-01lf);
  precise double a = x - n * 1.57079632673412561417e+00lf, w = n * 6.07710050630396597660e-11lf, b = a - w;
  w = n * 2.02226624879595063154e-21lf - ((a - b) - w);
  r = b - w;
  return uint(int(n));
}

// For |r| <= pi / 4.
double m_sin_reduced(double r) {
  const double z = r * r;
  double p = z * 1.58969099521155010221e-10lf - 2.50507602534068634195e-08lf;
  p = p * z + 2.75573137070700676789e-06lf;
  p = p * z - 1.98412698298579493134e-04lf;
  p = p * z + 8.33333333332248946124e-03lf;
  p = p * z - 1.66666666666666324348e-01lf;
  return r + z * r * p;
}
double m_cos_reduced(double r) {
  const double z = r * r;
  double p = z * -1.13596475577881948265e-11lf + 2.08757232129817482790e-09lf;
  p = p * z - 2.75573143513906633035e-07lf;
  p = p * z + 2.48015872894767294178e-05lf;
  p = p * z - 1.38888888888741095749e-03lf;
  p = p * z + 4.16666666666666019037e-02lf;
  precise double less = 0.5lf * z, most = 1.0lf - less, lost = (1.0lf - most) - less;
  return most + (z * z * p + lost);
}

double m_sin(double x) {
  if (!m_is_finite(x)) return double(M_NAN);
  if (x == 0.0lf) return x;
  double r;
  const uint q = m_reduce_angle(x, r);
  const double y = (q & 1u) != 0u ? m_cos_reduced(r) : m_sin_reduced(r);
  return (q & 2u) != 0u ? -y : y;
}

double m_cos(double x) {
  if (!m_is_finite(x)) return double(M_NAN);
  double r;
  const uint q = m_reduce_angle(x, r);
  const double y = (q & 1u) != 0u ? m_sin_reduced(r) : m_cos_reduced(r);
  return ((q + 1u) & 2u) != 0u ? -y : y;
}

double m_tan(double x) {
  if (!m_is_finite(x)) return double(M_NAN);
  if (x == 0.0lf) return x;
  double r;
  const uint q = m_reduce_angle(x, r);
  const double s = m_sin_reduced(r), c = m_cos_reduced(r);
  return (q & 1u) != 0u ? -c / s : s / c;
}

// asin(sqrt z) / sqrt z - 1 for 0 <= z <= 1/4.
double m_asin_rest(double z) {
  double p = z * 3.47933107596021167570e-05lf + 7.91534994289814532176e-04lf;
  p = p * z - 4.00555345006794114027e-02lf;
  p = p * z + 2.01212532134862925881e-01lf;
  p = p * z - 3.25565818622400915405e-01lf;
  p = p * z + 1.66666666666666657415e-01lf;
  double q = z * 7.70381505559019352791e-02lf - 6.88283971605453293030e-01lf;
  q = q * z + 2.02094576023350569471e+00lf;
  q = q * z - 2.40339491173441421878e+00lf;
  return z * p / (q * z + 1.0lf);
}

double m_asin(double x) {
  const double a = m_abs(x);
  if (m_is_nan(x)) return x;
  if (a > 1.0lf) return double(M_NAN);
  if (a <= 0.5lf) return x + x * m_asin_rest(x * x);
  const double z = 0.5lf * (1.0lf - a), s = m_sqrt(z), y = s + s * m_asin_rest(z);
  return m_copysign(1.57079632679489655800lf - (2.0lf * y - 6.12323399573676603587e-17lf), x);
}

double m_acos(double x) {
  const double a = m_abs(x);
  if (m_is_nan(x)) return x;
  if (a > 1.0lf) return double(M_NAN);
  if (a <= 0.5lf) return 1.57079632679489655800lf - (x - (6.12323399573676603587e-17lf - x * m_asin_rest(x * x)));
  const double z = 0.5lf * (1.0lf - a), s = m_sqrt(z), y = 2.0lf * (s + s * m_asin_rest(z));
  return x < 0.0lf ? 3.14159265358979311600lf - (y - 1.22464679914735317720e-16lf) : y;
}

double m_atan(double x) {
  if (m_is_nan(x)) return x;
  const double a = m_abs(x);
  double high = 0.0lf, low = 0.0lf, t = a;
  if (a >= 2.4375lf) {
    high = 1.57079632679489655800lf, low = 6.12323399573676603587e-17lf, t = -1.0lf / a;
  } else if (a >= 1.1875lf) {
    high = 9.82793723247329054082e-01lf, low = 1.39033110312309984516e-17lf, t = (a - 1.5lf) / (1.0lf + 1.5lf * a);
  } else if (a >= 0.6875lf) {
    high = 7.85398163397448278999e-01lf, low = 3.06161699786838301793e-17lf, t = (a - 1.0lf) / (a + 1.0lf);
  } else if (a >= 0.4375lf) {
    high = 4.63647609000806093515e-01lf, low = 2.26987774529616870924e-17lf, t = (2.0lf * a - 1.0lf) / (2.0lf + a);
  }
  const double z = t * t;
  double p = z * 1.62858201153657823623e-02lf - 3.65315727442169155270e-02lf;
  p = p * z + 4.97687799461593236017e-02lf;
  p = p * z - 5.83357013379057348645e-02lf;
  p = p * z + 6.66107313738753120669e-02lf;
  p = p * z - 7.69187620504482999495e-02lf;
  p = p * z + 9.09088713343650656196e-02lf;
  p = p * z - 1.11111104054623557880e-01lf;
  p = p * z + 1.42857142725034663711e-01lf;
  p = p * z - 1.99999999998764832476e-01lf;
  p = p * z + 3.33333333333329318027e-01lf;
  return m_copysign(high - ((t * z * p - low) - t), x);
}

double m_atan2(double y, double x) {
  if (m_is_nan(x) || m_is_nan(y)) return double(M_NAN);
  const double ax = m_abs(x), ay = m_abs(y);
  const bool steep = ay > ax;
  const double q = ax == ay ? (ax == 0.0lf ? 0.0lf : 1.0lf) : steep ? m_div(ax, ay) : m_div(ay, ax);
  double angle = m_atan(q);
  if (steep) angle = 1.57079632679489655800lf - (angle - 6.12323399573676603587e-17lf);
  if (m_signbit(x)) angle = 3.14159265358979311600lf - (angle - 1.22464679914735317720e-16lf);
  return m_copysign(angle, y);
}
