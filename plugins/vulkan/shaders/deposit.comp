#version 460
// The last step of a scatter: out[o, place, c] = x there, or 0, plus the source rows in its bucket in order (MODE 0), or its last source
// row if any (MODE 1). Slots: out, x, source, scratch as keys.comp and buckets.comp leave it. Words: elements of out, places, elements in a
// row, rows, whether there is x, dimensions and bias of a strided source. Table: its shape and strides.
// Computes in F32, F64, I32, I64.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
layout(constant_id = 1) const uint DTYPE = 11;
layout(constant_id = 2) const uint MODE = 0;
layout(constant_id = 3) const uint STRIDED = 0;
#define PLACES push.word[1]
#define INNER push.word[2]
#define ROWS push.word[3]
#define SORTED (2 * PLACES + 1 + 2 * ROWS)

C source(uint i) {
  if (STRIDED == 0) return load2(DTYPE, i);
  const uint ndim = push.word[5];
  uint at = push.word[6];
  for (uint d = ndim; d-- > 0;) {
    at += i % table(d) * table(ndim + d);
    i /= table(d);
  }
  return load2(DTYPE, at);
}

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < push.word[0]) do {
    const uint c = i % INNER, place = i / INNER % PLACES, first = i / INNER / PLACES * ROWS;
    C value = push.word[4] != 0u ? load1(DTYPE, i) : C(0);
    const uint count = AT32(3, place);
    if (MODE == 1) {
      if (count != 0u) value = source((first + count - 1u) * INNER + c);
    } else if (count != 0u) {
      const uint end = AT32(3, PLACES + place);
      for (uint s = end - count; s < end; ++s) value += source((first + AT32(3, SORTED + s)) * INNER + c);
    }
    store0(DTYPE, i, value);
  } while ((i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) < push.word[0]);
}
