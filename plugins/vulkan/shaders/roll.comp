#version 460
// roll. Slots: out, x. Word: elements. Table: sizes, shifts below them.
// Computes in I32.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "bits.glsl"
layout(constant_id = 1) const uint UNIT = 4;
layout(constant_id = 2) const uint NDIM = 1;

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < push.word[0]) do {
    uint from = 0, rest = i, step = 1;
    for (uint d = NDIM; d-- > 0;) {
      const uint size = table(d), shift = table(NDIM + d), at = rest % size;
      from += (at >= shift ? at - shift : at + size - shift) * step;
      rest /= size;
      step *= size;
    }
    MOVE(0, i, 1, from, UNIT)
  } while ((i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) < push.word[0]);
}
