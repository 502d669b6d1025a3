#version 460
// Sums over two tensors, by CODE, the order of Pairs in fold.hpp: Σ g·x; Σ g and Σ g·(x - mean)·rstd; Σ g·x·rstd.
// Statistics are per result or per reduced element.
// Computes in F32, F64.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "limits.glsl"
#include "reduce.glsl"
layout(constant_id = 5) const uint OUT = 11;
layout(constant_id = 6) const uint IN = 11;
const uint DOT = 0, CENTRED = 1, SCALED = 2;
const uint BY_ELEMENT = WORDS, RESULTS = WORDS + 1;  // whether they are per element; otherwise how
                                                     // many results share one
#define TN_PARTS (CODE == CENTRED ? 2 : 1)
#define TN_AT false
#include "state.glsl"
#include "total.glsl"

State start() { return State(C(0), C(0), C(0), 0u); }

void merge(inout State s, State t) {
  s.a += t.a;
  s.b += t.b;
}

void take(inout State s, uint o, uint base, uint r, uint step, uint n) {
  C g[BLOCK], products[BLOCK];
  load_block3(IN, base, r, step, n, C(0), g);
  load_block4(IN, base, r, step, n, C(0), products);
  [[unroll]] for (uint k = 0; k < BLOCK; ++k) {
    if (CODE != DOT && k < n) {
      const uint which = push.word[BY_ELEMENT] != 0 ? r + k * step : o / push.word[RESULTS];
      if (CODE == CENTRED) products[k] -= load5(DT_C, which);
      products[k] *= load6(DT_C, which);
    }
    products[k] *= g[k];
  }
  s.a += sum_of(products);
  if (CODE == CENTRED) s.b += sum_of(g);
}

void finish(uint o, State s) {
  store0(OUT, o, s.a);
  if (CODE == CENTRED) store1(OUT, o, s.b);
}
