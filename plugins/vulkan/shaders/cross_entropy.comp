#version 460
// For each row of logits and its class: log Σ exp(x); in slot 6 weight·(log Σ exp(x) − x) of the class, and its weight after the first.
// A target that is no class is reported in slot 7; its loss is NaN.
// Computes in F32, F64.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "math.glsl"
#include "indices.glsl"
#include "limits.glsl"
#include "reduce.glsl"
layout(constant_id = 5) const uint OUT = 11;
layout(constant_id = 6) const uint IN = 11;
layout(constant_id = 7) const uint WEIGHT = 0;  // given
const uint CLASSES = WORDS, IGNORE = WORDS + 1;
#include "exps.glsl"

void finish(uint o, State s) {
  const C lse = is_finite(s) ? s.a + m_log(s.b) : C_NAN;
  const uvec2 target = uvec2(AT32(4, 2 * o), AT32(4, 2 * o + 1));
  C term = C(0), weight = C(0);
  if (target != uvec2(push.word[IGNORE], push.word[IGNORE + 1])) {
    if (target.y == 0 && target.x < push.word[CLASSES]) {
      weight = WEIGHT != 0 ? load5(OUT, target.x) : C(1);
      term = weight * (lse - load3(IN, o * push.word[CLASSES] + target.x));
    } else {
      term = C_NAN;
      NOTE_INDEX(7, target, o)
    }
  }
  store0(OUT, o, lse);
  store1(OUT, o, weight);
  store6(OUT, o, term);
}
