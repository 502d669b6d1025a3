#version 460
// Arithmetic and tests of one operand, by CODE: the order of Op in ops/unary.cpp.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#define TN_OPERANDS 2
#include "layout.glsl"
#include "order_bits.glsl"

C apply(C x) {
  switch (CODE) {
#ifdef TN_FLOATING
    case 1: return with_sign(x, false);
    case 2: return is_nan(x) ? x : order_of(x) == 0 ? C(0.0) : with_sign(C(1.0), sign_bit(x));  // NaN stays, -0 becomes 0
    case 4: return floor(x);
    case 5: return ceil(x);
    case 6: return roundEven(x);
    case 7: return trunc(x);
    case 8: return sign_bit(x) && !is_nan(x) ? C(0.0) : x;  // NaN stays
    case 13: return C(is_inf(x));
    case 14: return C(!is_nan(x) && !is_inf(x));
#else
    case 1: return x < C(0) ? -x : x;
    case 2: return C(x > C(0)) - C(x < C(0));
    case 8: return x < C(0) ? C(0) : x;
    case 11: return OUT == DT_BOOL ? C(1) - x : ~x;
    case 13: return C(0);
    case 14: return C(1);
#endif
    case 0: return -x;
    case 3: return x * x;
    case 10: return C(0);
    case 12: return C(is_nan(x));
    case 15: return C(sign_bit(x));
    case 16: return C(order_of(x) == 0);
  }
  return x;
}

#include "each.glsl"
