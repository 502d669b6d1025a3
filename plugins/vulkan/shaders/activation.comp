#version 460
// Activations, by CODE: the line of activation.def. Their attributes are words after those of the layout.
// Computes in F32, F64; one op of many by a constant.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "math.glsl"
#include "gelu_tanh.glsl"
#define TN_OPERANDS 2
#include "layout.glsl"

// log(1 + exp(beta x)) / beta; x itself where beta x is above the threshold.
C softplus(C x, C beta, C threshold) {
  if (is_nan(x)) return x;
  const C scaled = x * beta;
  return scaled > threshold ? x : m_div(max(scaled, C(0.0)) + m_softplus_rest(scaled), beta);
}

C apply(C x) {
  const C a = param(0);
  switch (CODE) {
#define OP(op, value) case __LINE__: return value;
#define VARIANT OP
#include "activation.def"
  }
  return x;
}

#include "each.glsl"
