#version 460
// Elements from one layout to another, as bits: CODE is their size in bytes.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#define TN_OPERANDS 2
#include "layout.glsl"
#include "quads.glsl"

void one_element(uint i) {
  const Place p = place_of(i);
  if (CODE == 1) AT8(0, p.at[0]) = AT8(1, p.at[1]);
  if (CODE == 2) AT16(0, p.at[0]) = AT16(1, p.at[1]);
  for (uint w = 0; w < CODE / 4; ++w) AT32(0, p.at[0] * (CODE / 4) + w) = AT32(1, p.at[1] * (CODE / 4) + w);
}

void one_quad(uint q) {
  const Place p = place_of(4u * q);
  store_quad0(CODE, p.at[0] >> 2, load_quad1(CODE, p.at[1] >> 2));
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
