#version 460
// From the sums of a channel, Σ g·x̂ and Σ g, to means over the elements that share statistics and to gradients of parameters, by CODE,
// the order of Sums in norms.hpp: (0) a, b of groups of WIDTH channels, one after the other; (1) gweight, gbias, over all samples.
// Slots: (a, b) or gweight, gbias; Σ g·x̂; Σ g; weight.
// Computes in F32, F64.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "limits.glsl"
layout(constant_id = 1) const uint CODE = 0;
layout(constant_id = 2) const uint WEIGHT = 0;  // given
// results; channels of a result; channels of a sample; elements of a result (0: no means needed); samples
const uint ALL = 0, WIDTH = 1, CHANNELS = 2, ELEMENTS = 3, SAMPLES = 4;

void main() {
  const uint all = push.word[ALL];
  uint i = gl_GlobalInvocationID.x;
  if (i < all) do {
    C dot = C(0), sum = C(0);
    if (CODE == 0) {
      for (uint k = 0; k < push.word[WIDTH]; ++k) {
        const uint at = i * push.word[WIDTH] + k;
        const C weight = WEIGHT != 0 ? load4(DT_C, at % push.word[CHANNELS]) : C(1);
        dot += weight * load2(DT_C, at);
        sum += weight * load3(DT_C, at);
      }
      const C over = push.word[ELEMENTS] == 0 ? C(0) : C(1) / C(push.word[ELEMENTS]);
      store0(DT_C, i, sum * over);
      store0(DT_C, all + i, dot * over);
    } else {
      for (uint n = 0; n < push.word[SAMPLES]; ++n) {
        dot += load2(DT_C, n * all + i);
        sum += load3(DT_C, n * all + i);
      }
      store0(DT_C, i, dot);
      store1(DT_C, i, sum);
    }
  } while ((i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) < all);
}
