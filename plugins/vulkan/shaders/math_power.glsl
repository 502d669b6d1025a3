// Powers and hyperbolic functions. Included by math.glsl.

float m_tanh(float x) {
  if (m_is_nan(x)) return x;
  const float a = m_abs(x);
  float y;
  if (a < 0.625) {
    const float z = x * x;  // Chebyshev fit, as plugins/cpu has it
    float p = fma(z, -0.006096714176237583, 0.020997179672122);
    p = fma(p, z, -0.05385090783238411);
    p = fma(p, z, 0.1333276927471161);
    p = fma(p, z, -0.333333283662796);
    y = fma(z * p, a, a);
  } else {
    y = 1.0 - 2.0 / (m_exp(min(a + a, 60.0)) + 1.0);
  }
  return m_copysign(y, x);
}

// e^|x| / 2.
float m_half_exp(float x) {
  int n;
  const float m = m_exp_parts(m_abs(x), n);
  return m_ldexp(m, n - 1);
}

float m_sinh(float x) {
  if (m_is_nan(x)) return x;
  const float a = m_abs(x);
  if (a < 1.0) {
    const float z = x * x;  // Cephes sinhf
    float p = fma(z, 2.03721912945e-4, 8.33028376239e-3);
    p = fma(p, z, 1.66667160211e-1);
    return fma(z * p, x, x);
  }
  const float h = m_half_exp(min(a, 90.0));
  return m_copysign(h - 0.25 / h, x);
}

float m_cosh(float x) {
  if (m_is_nan(x)) return x;
  const float h = m_half_exp(min(m_abs(x), 90.0));
  return h + 0.25 / h;
}

// fdlibm's formulas.
float m_asinh(float x) {
  const float a = m_abs(x), z = a * a;
  if (!m_is_finite(x)) return x;
  const float y = a > 1e9 ? m_log(a) + 0.693147181 : m_log1p(a + z / (1.0 + m_sqrt(z + 1.0)));
  return m_copysign(y, x);
}

float m_acosh(float x) {
  if (m_is_nan(x)) return x;
  if (x < 1.0) return M_NAN;
  const float t = x - 1.0;
  return x > 1e9 ? m_log(x) + 0.693147181 : m_log1p(t + m_sqrt(fma(t, t, t + t)));
}

float m_atanh(float x) {
  if (m_is_nan(x)) return x;
  const float a = m_abs(x);
  if (a >= 1.0) return a == 1.0 ? m_copysign(M_INF, x) : M_NAN;
  const float twice = a + a;
  const float y = 0.5 * m_log1p(a < 0.5 ? twice + twice * a / (1.0 - a) : twice / (1.0 - a));
  return m_copysign(y, x);
}

float m_hypot(float x, float y) {
  const float a = m_abs(x), b = m_abs(y);
  if (!m_is_finite(x) || !m_is_finite(y)) return a == M_INF || b == M_INF ? M_INF : M_NAN;
  // The squares neither overflow nor underflow.
  const float larger = max(a, b), smaller = min(a, b);
  const int n = larger > 1e18 ? -64 : larger < 1e-18 ? 64 : 0;
  const float p = m_ldexp(larger, n), q = m_ldexp(smaller, n);
  return m_ldexp(m_sqrt(fma(p, p, q * q)), -n);
}

// log2 of positive, finite x as a sum, the first part of 12 bits (the formulas of fdlibm e_powf, W. J. Cody's bp and L).
float m_log2_parts(float x, out float rest) {
  uint bits = floatBitsToUint(x);
  float n = 0.0;
  if (bits < 0x00800000u) {
    bits = floatBitsToUint(float(bits));
    n = -149.0;
  }
  n += float(int(bits >> 23) - 127);
  uint m = (bits & 0x7fffffu) | 0x3f800000u;
  bool upper = false;  // near 3/2 rather than near 1
  if (m >= 0x3fddb3d7u) {
    m -= 0x00800000u;
    n += 1.0;
  } else if (m > 0x3f9cc471u) {
    upper = true;
  }
  const float a = uintBitsToFloat(m), base = upper ? 1.5 : 1.0;
  // s = (a - base) / (a + base), in two parts.
  precise float u = a - base, v = 1.0 / (a + base), s = u * v;
  precise float sh = m_upper(s), th = m_upper(a + base);
  precise float tl = (base - th) + a;
  precise float sl = v * ((u - sh * th) - sh * tl);
  precise float z = s * s, r = 0.20697501301765441894531;
  r = r * z + 0.23066075146198272705078;
  r = r * z + 0.27272811532020568847656;
  r = r * z + 0.33333334326744079589844;
  r = r * z + 0.42857143282890319824219;
  r = r * z + 0.60000002384185791015625;
  r = r * z * z + sl * (sh + s);
  // 3/2 log(a / base) = s (3 + sh^2 + r)
  z = sh * sh;
  th = m_upper((3.0 + z) + r);
  tl = r - ((th - 3.0) - z);
  u = sh * th;
  v = sl * th + tl * s;
  precise float ph = m_upper(u + v), pl = v - (ph - u);
  // times 2 / (3 ln 2)
  precise float zh = ph * 0.9619140625, zl = ph * -1.1736857402138412e-4 + (pl * 0.96179670095443725586 + (upper ? 1.56322085e-6 : 0.0));
  const float dh = upper ? 0.584960938 : 0.0;
  precise float first = m_upper(((zh + zl) + dh) + n);
  precise float left = zl - (((first - n) - dh) - zh);
  rest = left;
  return first;
}

// 2^(y log2 x) for positive, finite x and finite y.
float m_power(float x, float y) {
  float rest;
  const float whole = m_log2_parts(x, rest);
  if (m_abs(y) > 1e12) return x == 1.0 ? 1.0 : (x > 1.0) == (y > 0.0) ? M_INF : 0.0;
  precise float yh = m_upper(y), yl = y - yh;
  precise float low = yl * whole + y * rest, high = yh * whole;
  precise float z = high + low;
  if (z > 128.5) return M_INF;
  if (z < -150.5) return 0.0;
  const float n = roundEven(z);
  precise float f = (high - n) + low;
  // f ln 2, and its rounding error.
  precise float r = f * 0.693147181;
  return m_ldexp(m_expm1_reduced(r) + 1.0, int(n));
}

// With the special cases of C's pow.
float m_pow(float x, float y) {
  if (y == 0.0 || x == 1.0) return 1.0;
  if (m_is_nan(x) || m_is_nan(y)) return M_NAN;
  const float a = m_abs(x);
  const bool whole = m_abs(y) >= 8388608.0 || roundEven(y) == y;
  const bool odd = whole && m_abs(y) < 16777216.0 && (int(y) & 1) != 0;
  float p;
  if (!m_is_finite(y))
    p = a == 1.0 ? 1.0 : (a > 1.0) == (y > 0.0) ? M_INF : 0.0;
  else if (a == 0.0 || !m_is_finite(x))
    p = (a == 0.0) == (y > 0.0) ? 0.0 : M_INF;
  else if (m_signbit(x) && !whole)
    return M_NAN;
  else
    p = m_power(a, y);
  return odd ? m_copysign(p, x) : p;
}
