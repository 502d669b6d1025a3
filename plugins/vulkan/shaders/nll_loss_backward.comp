#version 460
// The gradient of nll_loss for each element: -weight·g at the target's class, divided by the total weight for the mean.
// Computes in F32, F64.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "indices.glsl"
#include "limits.glsl"
layout(constant_id = 1) const uint CODE = 0;  // the order of Reduction in ops/loss_nll.cpp
layout(constant_id = 2) const uint OUT = 11;
layout(constant_id = 3) const uint WEIGHT = 0;  // given
const uint NONE = 0, MEAN = 1;
const uint ALL = 0, CLASSES = 1, PLACES = 2, IGNORE = 3;

void main() {
  const uint places = push.word[PLACES], classes = push.word[CLASSES];
  uint i = gl_GlobalInvocationID.x;
  if (i < push.word[ALL]) do {
    const uint at = i / places / classes * places + i % places;
    const uvec2 target = uvec2(AT32(2, 2 * at), AT32(2, 2 * at + 1));
    C gx = C(0);
    if (target != uvec2(push.word[IGNORE], push.word[IGNORE + 1])) {
      if (target.y != 0 || target.x >= classes) {
        gx = C_NAN;
        NOTE_INDEX(5, target, at)
      } else if (target.x == i / places % classes) {
        gx = -(WEIGHT != 0 ? load3(OUT, target.x) : C(1)) * load1(OUT, CODE == NONE ? at : 0);
        if (CODE == MEAN) gx /= load4(OUT, 0);
      }
    }
    store0(OUT, i, gx);
  } while ((i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) < push.word[ALL]);
}
