// Order, signs and zeros of numbers from their bits: drivers may treat subnormal numbers as zero and assume that there is no NaN.
#if defined(TN_F32)
// Ascending with x; 0 for both zeros. NaN is beyond the infinities.
int order_of(float x) {
  const int bits = floatBitsToInt(x);
  return bits < 0 ? -(bits & 0x7fffffff) : bits;
}
bool sign_bit(float x) { return floatBitsToInt(x) < 0; }
float with_sign(float x, bool negative) {
  return uintBitsToFloat((floatBitsToUint(x) & 0x7fffffffu) | (negative ? 0x80000000u : 0u));
}
#elif defined(TN_F64)
int64_t order_of(double x) {
  const int64_t bits = int64_t(packUint2x32(unpackDouble2x32(x)));
  return bits < 0l ? -(bits & 0x7fffffffffffffffl) : bits;
}
bool sign_bit(double x) { return (unpackDouble2x32(x).y >> 31) != 0u; }
double with_sign(double x, bool negative) {
  const uvec2 bits = unpackDouble2x32(x);
  return packDouble2x32(uvec2(bits.x, (bits.y & 0x7fffffffu) | (negative ? 0x80000000u : 0u)));
}
#else
C order_of(C x) { return x; }
bool sign_bit(C x) { return x < C(0); }
#endif
