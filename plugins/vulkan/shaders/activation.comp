#version 460
// Activations, by CODE: the order of Op in ops/activation.cpp. Their attributes are words after those of the layout.
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
    case 0: return m_sigmoid(x);
    case 1: return m_silu(x);
    case 2: return m_gelu(x);
    case 3: return gelu_tanh(x);
    case 4: return x > C(0.0) ? x : a * m_expm1(x);
    case 5: return x > C(0.0) ? x : x * a;
    case 6: return softplus(x, a, param(1));
  }
  return x;
}

#include "each.glsl"
