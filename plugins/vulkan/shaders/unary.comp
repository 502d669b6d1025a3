#version 460
// Arithmetic and tests of one operand, by CODE: the line of unary.def.
// Computes in F32, F64, I32, I64; one op of many by a constant.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#define TN_OPERANDS 2
#include "layout.glsl"
#include "order_bits.glsl"

// NaN stays NaN, and the sign of -0 is 0.
#ifdef TN_FLOATING
C magnitude(C x) { return with_sign(x, false); }
C sign_of(C x) { return is_nan(x) ? x : order_of(x) == 0 ? C(0.0) : with_sign(C(1.0), sign_bit(x)); }
C rectified(C x) { return sign_bit(x) && !is_nan(x) ? C(0.0) : x; }
#else
C magnitude(C x) { return x < C(0) ? -x : x; }
C sign_of(C x) { return C(x > C(0)) - C(x < C(0)); }
C rectified(C x) { return x < C(0) ? C(0) : x; }
#endif

#define OP(op, dtypes, value) case __LINE__: return value;
#include "either.glsl"

C apply(C x) {
  switch (CODE) {
#include "unary.def"
  }
  return x;
}

#include "each.glsl"
