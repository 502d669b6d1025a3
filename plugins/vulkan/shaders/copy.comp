#version 460
// Elements from one layout to another, as bits: CODE is their size in bytes.
// Computes in I32; one op of many by a constant.
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

// Rows of the result that are columns of the input, in blocks of 4 x 4: dimension ROWS is contiguous in the input. Each invocation has a
// block; eight neighbours read whole lines.
const uint ROWS = (DENSE >> 8) - 1u;  // if DENSE > 255

// Elements j of four quads.
Quad gathered(Quad x[4], uint j) {
  Quad y;
  [[unroll]] for (uint w = 0; w < 8; ++w) y.w[w] = 0u;
  [[unroll]] for (uint k = 0; k < 4; ++k) {
    if (CODE == 1) y.w[0] |= bitfieldExtract(x[k].w[0], 8 * int(j), 8) << (8u * k);
    if (CODE == 2) y.w[k >> 1] |= bitfieldExtract(x[k].w[j >> 1], 16 * int(j & 1u), 16) << (16u * (k & 1u));
    if (CODE == 4) y.w[k] = x[k].w[j];
    if (CODE == 8) y.w[2 * k] = x[k].w[2 * j], y.w[2 * k + 1] = x[k].w[2 * j + 1];
  }
  return y;
}

void one_block(uint i) {
  const uint last = NDIM - 1, strides = NDIM + 2, rows = table(ROWS) / 4, columns = table(last) / 4;
  const uint across = (rows + 7) / 8, along = (columns + 31) / 32, tile = i / 256;
  const uint r = tile % across * 8 + i % 8, c = tile / across % along * 32 + i / 8 % 32;
  if (r < rows && c < columns) {
    const uint to_step = table(strides + ROWS), from_step = table(strides + NDIM + last);
    uint to = table(NDIM) + 4 * (r * to_step + c), from = table(NDIM + 1) + 4 * (r + c * from_step);
    uint rest = tile / across / along;
    for (uint d = last; d-- > 0;) {
      if (d == ROWS) continue;
      to += rest % table(d) * table(strides + d);
      from += rest % table(d) * table(strides + NDIM + d);
      rest /= table(d);
    }
    Quad x[4];
    [[unroll]] for (uint k = 0; k < 4; ++k) x[k] = load_quad1(CODE, (from + k * from_step) >> 2);
    [[unroll]] for (uint j = 0; j < 4; ++j) store_quad0(CODE, (to + j * to_step) >> 2, gathered(x, j));
  }
}

void main() {
  if (DENSE > 255u) {
    uint b = gl_GlobalInvocationID.x;
    if (b < push.word[0]) do one_block(b); while ((b += gl_NumWorkGroups.x * gl_WorkGroupSize.x) < push.word[0]);
    return;
  }
  const bool in_quads = (DENSE & 3u) == 3u;
  const uint quads = in_quads ? push.word[0] >> 2 : 0u, rest = push.word[0] - 4u * quads;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  uint q = gl_GlobalInvocationID.x;
  if (q < quads) do one_quad(q); while ((q += step) < quads);
  uint i = gl_GlobalInvocationID.x;
  if (i < rest) do one_element(4u * quads + i); while ((i += step) < rest);
}
