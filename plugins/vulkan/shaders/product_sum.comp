#version 460
// Partial sums of a product that was split, added in order. Slots: c, partial sums, unused, bias.
// Computes in F32, F64, I32, I64.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
layout(constant_id = 1) const uint PART = 11;  // dtype of the partial sums
#include "product.glsl"

void main() {
  const uint total = M * N * BATCHES;
  uint i = gl_GlobalInvocationID.x;
  if (i < total) do {
    C sum = load1(PART, i);
    for (uint s = 1; s < SPLITS; ++s) sum += load1(PART, s * total + i);
    store0(OUT, i, finish(sum, i % N));
  } while ((i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) < total);
}
