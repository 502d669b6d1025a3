#version 460
// Norms by CODE, the order of Norm in ops/norm.cpp: how many are not 0, Σ|x|, √Σx², the greatest and least |x|, (Σ|x|^p)^1/p,
// and 1 / √(mean x² + eps).
// Computes in F32, F64.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "math.glsl"
#include "limits.glsl"
#include "reduce.glsl"
layout(constant_id = 5) const uint OUT = 11;
layout(constant_id = 6) const uint IN = 11;
const uint COUNTED = 0, SUM = 1, ROOT = 2, GREATEST = 3, SMALLEST = 4, POWERS = 5, RMS = 6;
const bool TOTAL = CODE == COUNTED || CODE == SUM || CODE == RMS;
#define TN_PARTS (CODE == ROOT ? 3 : 2)
#define TN_AT false
#include "state.glsl"
#include "total.glsl"
#include "order.glsl"
// The words of the op: p, or eps.
#ifdef TN_F64
#define P packDouble2x32(uvec2(push.word[WORDS + 1], push.word[WORDS + 2]))
#else
#define P real_word(WORDS)
#endif

// Squares of numbers beyond these are summed separately, scaled, so that none overflows or underflows.
#ifdef TN_F32
const C BIG = 1.40737488355328e14, SMALL = 8.8817841970012523e-16;            // 2^47, 2^-50
const C LESS = 8.4703294725430034e-22, MORE = 1.2379400392853803e27;  // 2^-70, 2^90
#else
const C BIG = 1e300lf, SMALL = 0.0lf, LESS = 1.0lf, MORE = 1.0lf;
#endif
void add_square(inout State s, C x) {
  x = abs(x);
  if (x > BIG) s.c += (x * LESS) * (x * LESS);
  else if (x < SMALL) s.b += (x * MORE) * (x * MORE);
  else s.a += x * x;
}
C root(State s) {
  if (s.c > C(0)) return m_sqrt(s.c + s.a * LESS * LESS) / LESS;
  if (s.a > C(0) || is_nan(s.a)) return m_sqrt(s.a + s.b / MORE / MORE);
  return m_sqrt(s.b) / MORE;
}

// Σ (x / a)^p, where a is the greatest magnitude (the least if p is negative).
void add_power(inout State s, C x, C p) {
  x = abs(x);
  if (is_nan(s.a) || is_nan(x)) {
    s.a = is_nan(s.a) ? s.a : x;
  } else if (p > C(0) ? x > s.a : x < s.a) {
    s.b = (s.b == C(0) || is_inf(s.a) || is_inf(x) || s.a == C(0) ? C(0) : s.b * m_pow(s.a / x, p)) + C(1);
    s.a = x;
  } else if (x == s.a) {
    s.b += C(1);
  } else if (s.a != C(0) && !is_inf(x) && !is_inf(s.a)) {
    s.b += m_pow(x / s.a, p);
  }
}
void merge_power(inout State s, State t, C p) {
  if (is_nan(s.a) || is_nan(t.a)) {
    s.a = is_nan(s.a) ? s.a : t.a;
    return;
  }
  const bool behind = p > C(0) ? t.a > s.a : t.a < s.a;
  const State top = behind ? t : s, other = behind ? s : t;
  s = top;
  if (other.a == top.a) s.b += other.b;
  else if (other.b != C(0) && top.a != C(0) && !is_inf(other.a) && !is_inf(top.a)) s.b += other.b * m_pow(other.a / top.a, p);
}

State start() {
  return State(CODE == SMALLEST || (CODE == POWERS && P < C(0)) ? C_MOST : C(0), C(0), C(0), 0u);
}

void merge(inout State s, State t) {
  if (TOTAL) add_sums(s, t);
  if (CODE == ROOT) s = State(s.a + t.a, s.b + t.b, s.c + t.c, 0u);
  if (CODE == POWERS) merge_power(s, t, P);
  if ((CODE == GREATEST || CODE == SMALLEST) && better(t.a, s.a, CODE == GREATEST)) s.a = t.a;
}

void take(inout State s, uint o, uint base, uint r, uint step, uint n) {
  C v[BLOCK];
  load_block3(IN, base, r, step, n, CODE == SMALLEST ? C_MOST : C(0), v);
  [[unroll]] for (uint k = 0; k < BLOCK; ++k) {
    v[k] = abs(v[k]);
    if (CODE == COUNTED) v[k] = v[k] != C(0) ? C(1) : C(0);
    if (CODE == RMS) v[k] *= v[k];
  }
  if (TOTAL) add(s, sum_of(v));
  [[unroll]] for (uint k = 0; k < BLOCK; ++k) {
    if (CODE == ROOT) add_square(s, v[k]);
    if (CODE == POWERS && k < n) add_power(s, v[k], P);
    if ((CODE == GREATEST || CODE == SMALLEST) && better(v[k], s.a, CODE == GREATEST)) s.a = v[k];
  }
}

void finish(uint o, State s) {
  if (TOTAL) s.a = total(s);
  if (CODE == ROOT) s.a = root(s);
  if (CODE == POWERS && s.a != C(0) && !is_nan(s.a) && !is_inf(s.a)) s.a *= m_pow(s.b, C(1) / P);
  if (CODE == RMS) s.a = C(1) / m_sqrt(s.a / C(max(push.word[COUNT], 1u)) + P);
  store0(OUT, o, s.a);
}
