#version 460
// gather: out[i, j] = x[i, index[i, j]]. Slots: out, x, index, note. Words: elements, size and step of x's indexed dimension.
// Table: layout of the index's shape for x (step 0 along the dimension) and index.
// Computes in I32.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "indices.glsl"
#include "bits.glsl"
layout(constant_id = 1) const uint UNIT = 4;
layout(constant_id = 2) const uint INDEX = 8;
layout(constant_id = 3) const uint NDIM = 0;

void main() {
  for (uint i = gl_GlobalInvocationID.x; i < push.word[0]; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
    uvec2 from = uvec2(table(NDIM), table(NDIM + 1));
    uint rest = i;
    for (uint d = NDIM; d-- > 0;) {
      const uint size = table(d);
      from += rest % size * uvec2(table(NDIM + 2 + d), table(2 * NDIM + 2 + d));
      rest /= size;
    }
    const uvec2 bits = index_bits2(INDEX, from.y);
    const uint at = place_at(bits, push.word[1], false);
    if (at == NOWHERE) {
      NOTE_INDEX(3, bits, i)
      continue;
    }
    MOVE(0, i, 1, from.x + at * push.word[2], UNIT)
  }
}
