// Relations of the gamma function, for the CPU and for GPUs, where GPU_FN marks a function.
#pragma once

#include <cmath>
#include <limits>

#include "host_device.hpp"

namespace tenon {

// ψ(x): reflected to x > 0, raised to x ≥ 10, then the asymptotic series. M. Abramowitz, I. Stegun, "Handbook of Mathematical
// Functions", 1964, 6.3.7, 6.3.5, 6.3.18. The sign of a zero says from which side the pole is approached.
template <class T>
TENON_SHARED_FN T digamma(T x) {
  if (x == T(0)) return std::copysign(std::numeric_limits<T>::infinity(), -x);
  T y = T(0);
  if (x < T(0)) {
    if (x == std::floor(x)) return std::numeric_limits<T>::quiet_NaN();
    const T pi = T(3.14159265358979323846);
    y = -pi / std::tan(pi * (x - std::round(x)));
    x = T(1) - x;
  }
  for (; x < T(10); x += T(1)) y -= T(1) / x;
  const T r = T(1) / x, s = r * r;
  T p = T(1.0 / 12) * s - T(691.0 / 32760);
  p = p * s + T(1.0 / 132);
  p = p * s - T(1.0 / 240);
  p = p * s + T(1.0 / 252);
  p = p * s - T(1.0 / 120);
  p = p * s + T(1.0 / 12);
  return y + (std::log(x) - T(0.5) * r - s * p);
}

}  // namespace tenon
