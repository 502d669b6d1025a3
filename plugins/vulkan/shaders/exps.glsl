// The state of a sum of exponentials over slot 3: the maximum and Σ exp(x - maximum).
#define TN_PARTS 2
#define TN_AT false
#include "state.glsl"
#include "order.glsl"

State start() { return State(C_LEAST, C(0), C(0), 0u); }
bool is_finite(State s) { return !is_nan(s.a) && !is_inf(s.a); }

// An infinite or NaN maximum alone decides.
void merge(inout State s, State t) {
  if (is_nan(s.a) || is_nan(t.a)) {
    s.a = is_nan(s.a) ? s.a : t.a;
  } else if (is_inf(s.a) || is_inf(t.a)) {
    if (t.a > s.a) s = t;
  } else if (t.a <= s.a) {
    s.b += t.b * m_exp(t.a - s.a);
  } else {
    s = State(t.a, t.b + s.b * m_exp(s.a - t.a), C(0), 0u);
  }
}

void take(inout State s, uint o, uint base, uint r, uint step, uint n) {
  C v[BLOCK];
  load_block3(IN, base, r, step, n, C_LEAST, v);
  C top = v[0];
  [[unroll]] for (uint k = 1; k < BLOCK; ++k)
    if (better(v[k], top, true)) top = v[k];
  if (better(top, s.a, true)) {
    if (!is_inf(s.a)) s.b *= m_exp(s.a - top);
    s.a = top;
  }
  if (is_nan(s.a) || is_inf(s.a)) return;
  C sum = C(0);
  [[unroll]] for (uint k = 0; k < BLOCK; ++k) sum += v[k] == C_LEAST ? C(0) : m_exp(v[k] - s.a);
  s.b += sum;
}
