// main() of an elementwise shader: store0(OUT) of apply(load1(IN1), …) for each element. If DENSE allows, four at a time, and the remainder
// one by one. Include last, after apply().
#include "quads.glsl"

bool is_dense(uint k) { return ((DENSE >> k) & 1u) != 0u; }

void one_element(uint i) {
  const Place p = place_of(i);
#if TN_OPERANDS == 2
  store0(OUT, p.at[0], apply(load1(IN1, p.at[1])));
#elif TN_OPERANDS == 3
  store0(OUT, p.at[0], apply(load1(IN1, p.at[1]), load2(IN2, p.at[2])));
#endif
}

void one_quad(uint q) {
  const Place p = place_of(4u * q);
  Quad y, x1, x2;
  [[unroll]] for (uint j = 0; j < 8; ++j) y.w[j] = 0u;
  // An operand that is not dense has one value along a row.
  C one1 = C(0), one2 = C(0);
  if (is_dense(1)) x1 = load_quad1(quad_words(IN1), p.at[1] >> 2);
  else one1 = load1(IN1, p.at[1]);
#if TN_OPERANDS > 2
  if (is_dense(2)) x2 = load_quad2(quad_words(IN2), p.at[2] >> 2);
  else one2 = load2(IN2, p.at[2]);
#endif
  [[unroll]] for (uint j = 0; j < 4; ++j) {
    const C a = is_dense(1) ? element(IN1, x1, j) : one1;
#if TN_OPERANDS == 2
    put_element(OUT, y, j, apply(a));
#elif TN_OPERANDS == 3
    put_element(OUT, y, j, apply(a, is_dense(2) ? element(IN2, x2, j) : one2));
#endif
  }
  store_quad0(quad_words(OUT), p.at[0] >> 2, y);
}

void main() {
  const uint quads = DENSE == 0 ? 0u : push.word[0] >> 2, rest = push.word[0] - 4u * quads;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  uint q = gl_GlobalInvocationID.x;
  if (q < quads) do one_quad(q); while ((q += step) < quads);
  uint i = gl_GlobalInvocationID.x;
  if (i < rest) do one_element(4u * quads + i); while ((i += step) < rest);
}
