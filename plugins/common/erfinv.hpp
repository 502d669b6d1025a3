// The inverse of erf, for the CPU and, where GPU_FN says how a function is marked, for GPUs.
#pragma once

#include <cmath>
#include <limits>

#include "host_device.hpp"

namespace tenon {

// x·p(w), w = −ln(1 − x²): M. Giles, "Approximating the erfinv function", GPU Computing Gems 2, 2012, table 5. Some 1e-7 of the
// result where w < 16.
template <class T>
TENON_SHARED_FN T erfinv_start(T x, T w) {
  T p;
  if (w < T(5)) {
    const T t = w - T(2.5);
    p = T(3.43273939e-07) + T(2.81022636e-08) * t;
    p = T(-3.5233877e-06) + p * t;
    p = T(-4.39150654e-06) + p * t;
    p = T(0.00021858087) + p * t;
    p = T(-0.00125372503) + p * t;
    p = T(-0.00417768164) + p * t;
    p = T(0.246640727) + p * t;
    p = T(1.50140941) + p * t;
  } else {
    const T t = std::sqrt(w) - T(3);
    p = T(0.000100950558) + T(-0.000200214257) * t;
    p = T(0.00134934322) + p * t;
    p = T(-0.00367342844) + p * t;
    p = T(0.00573950773) + p * t;
    p = T(-0.0076224613) + p * t;
    p = T(0.00943887047) + p * t;
    p = T(1.00167406) + p * t;
    p = T(2.83297682) + p * t;
  }
  return p * x;
}

TENON_SHARED_FN float erfinv(float x) {
  const float a = std::fabs(x);
  if (!(a < 1.0f))
    return a == 1.0f ? std::copysign(std::numeric_limits<float>::infinity(), x)
                     : std::numeric_limits<float>::quiet_NaN();
  return erfinv_start(x, -std::log((1.0f - a) * (1.0f + a)));
}

// Then Halley's steps on erf, or, where 1 − |x| is exact, Newton's on ln erfc: 2e-16 of the result.
TENON_SHARED_FN double erfinv(double x) {
  const double a = std::fabs(x);
  if (!(a < 1.0))
    return a == 1.0 ? std::copysign(std::numeric_limits<double>::infinity(), x)
                    : std::numeric_limits<double>::quiet_NaN();
  const double rest = 1.0 - a;
  const double w = a > 0.5 ? -(std::log(rest) + std::log1p(a)) : -std::log1p(-a * a);
  double y = erfinv_start(a, w);
  for (int step = w > 16.0 ? 4 : 2; step > 0; --step) {
    const double slope = 1.1283791670955126 * std::exp(-y * y);  // 2/√π e^(−y²)
    if (a > 0.5) {
      const double tail = std::erfc(y);
      y += std::log(tail / rest) * tail / slope;
    } else {
      const double u = (std::erf(y) - a) / slope;
      y -= u / (1.0 + y * u);
    }
  }
  return std::copysign(y, x);
}

}  // namespace tenon
