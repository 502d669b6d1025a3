// Arithmetic that means the same in every op: integers wrap, NaN propagates, signs are taken from the bits.
#pragma once

#include "types.hpp"

namespace tenon::gpu {

template <class C>
inline constexpr bool kIsReal = std::is_floating_point_v<C>;

template <class C>
GPU_FN bool is_nan(C x) {
  if constexpr (kIsReal<C>) return x != x;
  return false;
}
template <class C>
GPU_FN bool is_inf(C x) {
  if constexpr (kIsReal<C>)
    return x == std::numeric_limits<C>::infinity() || x == -std::numeric_limits<C>::infinity();
  return false;
}
template <class C>
GPU_FN bool sign_bit(C x) {
  if constexpr (std::is_same_v<C, float>) {
    return bits_as<uint32_t>(x) >> 31 != 0;
  } else if constexpr (std::is_same_v<C, double>) {
    return bits_as<uint64_t>(x) >> 63 != 0;
  } else {
    return x < C(0);
  }
}

// Sum, difference and product; integers wrap around.
template <class C>
GPU_FN C plus(C x, C y) {
  if constexpr (kIsReal<C>)
    return x + y;
  else
    return static_cast<C>(static_cast<std::make_unsigned_t<C>>(x) +
                          static_cast<std::make_unsigned_t<C>>(y));
}
template <class C>
GPU_FN C minus(C x, C y) {
  if constexpr (kIsReal<C>)
    return x - y;
  else
    return static_cast<C>(static_cast<std::make_unsigned_t<C>>(x) -
                          static_cast<std::make_unsigned_t<C>>(y));
}
template <class C>
GPU_FN C times(C x, C y) {
  if constexpr (kIsReal<C>)
    return x * y;
  else
    return static_cast<C>(static_cast<std::make_unsigned_t<C>>(x) *
                          static_cast<std::make_unsigned_t<C>>(y));
}

// Maximum and minimum; NaN wins.
template <class C>
GPU_FN C larger(C x, C y) {
  return is_nan(x) || (!is_nan(y) && x > y) ? x : y;
}
template <class C>
GPU_FN C smaller(C x, C y) {
  return is_nan(x) || (!is_nan(y) && x < y) ? x : y;
}

// The quotient rounded down; for integers 0 if y is 0.
template <class C>
GPU_FN C floor_divided(C x, C y) {
  if constexpr (kIsReal<C>) {
    // Python's floor division, except that an infinite quotient stays infinite.
    if (y == C(0) || is_inf(x) || is_inf(y)) return std::floor(x / y);
    const C r = std::fmod(x, y);
    C q = (x - r) / y;
    if (r != C(0) && (r < C(0)) != (y < C(0))) q -= C(1);
    if (q == C(0)) return std::copysign(C(0), x / y);
    const C down = std::floor(q);
    return q - down > C(0.5) ? down + C(1) : down;
  } else if constexpr (std::is_unsigned_v<C>) {
    return y == C(0) ? C(0) : x / y;
  } else {
    if (y == C(0)) return C(0);
    if (y == C(-1)) return minus(C(0), x);
    const C q = x / y;
    return q - C(q * y != x && (x < C(0)) != (y < C(0)));
  }
}

// Takes the sign of y; for integers 0 if y is 0.
template <class C>
GPU_FN C python_remainder(C x, C y) {
  if constexpr (kIsReal<C>) {
    const C r = std::fmod(x, y);
    if (r == C(0)) return std::copysign(C(0), y);
    return (r < C(0)) != (y < C(0)) ? r + y : r;
  } else {
    return y == C(0) ? C(0) : minus(x, times(floor_divided(x, y), y));
  }
}

// By squaring. A negative exponent gives the integer part of the result: 0, or ±1 if x is 1 or -1.
template <class C>
GPU_FN C whole_power(C x, C y) {
  if constexpr (std::is_signed_v<C>)
    if (y < C(0)) return x == C(1) ? C(1) : x == C(-1) ? ((y & C(1)) != C(0) ? C(-1) : C(1)) : C(0);
  C result = C(1);
  for (C n = y; n != C(0); n >>= 1) {
    if ((n & C(1)) != C(0)) result = times(result, x);
    x = times(x, x);
  }
  return result;
}

}  // namespace tenon::gpu
