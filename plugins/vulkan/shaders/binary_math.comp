#version 460
// Functions of two floats, and derivatives of activations times the incoming gradient, by CODE: the line of binary_math.def.
// Computes in F32, F64; one op of many by a constant.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "math.glsl"
#define TN_OPERANDS 3
#include "layout.glsl"
#include "order_bits.glsl"

// log(exp x + exp y), by the larger of the two; of two infinities as well.
C logaddexp(C x, C y) {
  if (is_nan(x) || is_nan(y)) return C(M_NAN);
  const C larger = order_of(x) > order_of(y) ? x : y;
  return larger + m_softplus_rest(x == y ? C(0.0) : x - y);
}

// g (Phi(x) + x phi(x))
C gelu_backward(C g, C x) {
  if (is_nan(x)) return x;
  if (m_abs(x) > C(40.0)) return x > C(0.0) ? g : g * C(0.0);
  C density;
  const C cdf = m_normal_cdf(x, density);
  return g * fma(x * kNormalPeak, density, cdf);
}
// g (s + x s (1 - s) 2u') with s = sigmoid(2u), u = sqrt(2 / pi) (x + 0.044715 x^3)
C gelu_tanh_backward(C g, C x) {
  if (is_nan(x)) return x;
  if (m_abs(x) > C(40.0)) return x > C(0.0) ? g : g * C(0.0);
  const C z = x * x, c = kGeluScale;
  C rest;
  const C s = m_sigmoid(fma(z * x, kGeluCube, x) * c, rest);
  return g * fma(x * s * rest, fma(z, C(3.0) * kGeluCube, C(1.0)) * c, s);
}
// g s (1 + x (1 - s))
C silu_backward(C g, C x) {
  C rest;
  const C s = m_sigmoid(x, rest);
  return g * s * fma(x, rest, C(1.0));
}

C apply(C x, C y) {
  switch (CODE) {
#define OP(op, value) case __LINE__: return value;
#define VARIANT OP
#include "binary_math.def"
  }
  return x;
}

#include "each.glsl"
