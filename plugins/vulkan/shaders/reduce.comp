#version 460
// Sums, products and extrema, by CODE: the order of Op in ops/reduce.cpp.
// Computes in F32, F64, I32, I64.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "limits.glsl"
#include "reduce.glsl"
layout(constant_id = 5) const uint OUT = 11;
layout(constant_id = 6) const uint IN = 11;
const uint SUM = 0, PROD = 1, MIN = 2, MAX = 3, MEAN = 4, ANY = 5, ALL = 6, ARGMIN = 7, ARGMAX = 8;
const bool ARG = CODE == ARGMIN || CODE == ARGMAX, TOTAL = CODE == SUM || CODE == MEAN;
const bool TRUTH = CODE == ANY || CODE == ALL, MOST = CODE == MAX || CODE == ARGMAX || CODE == ANY;
#define TN_PARTS (TOTAL ? 2 : 1)
#define TN_AT ARG
#include "state.glsl"
#include "total.glsl"
#include "order.glsl"

State start() {
  State s = State(C(0), C(0), C(0), ~0u);
  if (CODE == PROD || CODE == ALL) s.a = C(1);
  if (CODE == MIN || CODE == ARGMIN) s.a = C_MOST;
  if (CODE == MAX || CODE == ARGMAX) s.a = C_LEAST;
  return s;
}

// Among equal elements the first wins; ~0 is no position.
bool stands_before(State t, State s) {
  return t.at != ~0u && (s.at == ~0u || better(t.a, s.a, MOST) || (t.at < s.at && !better(s.a, t.a, MOST)));
}

void merge(inout State s, State t) {
  if (TOTAL) {
    add_sums(s, t);
  } else if (CODE == PROD) {
    s.a *= t.a;
  } else if (ARG) {
    if (stands_before(t, s)) s = t;
  } else if (better(t.a, s.a, MOST)) {
    s.a = t.a;
  }
}

void take(inout State s, uint o, uint base, uint r, uint step, uint n) {
  C v[BLOCK];
  load_block3(IN, base, r, step, n, start().a, v);
  [[unroll]] for (uint k = 0; k < BLOCK; ++k)
    if (k < n && TRUTH) v[k] = v[k] != C(0) ? C(1) : C(0);
  if (TOTAL) {
    add(s, sum_of(v));
    return;
  }
  [[unroll]] for (uint k = 0; k < BLOCK; ++k) merge(s, State(v[k], C(0), C(0), k < n ? r + k * step : ~0u));
}

void finish(uint o, State s) {
  if (ARG) {
    AT32(0, 2 * o) = s.at;
    AT32(0, 2 * o + 1) = 0;
    return;
  }
  if (TOTAL) s.a = total(s);
#ifdef TN_FLOATING
  if (CODE == MEAN) s.a = push.word[COUNT] == 0 ? C_NAN : s.a / C(push.word[COUNT]);
#endif
  store0(OUT, o, s.a);
}
