#version 460
// One of two values by a condition, as bits: CODE is their size in bytes.
// Computes in I32; one op of many by a constant.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#define TN_OPERANDS 4
#include "layout.glsl"
#include "quads.glsl"

void one_element(uint i) {
  const Place p = place_of(i);
  const bool first = load_bool1(p.at[1]);
  if (CODE == 1) AT8(0, p.at[0]) = uint8_t(first ? uint(AT8(2, p.at[2])) : uint(AT8(3, p.at[3])));
  if (CODE == 2) AT16(0, p.at[0]) = uint16_t(first ? uint(AT16(2, p.at[2])) : uint(AT16(3, p.at[3])));
  for (uint w = 0; w < CODE / 4; ++w)
    AT32(0, p.at[0] * (CODE / 4) + w) =
        first ? AT32(2, p.at[2] * (CODE / 4) + w) : AT32(3, p.at[3] * (CODE / 4) + w);
}

// Four bytes, each all ones where the condition's is not 0.
uint mask_of(uint bytes) {
  return (bytes & 1u) * 0xffu | ((bytes >> 8) & 1u) * 0xff00u | ((bytes >> 16) & 1u) * 0xff0000u |
         ((bytes >> 24) & 1u) * 0xff000000u;
}

// Two halves, of the lowest two bytes of such a mask.
uint halves_of(uint mask) { return (mask & 1u) * 0xffffu | ((mask >> 8) & 1u) * 0xffff0000u; }

void one_quad(uint q) {
  const Place p = place_of(4u * q);
  const uint mask = mask_of((DENSE & 2u) != 0u ? AT32(1, p.at[1] >> 2) : load_bool1(p.at[1]) ? 0x01010101u : 0u);
  const Quad x = load_quad2(CODE, p.at[2] >> 2), y = load_quad3(CODE, p.at[3] >> 2);
  Quad z;
  [[unroll]] for (uint w = 0; w < 8; ++w) {
    uint take = mask;
    if (CODE == 2) take = halves_of(mask >> (16u * (w & 1u)));
    if (CODE == 4) take = (mask >> (8u * (w & 3u)) & 1u) != 0u ? 0xffffffffu : 0u;
    if (CODE == 8) take = (mask >> (8u * (w >> 1)) & 1u) != 0u ? 0xffffffffu : 0u;
    if (w < CODE) z.w[w] = (x.w[w] & take) | (y.w[w] & ~take);
  }
  store_quad0(CODE, p.at[0] >> 2, z);
}

void main() {
  // Quads where the condition and both values are contiguous.
  const bool in_quads = (DENSE & 13u) == 13u;
  const uint quads = in_quads ? push.word[0] >> 2 : 0u, rest = push.word[0] - 4u * quads;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  uint q = gl_GlobalInvocationID.x;
  if (q < quads) do one_quad(q); while ((q += step) < quads);
  uint i = gl_GlobalInvocationID.x;
  if (i < rest) do one_element(4u * quads + i); while ((i += step) < rest);
}
