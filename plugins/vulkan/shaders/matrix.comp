#version 460
// eye, tril and triu by bits. Constants: which (0, 1, 2), bytes of an element. Words: elements, rows, columns, diagonal k, the bits
// of one.
// Computes in I32.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
layout(constant_id = 1) const uint CODE = 0;
layout(constant_id = 2) const uint SIZE = 4;

void main() {
  const uint rows = push.word[1], columns = push.word[2];
  const int k = int(push.word[3]);
  uint i = gl_GlobalInvocationID.x;
  if (i < push.word[0]) do {
    const int distance = int(i % columns) - int((i / columns) % rows) - k;
    const bool keep = CODE == 0 ? distance == 0 : CODE == 1 ? distance <= 0 : distance >= 0;
    const uint mask = keep ? 0xffffffffu : 0u;
    if (SIZE == 1) AT8(0, i) = uint8_t(mask & (CODE == 0 ? push.word[4] : uint(AT8(1, i))) & 0xffu);
    if (SIZE == 2) AT16(0, i) = uint16_t(mask & (CODE == 0 ? push.word[4] : uint(AT16(1, i))) & 0xffffu);
    for (uint w = 0; w < SIZE / 4; ++w)
      AT32(0, i * (SIZE / 4) + w) = mask & (CODE == 0 ? push.word[4 + w] : AT32(1, i * (SIZE / 4) + w));
  } while ((i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) < push.word[0]);
}
