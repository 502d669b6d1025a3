#version 460
// By CODE, the order of Exps in fold.hpp: log Σ exp(x), or the maximum and Σ exp(x - maximum).
// Computes in F32, F64.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "math.glsl"
#include "limits.glsl"
#include "reduce.glsl"
layout(constant_id = 5) const uint OUT = 11;
layout(constant_id = 6) const uint IN = 11;
const uint LOG_SUM = 0, PARTS = 1;
#include "exps.glsl"

void finish(uint o, State s) {
  const bool finite = is_finite(s);
  store0(OUT, o, CODE == LOG_SUM && finite ? s.a + m_log(s.b) : s.a);
  if (CODE == PARTS) store1(OUT, o, finite ? s.b : C_NAN);
}
