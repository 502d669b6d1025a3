// The inverse of erf, for the CPU and for GPUs, where GPU_FN marks a function.
#pragma once

#include <cmath>
#include <limits>

#include "host_device.hpp"

namespace tenon {

// x·p(w), w = −ln(1 − x²): M. Giles, "Approximating the erfinv function", GPU Computing Gems 2, 2012, table 5. The relative error is
// about 1e-7 for w < 16. Coefficients from the highest power down: of w − 2.5 for w < 5, otherwise of √w − 3.
#define TENON_ERFINV_CENTRE                                                                       \
  2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, \
      -0.00417768164, 0.246640727, 1.50140941
#define TENON_ERFINV_TAIL                                                                       \
  -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, \
      0.00943887047, 1.00167406, 2.83297682
template <class T>
TENON_SHARED_FN T erfinv_start(T x, T w) {
  const double centre[] = {TENON_ERFINV_CENTRE}, tail[] = {TENON_ERFINV_TAIL};
  const bool near = w < T(5);
  const T t = near ? w - T(2.5) : std::sqrt(w) - T(3);
  T p = T(near ? centre[0] : tail[0]);
  for (int i = 1; i < 9; ++i) p = T(near ? centre[i] : tail[i]) + p * t;
  return p * x;
}

TENON_SHARED_FN float erfinv(float x) {
  const float a = std::fabs(x);
  if (!(a < 1.0f))
    return a == 1.0f ? std::copysign(std::numeric_limits<float>::infinity(), x)
                     : std::numeric_limits<float>::quiet_NaN();
  return erfinv_start(x, -std::log((1.0f - a) * (1.0f + a)));
}

// Then Halley's steps on erf, or, if 1 − |x| is exact, Newton's on ln erfc: a relative error of 2e-16.
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
