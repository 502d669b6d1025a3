#version 460
// How many elements of a sorted row come before each value. Slots: indices, rows, values.
// Computes in I32.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "order_keys.glsl"
layout(constant_id = 1) const uint RIGHT = 0;  // equal elements come before as well
layout(constant_id = 2) const uint IN = 11;
const uint ALL = 0, N = 1, WIDTH = 2;  // values; elements of a row; values that share a row
TN_KEY(1)
TN_KEY(2)

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < push.word[ALL]) do {
    const uint begin = i / push.word[WIDTH] * push.word[N];
    const uvec2 key = key2(IN, i);
    uint low = begin, high = begin + push.word[N];
    while (low < high) {
      const uint middle = (low + high) / 2;
      const uvec2 other = key1(IN, middle);
      if (RIGHT != 0 ? !less(key, other) : less(other, key)) low = middle + 1;
      else high = middle;
    }
    AT32(0, 2 * i) = low - begin;
    AT32(0, 2 * i + 1) = 0u;
  } while ((i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) < push.word[ALL]);
}
