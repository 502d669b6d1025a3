// Remainders of floats, exact: integer division of the significands, a few bits of the quotient at a time.
#ifdef TN_F32
#define TN_M uint
const int kFraction = 23, kStep = 8;
TN_M to_bits(float x) { return floatBitsToUint(x) & 0x7fffffffu; }
float of_bits(TN_M bits) { return uintBitsToFloat(bits); }
int top_bit(TN_M m) { return findMSB(m); }
#else
#define TN_M uint64_t
const int kFraction = 52, kStep = 11;
TN_M to_bits(double x) { return packUint2x32(unpackDouble2x32(x)) & 0x7ffffffffffffffful; }
double of_bits(TN_M bits) { return packDouble2x32(unpackUint2x32(bits)); }
int top_bit(TN_M m) {
  const uvec2 words = unpackUint2x32(m);
  return words.y != 0u ? 32 + findMSB(words.y) : findMSB(words.x);
}
#endif

// Significand and exponent: |x| = m 2^(e - constant), of normal and of subnormal numbers.
TN_M split_bits(TN_M bits, out int e) {
  e = int(bits >> kFraction);
  const TN_M m = bits & ((TN_M(1) << kFraction) - TN_M(1));
  if (e != 0) return m | (TN_M(1) << kFraction);
  e = 1;
  return m;
}

// With the sign of x, as in C.
C m_fmod(C x, C y) {
  const TN_M a = to_bits(x), b = to_bits(y);
  if (is_nan(x) || is_nan(y) || is_inf(x) || b == TN_M(0)) return C(M_NAN);
  if (a < b) return x;
  int ea, eb;
  TN_M m = split_bits(a, ea);
  const TN_M d = split_bits(b, eb);
  m %= d;
  for (int left = ea - eb; left > 0 && m != TN_M(0); left -= kStep) m = (m << min(left, kStep)) % d;
  if (m == TN_M(0)) return m_copysign(C(0.0), x);
  // Back to a float with the exponent of y, or less.
  const int shift = min(kFraction - top_bit(m), eb - 1);
  m <<= shift;
  const TN_M fraction = m & ((TN_M(1) << kFraction) - TN_M(1));
  const TN_M exponent = (m >> kFraction) != TN_M(0) ? TN_M(eb - shift) : TN_M(0);
  return m_copysign(of_bits(fraction | (exponent << kFraction)), x);
}

// Takes the divisor's sign, as in Python.
C python_remainder(C x, C y) {
  C r = m_fmod(x, y);
  if (is_nan(r)) return r;
  if (to_bits(r) == TN_M(0)) return m_copysign(C(0.0), y);
  return m_signbit(r) != m_signbit(y) ? r + y : r;
}

// Python's floor division, except that an infinite quotient stays infinite.
C floor_divide(C x, C y) {
  const bool x_zero = to_bits(x) == TN_M(0), y_zero = to_bits(y) == TN_M(0);
  const C side = m_signbit(x) != m_signbit(y) ? C(-1.0) : C(1.0);
  if (is_nan(x) || is_nan(y) || (is_inf(x) && is_inf(y)) || (x_zero && y_zero)) return C(M_NAN);
  if (is_inf(x) || y_zero) return m_copysign(C(M_INF), side);
  if (is_inf(y)) return m_copysign(C(0.0), side);
  const C r = m_fmod(x, y);
  C q = m_div(x - r, y);
  if (to_bits(r) != TN_M(0) && m_signbit(r) != m_signbit(y)) q -= C(1.0);
  if (q == C(0.0)) return m_copysign(C(0.0), side);
  const C floored = floor(q);
  return q - floored > C(0.5) ? floored + C(1.0) : floored;
}
