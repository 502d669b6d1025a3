#version 460
// By CODE, the order of Spread in fold.hpp: Σ(x - mean)² / p, or the mean and 1 / √(variance + p).
// Computes in F32, F64.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "math.glsl"
#include "limits.glsl"
#include "reduce.glsl"
layout(constant_id = 5) const uint OUT = 11;
layout(constant_id = 6) const uint IN = 11;
const uint VAR = 0, MOMENTS = 1;
#define TN_PARTS 3
#define TN_AT false
#include "state.glsl"
#include "total.glsl"
// The word of the op: the divisor, or eps.
#ifdef TN_F64
#define P packDouble2x32(uvec2(push.word[WORDS + 1], push.word[WORDS + 2]))
#else
#define P real_word(WORDS)
#endif

// (mean, Σ (x - mean)², n), by Chan's method.
void merge_moments(inout State s, State t) {
  const C n = s.c + t.c, delta = t.a - s.a, share = t.c / max(n, C(1));
  s.a += delta * share;
  s.b += t.b + delta * delta * s.c * share;
  s.c = n;
}

State start() { return State(C(0), C(0), C(0), 0u); }

void merge(inout State s, State t) { merge_moments(s, t); }

// Each block has its own mean. One element is subtracted from all first, so that a large mean costs no accuracy.
void take(inout State s, uint o, uint base, uint r, uint step, uint n) {
  const C origin = load3(IN, base), over = C(1) / C(n);
  C v[BLOCK];
  load_block3(IN, base, r, step, n, origin, v);
  [[unroll]] for (uint k = 0; k < BLOCK; ++k) v[k] -= origin;
  const C mean = sum_of(v) * over;
  C rest = C(0), squares = C(0);
  [[unroll]] for (uint k = 0; k < BLOCK; ++k) {
    if (k < n) {
      const C d = v[k] - mean;
      rest += d;
      squares += d * d;
    }
  }
  merge_moments(s, State(mean, max(squares - rest * rest * over, C(0)), C(n), 0u));
}

void finish(uint o, State s) {
  if (CODE == VAR) {
    store0(OUT, o, P == C(0) ? (s.b > C(0) ? C_MOST : C_NAN) : s.b / P);
    return;
  }
  const uint count = push.word[COUNT];
  store0(OUT, o, count == 0 ? C(0) : s.a + load3(IN, kept_place(o)));
  store1(OUT, o, C(1) / m_sqrt((count == 0 ? C(0) : s.b / C(count)) + P));
}
