#version 460
// Clamps between two bounds, which are words after the layout's. NaN stays; if min is above max, max wins; a NaN bound is the result.
// Computes in F32, F64, I32, I64; one op of many by a constant.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#define TN_OPERANDS 2
#include "layout.glsl"
#include "order_bits.glsl"

#ifdef TN_I32
C param(uint k) { return int(push.word[WORDS + 2u * k]); }
#elif defined(TN_I64)
C param(uint k) { return C(packUint2x32(uvec2(push.word[WORDS + 2u * k], push.word[WORDS + 2u * k + 1u]))); }
#endif

C apply(C x) {
  const C low = param(0), high = param(1);
  C y = x;
  if (!is_nan(x) && order_of(x) < order_of(low)) y = low;
  if (!is_nan(x) && order_of(y) > order_of(high)) y = high;
  return is_nan(low) ? low : is_nan(high) ? high : y;
}

#include "each.glsl"
