#version 460
// Conversions between dtypes. The F32 module has neither f64 nor integers beyond i32, the I64 module no f64.
// Computes in F32, F64, I64; one op of many by a constant.
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

#include "convert.glsl"

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
  const Place p = place_of(4u * q);
  const Quad x = load_quad1(quad_words(IN1), p.at[1] >> 2);
  Quad z;
  [[unroll]] for (uint w = 0; w < 8; ++w) z.w[w] = 0u;
  for (uint j = 0; j < 4; ++j) {
    const uvec2 y = converted(bits_of(x, j));
    if (size == 1) z.w[0] |= (y.x & 0xffu) << (8u * j);
    if (size == 2) z.w[j >> 1] |= (y.x & 0xffffu) << (16u * (j & 1u));
    if (size == 4) z.w[j] = y.x;
    if (size == 8) z.w[2 * j] = y.x, z.w[2 * j + 1] = y.y;
  }
  store_quad0(size, p.at[0] >> 2, z);
}

void main() {
  const bool in_quads = (DENSE & 3u) == 3u;
  const uint quads = in_quads ? push.word[0] >> 2 : 0u, rest = push.word[0] - 4u * quads;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  uint q = gl_GlobalInvocationID.x;
  if (q < quads) do one_quad(q); while ((q += step) < quads);
  uint i = gl_GlobalInvocationID.x;
  if (i < rest) do one_element(4u * quads + i); while ((i += step) < rest);
}
