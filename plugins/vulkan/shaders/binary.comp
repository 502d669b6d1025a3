#version 460
// Arithmetic, bits and comparisons of two operands, by CODE: the order of Op in ops/binary.cpp. Integers wrap, division by zero
// gives 0, and shifts by the width or more shift everything out.
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

C apply_own(C x, C y) {
  switch (CODE) {
    case 3: return m_div(x, y);
    case 6: return with_sign(x, sign_bit(y));
    case 13: return floor_divide(x, y);
    case 14: return python_remainder(x, y);
    case 25: return next_after(x, y);
  }
  return x;
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

C apply_own(C x, C y) {
  switch (CODE) {
    case 8: return x & y;
    case 9: return x | y;
    case 10: return x ^ y;
    case 11: return shifts(y) ? x << int(y) : C(0);
    case 12: return shifts(y) ? x >> int(y) : C(x < C(0) ? -1 : 0);
    case 13: return floor_divide(x, y);
    case 14: return y == C(0) ? C(0) : x - floor_divide(x, y) * y;
    case 15: return power(x, y);
  }
  return x;
}
#endif

// NaN is unequal to everything, and wins in maximum and minimum.
C apply(C x, C y) {
  const bool ordered = !is_nan(x) && !is_nan(y);
  const bool less = order_of(x) < order_of(y), more = order_of(x) > order_of(y);
  switch (CODE) {
    case 0: return x + y;
    case 1: return x - y;
    case 2: return x * y;
    case 4: return is_nan(x) || (!is_nan(y) && more) ? x : y;
    case 5: return is_nan(x) || (!is_nan(y) && less) ? x : y;
    case 7: return !is_nan(y) && order_of(y) > 0 ? x : C(0);
    case 16: return C(ordered && !less && !more);
    case 17: return C(!ordered || less || more);
    case 18: return C(ordered && less);
    case 19: return C(ordered && !more);
    case 20: return C(ordered && more);
    case 21: return C(ordered && !less);
    case 22: return C(order_of(x) != 0 && order_of(y) != 0);
    case 23: return C(order_of(x) != 0 || order_of(y) != 0);
    case 24: return C((order_of(x) != 0) != (order_of(y) != 0));
  }
  return apply_own(x, y);
}

#include "each.glsl"
