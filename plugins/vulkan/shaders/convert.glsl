// Converts numbers to the bits of dtype OUT, low and high 32, like plugins/cpu/ops/copy_cast.cpp: floats are truncated to integers and
// clamped to the range, NaN gives 0, anything but 0 is true. Include after layout.glsl and quads.glsl.

bool is_signed(uint dtype) { return dtype >= DT_I8 && dtype <= DT_I64; }
uint width_of(uint dtype) { return 8u * quad_words(dtype); }

uvec2 limits(bool upper) {
  const uint bits = width_of(OUT) - (is_signed(OUT) ? 1u : 0u);
  const uvec2 most = bits > 32u ? uvec2(~0u, (1u << (bits - 32u)) - 1u) : uvec2(bits == 32u ? ~0u : (1u << bits) - 1u, 0u);
  return upper ? most : is_signed(OUT) ? ~most : uvec2(0u);
}

// Both ends of the range, as the nearest F inside or just outside.
#define TN_TO_INTEGER(F, Wide)                                                                   \
  uvec2 to_integer(F x) {                                                                        \
    const uint bits = width_of(OUT) - (is_signed(OUT) ? 1u : 0u);                                \
    const F end = F(uintBitsToFloat((127u + bits) << 23)), low = is_signed(OUT) ? -end : F(0.0); \
    if (!(x > low)) return limits(false);                                                        \
    if (x >= end) return limits(true);                                                           \
    return Wide;                                                                                 \
  }
#ifdef TN_HAS_64
uvec2 words_of(int64_t x) { return unpackUint2x32(uint64_t(x)); }
TN_TO_INTEGER(float, words_of(int64_t(x)))
#else
TN_TO_INTEGER(float, uvec2(uint(int(x)), 0u))
#endif
#ifdef TN_F64
TN_TO_INTEGER(double, words_of(int64_t(x)))

// On the way to a half type: lost bits make the last bit odd, so that rounding twice equals rounding once.
float round_to_odd(double x) {
  const float nearest = float(x);
  const uint bits = floatBitsToUint(nearest);
  if ((bits & 0x7f800000u) == 0x7f800000u || (bits & 1u) != 0u) return nearest;
  const double error = x - double(nearest);
  if (error == 0.0lf) return nearest;
  return uintBitsToFloat((error > 0.0lf) == (x > 0.0lf) ? bits + 1u : bits - 1u);
}
#endif

// ---- The four kinds of sources ----------------------------------------------------------------------------------------------

uvec2 from_float(float x) {
  const uint bits = floatBitsToUint(x);
  switch (OUT) {
    case DT_F32: return uvec2(bits, 0u);
    case DT_F16: return uvec2(to_half(x), 0u);
    case DT_BF16: return uvec2(to_bfloat(x), 0u);
    case DT_BOOL: return uvec2((bits << 1) != 0u ? 1u : 0u, 0u);
#ifdef TN_F64
    case DT_F64: return unpackDouble2x32(double(x));
#endif
  }
  return is_nan_bits(bits) ? uvec2(0u) : to_integer(x);
}

uvec2 from_int(int x) {
  switch (OUT) {
    case DT_F32:
    case DT_F16:
    case DT_BF16: return from_float(float(x));
    case DT_BOOL: return uvec2(x != 0 ? 1u : 0u, 0u);
#ifdef TN_F64
    case DT_F64: return unpackDouble2x32(double(x));
#endif
  }
  return uvec2(uint(x), uint(x >> 31));
}

#ifdef TN_HAS_64
uvec2 from_long(int64_t x) {
  switch (OUT) {
    case DT_F32:
    case DT_F16:
    case DT_BF16: return from_float(float(x));
    case DT_BOOL: return uvec2(x != 0l ? 1u : 0u, 0u);
#ifdef TN_F64
    case DT_F64: return unpackDouble2x32(double(x));
#endif
  }
  return words_of(x);
}
#endif

#ifdef TN_F64
uvec2 from_double(double x) {
  const uvec2 bits = unpackDouble2x32(x);
  switch (OUT) {
    case DT_F64: return bits;
    case DT_F32: return uvec2(floatBitsToUint(float(x)), 0u);
    case DT_F16:
    case DT_BF16: return is_nan(x) ? from_float(uintBitsToFloat(0x7fc00000u)) : from_float(round_to_odd(x));
    case DT_BOOL: return uvec2(((bits.y << 1) | bits.x) != 0u ? 1u : 0u, 0u);
  }
  return is_nan(x) ? uvec2(0u) : to_integer(x);
}
#endif
