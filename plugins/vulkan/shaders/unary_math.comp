#version 460
// Elementary functions, by CODE: the order of Op in ops/unary_math.cpp.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "math.glsl"
#include "erfinv.glsl"
#include "gamma.glsl"
#define TN_OPERANDS 2
#include "layout.glsl"

C apply(C x) {
  switch (CODE) {
    case 0: return m_exp(x);
    case 1: return m_exp2(x);
    case 2: return m_expm1(x);
    case 3: return m_log(x);
    case 4: return m_log2(x);
    case 5: return m_log10(x);
    case 6: return m_log1p(x);
    case 7: return m_sin(x);
    case 8: return m_cos(x);
    case 9: return m_tan(x);
    case 10: return m_asin(x);
    case 11: return m_acos(x);
    case 12: return m_atan(x);
    case 13: return m_sinh(x);
    case 14: return m_cosh(x);
    case 15: return m_tanh(x);
    case 16: return m_asinh(x);
    case 17: return m_acosh(x);
    case 18: return m_atanh(x);
    case 19: return m_erf(x);
    case 20: return m_erfc(x);
    case 21: return m_sqrt(x);
    case 22: return m_rsqrt(x);
    case 23: return m_div(C(1.0), x);
    case 24: return m_erfinv(x);
    case 25: return m_lgamma(x);
    case 26: return m_digamma(x);
  }
  return x;
}

#include "each.glsl"
