// Float functions that <cmath> lacks or computes too inaccurately for activations.
#pragma once

#include "arithmetic.hpp"

namespace tenon::gpu {

// s = 1 / (1 + e^-x), and 1 - s, both without cancellation.
template <class C>
GPU_FN C sigmoid(C x, C& complement) {
  const C e = std::exp(-std::fabs(x)), r = C(1) / (C(1) + e);
  complement = x < C(0) ? r : e * r;
  return x < C(0) ? e * r : r;
}
template <class C>
GPU_FN C sigmoid(C x) {
  C complement;
  return sigmoid(x, complement);
}

// x / (1 + e^-x), with e^-|x| as a square so that small results keep their digits; minus infinity gives 0.
template <class C>
GPU_FN C silu(C x) {
  if (is_inf(x)) return x < C(0) ? C(0) : x;
  const C h = std::exp(C(-0.5) * std::fabs(x)), r = C(1) / std::fma(h, h, C(1));
  return x < C(0) ? x * r * h * h : x * r;
}

// log(1 + e^-|x|)
template <class C>
GPU_FN C softplus_rest(C x) {
  return std::log1p(std::exp(-std::fabs(x)));
}

// The upper tail of the normal distribution at u >= 0, and exp(-u^2 / 2).
GPU_FN double normal_tail(double u, double& density) {
  density = std::exp(-0.5 * u * u);
  return 0.5 * std::erfc(u * 0.70710678118654752440);
}
// erfc(u / sqrt 2) / 2 * exp(u^2 / 2), fitted on [0, 14] as a polynomial in (u - 4) / (u + 4) over u + 4, as plugins/cpu has it.
// Beyond 15 both results are 0 in f32.
GPU_FN float normal_tail(float u, float& density) {
  u = smaller(u, 15.0f);
  const float square = u * u, error = std::fma(u, u, -square), e = std::exp(-0.5f * square);
  density = std::fma(e, -0.5f * error, e);
  const float r = 1.0f / (u + 4.0f), t = (u - 4.0f) * r;
  float p = std::fma(t, -0.00012018439883831888f, 0.0002012617333093658f);
  p = std::fma(p, t, 0.001572317909449339f);
  p = std::fma(p, t, -0.0035261837765574455f);
  p = std::fma(p, t, -0.0075292508117854595f);
  p = std::fma(p, t, 0.06040668860077858f);
  p = std::fma(p, t, -0.1865226775407791f);
  p = std::fma(p, t, 0.38713669776916504f);
  p = std::fma(p, t, -0.607896625995636f);
  p = std::fma(p, t, 0.7552851438522339f);
  return p * r * density;
}

// The normal distribution function Phi(x), and exp(-x^2 / 2) as a by-product.
template <class C>
GPU_FN C normal_cdf(C x, C& density) {
  const C tail = normal_tail(std::fabs(x), density);
  return x < C(0) ? tail : C(1) - tail;
}

inline constexpr double kGeluScale = 1.5957691216057308;  // 2 sqrt(2 / pi)
inline constexpr double kGeluCube = 0.044715;
inline constexpr double kNormalPeak = 0.39894228040143267794;  // 1 / sqrt(2 pi)

// x Phi(x); minus infinity gives 0.
template <class C>
GPU_FN C gelu(C x) {
  if (is_inf(x)) return x < C(0) ? C(0) : x;
  C density;
  return x * normal_cdf(x, density);
}
// x s(2u) with u = sqrt(2 / pi) (x + 0.044715 x^3): the same as x (1 + tanh u) / 2, without its cancellation.
template <class C>
GPU_FN C gelu_tanh(C x) {
  if (is_inf(x)) return x < C(0) ? C(0) : x;
  return x * sigmoid(std::fma(x * x * x, C(kGeluCube), x) * C(kGeluScale));
}

// The derivatives; 0 or 1 where nothing else is left of them.
template <class C>
GPU_FN C gelu_slope(C x) {
  if (std::fabs(x) > C(40)) return x > C(0) ? C(1) : C(0);
  C density;
  const C cdf = normal_cdf(x, density);
  return std::fma(x * C(kNormalPeak), density, cdf);
}
template <class C>
GPU_FN C gelu_tanh_slope(C x) {
  if (std::fabs(x) > C(40)) return x > C(0) ? C(1) : C(0);
  const C square = x * x;
  C rest;
  const C s = sigmoid(std::fma(square * x, C(kGeluCube), x) * C(kGeluScale), rest);
  return std::fma(x * s * rest, std::fma(square, C(3 * kGeluCube), C(1)) * C(kGeluScale), s);
}

}  // namespace tenon::gpu
