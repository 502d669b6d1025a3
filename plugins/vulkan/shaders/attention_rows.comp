#version 460
// What attention's gradients need of each query: lse, 0 if it has no key, and along = Σ g∘y − d lse. Slots: both, one behind the other; g, y,
// lse, d lse. Words: queries in all, heads, queries of a head, width, whether there is d lse. table: first element and strides over
// (B, H, L, F) of g, y, lse and d lse.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "limits.glsl"
layout(constant_id = 1) const uint IN = 11;

uint place(uint operand, uint b, uint h, uint row) {
  const uint t = 5 * operand;
  return table(t) + b * table(t + 1) + h * table(t + 2) + row * table(t + 3);
}

void main() {
  const uint all = push.word[0], heads = push.word[1], queries = push.word[2], width = push.word[3];
  uint i = gl_GlobalInvocationID.x;
  if (i < all) do {
    const uint row = i % queries, h = i / queries % heads, b = i / queries / heads;
    uint g = place(0, b, h, row), y = place(1, b, h, row), f = 0;
    C along = C(0);
    if (f < width) do {
      along += load1(IN, g) * load2(IN, y);
      g += table(4);
      y += table(9);
    } while (++f < width);
    if (push.word[4] != 0) along -= load4(DT_C, place(3, b, h, row));
    const C lse = load3(DT_C, place(2, b, h, row));
    store0(DT_C, i, lse == C_LEAST ? C(0) : lse);
    store0(DT_C, all + i, along);
  } while ((i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) < all);
}
