#version 460
// Conversions between dtypes, as plugins/cpu/ops/cast.cpp has them: floats to integers are truncated and limited to the range, NaN
// gives 0, anything but 0 is true. The F32 module has neither f64 nor integers beyond i32, the I64 module no f64.
#extension GL_GOOGLE_include_directive : require
#ifdef TN_F64
#define TN_WIDE
#endif
#include "tenon.glsl"
#define TN_OPERANDS 2
#include "layout.glsl"
#include "quads.glsl"

// An element as bits: the lower and the upper 32.
uvec2 bits_at(uint i) {
  switch (quad_words(IN1)) {
    case 1: return uvec2(uint(AT8(1, i)), 0u);
    case 2: return uvec2(uint(AT16(1, i)), 0u);
    case 4: return uvec2(AT32(1, i), 0u);
  }
  return uvec2(AT32(1, 2u * i), AT32(1, 2u * i + 1u));
}
uvec2 bits_of(Quad x, uint j) {
  switch (quad_words(IN1)) {
    case 1: return uvec2((x.w[0] >> (8u * j)) & 0xffu, 0u);
    case 2: return uvec2((x.w[j >> 1] >> (16u * (j & 1u))) & 0xffffu, 0u);
    case 4: return uvec2(x.w[j], 0u);
  }
  return uvec2(x.w[2 * j], x.w[2 * j + 1]);
}

// ---- From a float F to an integer: both ends as the nearest F inside or just outside the range -------------------------------

bool is_signed(uint dtype) { return dtype >= DT_I8 && dtype <= DT_I64; }
uint width_of(uint dtype) { return 8u * quad_words(dtype); }

uvec2 limits(bool upper) {
  const uint bits = width_of(OUT) - (is_signed(OUT) ? 1u : 0u);
  const uvec2 most = bits > 32u ? uvec2(~0u, (1u << (bits - 32u)) - 1u) : uvec2(bits == 32u ? ~0u : (1u << bits) - 1u, 0u);
  return upper ? most : is_signed(OUT) ? ~most : uvec2(0u);
}

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

// On the way to a half type: what is lost makes the last bit odd, so that rounding twice is rounding once.
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

uvec2 converted(uvec2 bits) {
  switch (IN1) {
    case DT_F32: return from_float(uintBitsToFloat(bits.x));
    case DT_F16: return from_float(from_half(bits.x));
    case DT_BF16: return from_float(from_bfloat(bits.x));
    case DT_I8: return from_int(bitfieldExtract(int(bits.x), 0, 8));
    case DT_I16: return from_int(bitfieldExtract(int(bits.x), 0, 16));
#ifdef TN_HAS_64
    case DT_U32: return from_long(int64_t(bits.x));
    case DT_I64: return from_long(int64_t(packUint2x32(bits)));
#endif
#ifdef TN_F64
    case DT_F64: return from_double(packDouble2x32(bits));
#endif
  }
  return from_int(int(bits.x));
}

// ---- Elements ---------------------------------------------------------------------------------------------------------------

void one_element(uint i) {
  const Place p = place_of(i);
  const uvec2 y = converted(bits_at(p.at[1]));
  const uint at = p.at[0], size = quad_words(OUT);
  if (size == 1) AT8(0, at) = uint8_t(y.x & 0xffu);
  if (size == 2) AT16(0, at) = uint16_t(y.x & 0xffffu);
  if (size == 4) AT32(0, at) = y.x;
  if (size == 8) AT32(0, 2u * at) = y.x, AT32(0, 2u * at + 1u) = y.y;
}

void one_quad(uint q) {
  const uint size = quad_words(OUT);
  const Quad x = load_quad1(quad_words(IN1), q);
  Quad z;
  [[unroll]] for (uint w = 0; w < 8; ++w) z.w[w] = 0u;
  [[unroll]] for (uint j = 0; j < 4; ++j) {
    const uvec2 y = converted(bits_of(x, j));
    if (size == 1) z.w[0] |= (y.x & 0xffu) << (8u * j);
    if (size == 2) z.w[j >> 1] |= (y.x & 0xffffu) << (16u * (j & 1u));
    if (size == 4) z.w[j] = y.x;
    if (size == 8) z.w[2 * j] = y.x, z.w[2 * j + 1] = y.y;
  }
  store_quad0(size, q, z);
}

void main() {
  const bool in_quads = (DENSE & 3u) == 3u;
  const uint quads = in_quads ? push.word[0] >> 2 : 0u, rest = push.word[0] - 4u * quads;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  if (in_quads)
    for (uint q = gl_GlobalInvocationID.x; q < quads; q += step) one_quad(q);
  for (uint i = gl_GlobalInvocationID.x; i < rest; i += step) one_element(4u * quads + i);
}
