#version 460
// The pass after the statistics are known, by CODE, the order of Apply in norms.hpp.
// (0) y = (x - mean)·rstd·weight + bias; (1) gx = rstd·(g·weight - a - (x - mean)·rstd·b), with a and b one after the other in slot 6;
// (2) the mean and 1 / √(variance + eps) of running statistics.
// Slots: y or gx, x, mean, rstd, weight, bias or g, (a, b).
// Computes in F32, F64.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "math.glsl"
#include "limits.glsl"
layout(constant_id = 1) const uint CODE = 0;
layout(constant_id = 2) const uint IN = 11;
layout(constant_id = 3) const uint WEIGHT = 0;  // 1 + its dtype; 0: not given
layout(constant_id = 4) const uint BIAS = 0;
layout(constant_id = 5) const uint MEAN = 0;
const uint FORWARD = 0, BACKWARD = 1;
// Element i has statistics i / STEP % COUNT, and parameters by a step and a count of their own.
const uint ALL = 0, STEP = 1, COUNT = 2, PARAMETER_STEP = 3, PARAMETER_COUNT = 4, EPS = 5;
C eps() {
#ifdef TN_F64
  return packDouble2x32(uvec2(push.word[EPS + 1], push.word[EPS + 2]));
#else
  return real_word(EPS);
#endif
}

void main() {
  const uint all = push.word[ALL];
  uint i = gl_GlobalInvocationID.x;
  if (i < all) do {
    if (CODE > BACKWARD) {  // slots: mean, rstd, running mean, running variance
      store0(DT_C, i, load2(DT_C, i));
      store1(DT_C, i, C(1) / m_sqrt(load3(DT_C, i) + eps()));
    } else {
      const uint s = i / push.word[STEP] % push.word[COUNT], c = i / push.word[PARAMETER_STEP] % push.word[PARAMETER_COUNT];
      const C rstd = load3(DT_C, s), weight = WEIGHT != 0 ? load4(WEIGHT - 1, c) : C(1);
      const C centred = load1(IN, i) - (MEAN != 0 ? load2(DT_C, s) : C(0));
      if (CODE == FORWARD)
        store0(IN, i, centred * (rstd * weight) + (BIAS != 0 ? load5(BIAS - 1, c) : C(0)));
      else
        store0(IN, i, rstd * (load5(IN, i) * weight - load6(DT_C, s) - centred * rstd * load6(DT_C, push.word[COUNT] + s)));
    }
  } while ((i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) < all);
}
