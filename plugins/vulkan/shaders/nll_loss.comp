#version 460
// The negative log-likelihood over (N, C, S) and the weight of its targets, by CODE: the order of Reduction in ops/loss_nll.cpp.
// A target that is no class is reported in slot 7; its loss is NaN.
// Computes in F32, F64.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "indices.glsl"
#include "limits.glsl"
#include "reduce.glsl"
layout(constant_id = 5) const uint OUT = 11;
layout(constant_id = 6) const uint WEIGHT = 0;  // given
const uint NONE = 0, MEAN = 1;
const uint CLASSES = WORDS, PLACES = WORDS + 1, IGNORE = WORDS + 2;
#define TN_PARTS 2
#define TN_AT false
#include "state.glsl"

State start() { return State(C(0), C(0), C(0), 0u); }

void merge(inout State s, State t) {
  s.a += t.a;
  s.b += t.b;
}

void take(inout State s, uint o, uint base, uint r, uint step, uint n) {
  [[unroll]] for (uint k = 0; k < BLOCK; ++k) {
    if (k < n) {
      const uint i = r + k * step, places = push.word[PLACES];
      const uvec2 target = uvec2(AT32(4, 2 * i), AT32(4, 2 * i + 1));
      C term = C(0);
      if (target != uvec2(push.word[IGNORE], push.word[IGNORE + 1])) {
        if (target.y == 0 && target.x < push.word[CLASSES]) {
          const C weight = WEIGHT != 0 ? load5(OUT, target.x) : C(1);
          term = -weight * load3(OUT, (i / places * push.word[CLASSES] + target.x) * places + i % places);
          s.b += weight;
        } else {
          term = C_NAN;
          NOTE_INDEX(7, target, i)
        }
      }
      s.a += term;
      if (CODE == NONE) store6(OUT, i, term);
    }
  }
}

void finish(uint o, State s) {
  if (CODE == MEAN) s.a /= s.b;
  if (CODE != NONE) store0(OUT, o, s.a);
  store1(OUT, o, s.b);
}
