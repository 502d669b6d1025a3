#version 460
// Arithmetic, bits and comparisons of two operands, by CODE: the line of binary.def. Integers wrap, division by zero gives 0, and shifts
// by the width or more shift everything out.
// Computes in F32, F64, I32, I64; one op of many by a constant.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#define TN_OPERANDS 3
#include "layout.glsl"
#include "order_bits.glsl"

#ifdef TN_FLOATING
#include "math.glsl"
#include "fmod.glsl"

// The bits of x in its dtype, and back.
#ifdef TN_F64
#define Bits uint64_t
Bits pattern_of(C x) { return packUint2x32(unpackDouble2x32(x)); }
C of_pattern(Bits b) { return packDouble2x32(unpackUint2x32(b)); }
#else
#define Bits uint
Bits pattern_of(C x) { return IN1 == DT_F16 ? to_half(x) : IN1 == DT_BF16 ? to_bfloat(x) : floatBitsToUint(x); }
C of_pattern(Bits b) { return IN1 == DT_F16 ? from_half(b) : IN1 == DT_BF16 ? from_bfloat(b) : uintBitsToFloat(b); }
#endif

// As plugins/common/nextafter.hpp: bits of a magnitude count up away from zero.
C next_after(C x, C y) {
  if (is_nan(x) || is_nan(y)) return is_nan(x) ? x : y;
  if (order_of(x) == order_of(y)) return y;
  if (order_of(x) == 0) return with_sign(of_pattern(Bits(1)), sign_bit(y));
  const bool away = (order_of(y) > order_of(x)) == (order_of(x) > 0);
  return of_pattern(away ? pattern_of(x) + Bits(1) : pattern_of(x) - Bits(1));
}
#else
// Bits of the dtype, and whether y is a count of places in it.
uint width() { return IN1 == DT_I64 ? 64 : IN1 == DT_I32 || IN1 == DT_U32 ? 32 : IN1 == DT_U16 || IN1 == DT_I16 ? 16 : 8; }
bool shifts(C y) { return y >= C(0) && y < C(width()); }

// Rounds down; avoids overflow when the smallest number is divided by -1.
C floor_divide(C x, C y) {
  if (y == C(0)) return C(0);
  if (y == C(-1)) return -x;
  const C q = x / y;
  return q - C(q * y != x && (x < C(0)) != (y < C(0)));
}

// By squaring. A negative exponent gives the integer part of the result: 0, or ±1 if x is 1 or -1.
C power(C x, C y) {
  if (y < C(0)) return x == C(1) ? C(1) : x == C(-1) ? ((y & C(1)) != C(0) ? C(-1) : C(1)) : C(0);
  C result = C(1);
  for (C n = y; n != C(0); n >>= 1) {
    if ((n & C(1)) != C(0)) result *= x;
    x *= x;
  }
  return result;
}

C python_remainder(C x, C y) { return y == C(0) ? C(0) : x - floor_divide(x, y) * y; }
#endif

#define OP(op, dtypes, value) case __LINE__: return value;
#include "either.glsl"

C apply(C x, C y) {
  const bool ordered = !is_nan(x) && !is_nan(y);
  const bool less = order_of(x) < order_of(y), more = order_of(x) > order_of(y);
  switch (CODE) {
#include "binary.def"
  }
  return x;
}

#include "each.glsl"
