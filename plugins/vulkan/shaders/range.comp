#version 460
// arange and linspace: start + i step, computed independently. CODE 0: integers, 1: floats, 2: floats from both ends towards the middle.
// Words: elements, then start, step, end as integers or doubles of two words.
// Computes in F64, I64.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#define TN_OPERANDS 2
#include "layout.glsl"
#include "quads.glsl"
#include "convert.glsl"

uvec2 pair(uint k) { return uvec2(push.word[1u + 2u * k], push.word[2u + 2u * k]); }

uvec2 value_at(uint i) {
#ifdef TN_F64
  const double start = packDouble2x32(pair(0)), step = packDouble2x32(pair(1));
  const uint n = push.word[0];
  precise double y = start + double(i) * step;
  if (CODE == 2 && i >= n / 2u) y = packDouble2x32(pair(2)) - double(n - 1u - i) * step;
  if (CODE != 0) return OUT == DT_F16 || OUT == DT_BF16 ? from_float(float(y)) : from_double(y);
#endif
  return from_long(int64_t(packUint2x32(pair(0)) + uint64_t(i) * packUint2x32(pair(1))));
}

void main() {
  const uint size = quad_words(OUT);
  uint i = gl_GlobalInvocationID.x;
  if (i < push.word[0]) do {
    const uvec2 y = value_at(i);
    if (size == 1) AT8(0, i) = uint8_t(y.x & 0xffu);
    if (size == 2) AT16(0, i) = uint16_t(y.x & 0xffffu);
    if (size == 4) AT32(0, i) = y.x;
    if (size == 8) AT32(0, 2u * i) = y.x, AT32(0, 2u * i + 1u) = y.y;
  } while ((i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) < push.word[0]);
}
