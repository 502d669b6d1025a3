#version 460
// Convolution with few channels or filters in a group: an invocation for each result, a workgroup for each weight. Words: results, unused,
// positions (batch × plane), then as in conv.glsl.
// Computes in F32, F64, I32, I64.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "conv.glsl"

shared C parts[gl_WorkGroupSize.x];

void results() {
  const uint rows = PASS == 0 ? FILTERS : CHANNELS, depth = source_channels * TAPS;
  uint i = gl_GlobalInvocationID.x;
  if (i < push.word[0]) do {
    const uint all = i / plane, channel = all % (GROUPS * rows), group = channel / rows;
    const Place p = place_of(all / (GROUPS * rows) * plane + i % plane);
    C sum = C(0);
    for (uint k = 0; k < depth; ++k) sum += weight(group, channel % rows, k) * fetch(p, group, k);
    if (BIAS) sum += load3(IN, channel);
    store0(OUT, i, sum);
  } while ((i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) < push.word[0]);
}

void weights() {
  const uint t = gl_LocalInvocationID.x, columns = CHANNELS * TAPS;
  uint i = gl_WorkGroupID.x;
  if (i < push.word[0]) do {
    const uint row = i / columns, group = row / FILTERS;
    C sum = C(0);
    for (uint k = t; k < push.word[2]; k += gl_WorkGroupSize.x) {
      const Place p = place_of(k);
      sum += gradient(group, row % FILTERS, p) * fetch(p, group, i % columns);
    }
    parts[t] = sum;
    barrier();
    for (uint n = gl_WorkGroupSize.x / 2; n > 0; n /= 2) {
      if (t < n) parts[t] += parts[t + n];
      barrier();
    }
    if (t == 0) store0(OUT, i, parts[0]);
    barrier();
  } while ((i += gl_NumWorkGroups.x) < push.word[0]);
}

void main() {
  if (PASS == 2)
    weights();
  else
    results();
}
