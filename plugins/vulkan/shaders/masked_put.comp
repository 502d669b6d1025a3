#version 460
// index_put of one value by a mask: out = value, or x plus it (ADD), where the mask is set. Slots: out, x, value, mask.
// Words: elements, elements of the mask, elements of x for each of them.
// Computes in F32, F64, I32, I64.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
layout(constant_id = 1) const uint DTYPE = 11;
layout(constant_id = 2) const uint ADD = 0;

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < push.word[0]) do {
    const C x = load1(DTYPE, i), value = load2(DTYPE, 0);
    const bool set = load_bool3(i / push.word[2] % push.word[1]);
    store0(DTYPE, i, set ? (ADD != 0 ? x + value : value) : x);
  } while ((i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) < push.word[0]);
}
