#version 460
// index: blocks of x by the places that index_at.comp found. Slots: out, x, at. Words: elements, elements of a block, blocks.glsl.
// Computes in I32.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "indices.glsl"
#include "bits.glsl"
#define PLACES_AT(b) AT32(2, b)
#define BLOCK_WORDS 2
#include "blocks.glsl"
layout(constant_id = 1) const uint UNIT = 4;

void main() {
  const uint inner = push.word[1];
  uint i = gl_GlobalInvocationID.x;
  if (i < push.word[0]) do {
    const uint place = block_place(i / inner);
    if (place == NOWHERE) continue;
    MOVE(0, i, 1, place + i % inner, UNIT)
  } while ((i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) < push.word[0]);
}
