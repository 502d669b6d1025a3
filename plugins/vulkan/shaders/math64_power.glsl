// Powers and hyperbolic functions of doubles. Included by math64.glsl.

double m_tanh(double x) {
  if (m_is_nan(x)) return x;
  const double a = m_abs(x);
  double y = 1.0lf;
  if (a < 1.0lf) {
    const double t = m_expm1(-2.0lf * a);
    y = -t / (t + 2.0lf);
  } else if (a < 22.0lf) {
    y = 1.0lf - 2.0lf / (m_expm1(2.0lf * a) + 2.0lf);
  }
  return m_copysign(y, x);
}

// e^|x| / 2.
double m_half_exp(double x) {
  const double root = m_exp(0.5lf * min(m_abs(x), 1440.0lf));
  return (0.5lf * root) * root;
}

double m_sinh(double x) {
  if (m_is_nan(x)) return x;
  const double a = m_abs(x);
  if (a > 22.0lf) return m_copysign(a > 700.0lf ? m_half_exp(a) : 0.5lf * m_exp(a), x);
  const double t = m_expm1(a);
  return m_copysign(0.5lf * (a < 1.0lf ? 2.0lf * t - t * t / (t + 1.0lf) : t + t / (t + 1.0lf)), x);
}

double m_cosh(double x) {
  if (m_is_nan(x)) return x;
  const double a = m_abs(x);
  if (a > 700.0lf) return m_half_exp(a);
  const double e = m_exp(a);
  return 0.5lf * e + 0.5lf / e;
}

double m_asinh(double x) {
  const double a = m_abs(x), z = a * a;
  if (!m_is_finite(x)) return x;
  const double y = a > 1e18lf ? m_log(a) + M_LN2 : m_log1p(a + z / (1.0lf + m_sqrt(z + 1.0lf)));
  return m_copysign(y, x);
}

double m_acosh(double x) {
  if (m_is_nan(x)) return x;
  if (x < 1.0lf) return double(M_NAN);
  const double t = x - 1.0lf;
  return x > 1e18lf ? m_log(x) + M_LN2 : m_log1p(t + m_sqrt(t * t + (t + t)));
}

double m_atanh(double x) {
  if (m_is_nan(x)) return x;
  const double a = m_abs(x);
  if (a >= 1.0lf) return a == 1.0lf ? m_copysign(double(M_INF), x) : double(M_NAN);
  const double twice = a + a;
  const double y = 0.5lf * m_log1p(a < 0.5lf ? twice + twice * a / (1.0lf - a) : twice / (1.0lf - a));
  return m_copysign(y, x);
}

double m_hypot(double x, double y) {
  const double a = m_abs(x), b = m_abs(y);
  if (!m_is_finite(x) || !m_is_finite(y)) return double(a == double(M_INF) || b == double(M_INF) ? M_INF : M_NAN);
  const double larger = max(a, b), smaller = min(a, b);
  const int n = larger > 1e150lf ? -512 : larger < 1e-150lf ? 600 : 0;
  const double p = m_ldexp(larger, n), q = m_ldexp(smaller, n);
  return m_ldexp(m_sqrt(p * p + q * q), -n);
}

// log2 of positive, finite x as a sum, the first part of 21 bits (e_pow).
double m_log2_parts(double x, out double rest) {
  uvec2 b = unpackDouble2x32(x);
  double n = 0.0lf;
  if (b.y < 0x00100000u) {
    b = unpackDouble2x32(double(b.y) * 4294967296.0lf + double(b.x));
    n = -1074.0lf;
  }
  n += double(int(b.y >> 20) - 1023);
  uint m = (b.y & 0xfffffu) | 0x3ff00000u;
  bool upper = false;
  if (m >= 0x3ffbb67au) {
    m -= 0x00100000u;
    n += 1.0lf;
  } else if (m > 0x3ff3988eu) {
    upper = true;
  }
  const double a = packDouble2x32(uvec2(b.x, m)), base = upper ? 1.5lf : 1.0lf;
  precise double u = a - base, v = 1.0lf / (a + base), s = u * v;
  precise double sh = m_top(s), th = m_top(a + base);
  precise double tl = a - (th - base);
  precise double sl = v * ((u - sh * th) - sh * tl);
  precise double z = s * s, r = 2.06975017800338417784e-01lf;
  r = r * z + 2.30660745775561754067e-01lf;
  r = r * z + 2.72728123808534006489e-01lf;
  r = r * z + 3.33333329818377432918e-01lf;
  r = r * z + 4.28571428578550184252e-01lf;
  r = r * z + 5.99999999999994648725e-01lf;
  r = r * z * z + sl * (sh + s);
  z = sh * sh;
  th = m_top((3.0lf + z) + r);
  tl = r - ((th - 3.0lf) - z);
  u = sh * th;
  v = sl * th + tl * s;
  precise double ph = m_top(u + v), pl = v - (ph - u);
  precise double zh = ph * 9.61796700954437255859e-01lf;
  precise double zl = ph * -7.02846165095275826516e-09lf + (pl * 9.61796693925975554329e-01lf + (upper ? 1.35003920212974897128e-08lf : 0.0lf));
  const double dh = upper ? 5.84962487220764160156e-01lf : 0.0lf;
  precise double first = m_top(((zh + zl) + dh) + n);
  precise double left = zl - (((first - n) - dh) - zh);
  rest = left;
  return first;
}

double m_power(double x, double y) {
  double rest;
  const double whole = m_log2_parts(x, rest);
  if (m_abs(y) > 1e21lf) return x == 1.0lf ? 1.0lf : double((x > 1.0lf) == (y > 0.0lf) ? M_INF : 0.0);
  precise double yh = m_top(y), yl = y - yh;
  precise double low = yl * whole + y * rest, high = yh * whole;
  precise double z = high + low;
  if (z > 1025.0lf) return double(M_INF);
  if (z < -1076.0lf) return 0.0lf;
  const double n = roundEven(z);
  precise double f = (high - n) + low;
  return m_ldexp(m_exp(f * M_LN2), int(n));
}

double m_pow(double x, double y) {
  if (y == 0.0lf || x == 1.0lf) return 1.0lf;
  if (m_is_nan(x) || m_is_nan(y)) return double(M_NAN);
  const double a = m_abs(x), halved = 0.5lf * y;
  const bool whole = m_abs(y) >= 4503599627370496.0lf || roundEven(y) == y;
  const bool odd = whole && m_abs(y) < 9007199254740992.0lf && roundEven(halved) != halved;
  double p;
  if (!m_is_finite(y))
    p = a == 1.0lf ? 1.0lf : double((a > 1.0lf) == (y > 0.0lf) ? M_INF : 0.0);
  else if (a == 0.0lf || !m_is_finite(x))
    p = double((a == 0.0lf) == (y > 0.0lf) ? 0.0 : M_INF);
  else if (m_signbit(x) && !whole)
    return double(M_NAN);
  else
    p = m_power(a, y);
  return odd ? m_copysign(p, x) : p;
}
