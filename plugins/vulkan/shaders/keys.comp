#version 460
// The destination of each source row of a scatter: keys[j], NOWHERE for none; and how many rows each place gets (MODE 0), or the last of
// them, counted from 1 (MODE 1). CODE: 0 a layout, 1 a layout with an index along a dimension, 2 a list of indices, 3 blocks of advanced
// indexing. Slots: scratch, index or `at`, note. Words: rows, where keys begin in the scratch, then by CODE.
// Computes in I32.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "indices.glsl"
#define PLACES_AT(b) AT32(1, b)
#define BLOCK_WORDS 3
#include "blocks.glsl"
layout(constant_id = 1) const uint CODE = 0;
layout(constant_id = 2) const uint MODE = 0;
layout(constant_id = 3) const uint INDEX = 8;

// 0, 1: words offset, dimensions, size and step of the indexed one. Table: shape, steps of the target, strides of the index.
uint by_layout(uint j) {
  const uint ndim = push.word[3];
  uint to = push.word[2], from = 0, rest = j;
  for (uint d = ndim; d-- > 0;) {
    const uint i = rest % table(d);
    rest /= table(d);
    to += i * table(ndim + d);
    if (CODE == 1) from += i * table(2 * ndim + d);
  }
  if (CODE == 0) return to;
  const uvec2 bits = index_bits1(INDEX, from);
  const uint at = place_at(bits, push.word[4], false);
  if (at == NOWHERE) {
    NOTE_INDEX(2, bits, j)
    return NOWHERE;
  }
  return to + at * push.word[5];
}

// 2: words size, indices in a plane, whether negative ones count from the end, one to skip (low, high).
uint by_list(uint j) {
  const uvec2 bits = index_bits1(INDEX, j);
  const uint size = push.word[2], at = place_at(bits, size, push.word[4] != 0u);
  if (at == NOWHERE) {
    NOTE_INDEX(2, bits, j)
    return NOWHERE;
  }
  return at == push.word[5] ? NOWHERE : j / push.word[3] * size + at;
}

// 3: word elements of a block.
uint by_blocks(uint j) {
  const uint place = block_place(j);
  return place == NOWHERE ? NOWHERE : place / push.word[2];
}

void main() {
  uint j = gl_GlobalInvocationID.x;
  if (j < push.word[0]) do {
    const uint key = CODE == 3 ? by_blocks(j) : CODE == 2 ? by_list(j) : by_layout(j);
    if (MODE == 0) AT32(0, push.word[1] + j) = key;
    if (key == NOWHERE) continue;
    if (MODE == 0)
      atomicAdd(AT32(0, key), 1u);
    else
      atomicMax(AT32(0, key), j + 1u);
  } while ((j += gl_NumWorkGroups.x * gl_WorkGroupSize.x) < push.word[0]);
}
