#version 460
// index_select, embedding: out[o, j, c] = x[o, index[j], c]. Slots: out, x, index, note.
// Words: units of out, indices, size of the indexed dimension, units of a row, whether negative indices count from the end.
// Computes in I32.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "indices.glsl"
#include "bits.glsl"
layout(constant_id = 1) const uint UNIT = 4;
layout(constant_id = 2) const uint INDEX = 8;

void main() {
  const uint count = push.word[1], size = push.word[2], inner = push.word[3];
  uint i = gl_GlobalInvocationID.x;
  if (i < push.word[0]) do {
    const uint row = i / inner, j = row % count;
    const uvec2 bits = index_bits2(INDEX, j);
    const uint at = place_at(bits, size, push.word[4] != 0u);
    if (at == NOWHERE) {
      NOTE_INDEX(3, bits, j)
      continue;
    }
    MOVE(0, i, 1, (row / count * size + at) * inner + i % inner, UNIT)
  } while ((i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) < push.word[0]);
}
