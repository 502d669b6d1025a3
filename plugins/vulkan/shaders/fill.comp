#version 460
// Bytes of a pattern of 8: words are bytes, pattern low, pattern high; or whole words where the fourth says so.
// Computes in I32.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < push.word[0]) do {
    if (push.word[3] != 0u)
      AT32(0, i) = push.word[1 + (i & 1u)];
    else
      AT8(0, i) = uint8_t((push.word[1 + ((i >> 2) & 1u)] >> (8u * (i & 3u))) & 0xffu);
  } while ((i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) < push.word[0]);
}
