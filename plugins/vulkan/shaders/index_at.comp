#version 460
// Advanced indexing: at[b] = sum over index tensors of step · index[b], one tensor after the other. Slots: at, index, note.
// Words: positions b, size and step of the indexed dimension, whether this is the first tensor. Table: shape of the positions, strides of
// the index.
// Computes in I32.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "indices.glsl"
layout(constant_id = 1) const uint NDIM = 0;
layout(constant_id = 2) const uint INDEX = 8;

void main() {
  uint b = gl_GlobalInvocationID.x;
  if (b < push.word[0]) do {
    uint from = 0, rest = b;
    for (uint d = NDIM; d-- > 0;) {
      from += rest % table(d) * table(NDIM + d);
      rest /= table(d);
    }
    const uvec2 bits = index_bits1(INDEX, from);
    const uint at = place_at(bits, push.word[1], true), before = push.word[3] != 0u ? 0u : AT32(0, b);
    if (at == NOWHERE) NOTE_INDEX(2, bits, from)
    AT32(0, b) = at == NOWHERE || before == NOWHERE ? NOWHERE : before + at * push.word[2];
  } while ((b += gl_NumWorkGroups.x * gl_WorkGroupSize.x) < push.word[0]);
}
