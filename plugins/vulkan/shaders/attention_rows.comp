#version 460
// What attention's gradients need of each query: lse, 0 if it has no key, and along = Σ g∘y − d lse. Slots: both, one behind the other; g, y,
// lse, d lse. Words: queries in all, heads, queries of a head, width, whether there is d lse. table: g, y, lse and d lse as in heads.glsl.
// Computes in F32, F64.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "heads.glsl"
#include "limits.glsl"
layout(constant_id = 1) const uint IN = 11;

void main() {
  const uint all = push.word[0], heads = push.word[1], queries = push.word[2], width = push.word[3];
  uint i = gl_GlobalInvocationID.x;
  if (i < all) do {
    const uint row = i % queries, h = i / queries % heads, b = i / queries / heads;
    const Head g = head_of(0, b, h), y = head_of(1, b, h);
    C along = C(0);
    uint f = 0;
    if (f < width) do {
      along += load1(IN, at(g, row, f)) * load2(IN, at(y, row, f));
    } while (++f < width);
    if (push.word[4] != 0) along -= load4(DT_C, at(head_of(3, b, h), row, 0));
    const C lse = load3(DT_C, at(head_of(2, b, h), row, 0));
    store0(DT_C, i, lse == C_LEAST ? C(0) : lse);
    store0(DT_C, all + i, along);
  } while ((i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) < all);
}
