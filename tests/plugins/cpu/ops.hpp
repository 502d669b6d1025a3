// Ops called by name, and errors in units in the last place.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tenon/tenon.hpp"

namespace testing_ops {

using tenon::DType;
using tenon::Tensor;

inline Tensor call(const std::string& name, std::vector<tn_value> args) {
  const tn_op* op = nullptr;
  tenon::detail::check(tn_op_require({name.data(), name.size()}, &op));
  tn_tensor* out = nullptr;
  tenon::detail::check(tn_op_call(op, args.data(), static_cast<uint32_t>(args.size()), &out, 1));
  return Tensor::adopt(out);
}
inline tn_value arg(const Tensor& x) {
  tn_value v{};
  v.tag = TN_VALUE_TENSOR;
  v.as.tensor = x.get();
  return v;
}
inline Tensor unary(const std::string& name, const Tensor& x) { return call(name, {arg(x)}); }
inline Tensor binary(const std::string& name, const Tensor& x, const Tensor& y) {
  return call(name, {arg(x), arg(y)});
}

// How many units in the last place of f32 `got` is away from `wanted`; 0 for equal infinities and for two NaNs.
inline double ulps(float got, double wanted) {
  if (std::isnan(got) || std::isnan(wanted)) return std::isnan(got) && std::isnan(wanted) ? 0 : 1e9;
  const float nearest = static_cast<float>(wanted);
  if (std::isinf(got) || std::isinf(nearest)) return got == nearest ? 0 : 1e9;
  const float size = std::max(std::abs(nearest), std::numeric_limits<float>::min());
  const double unit =
      static_cast<double>(std::nextafter(size, HUGE_VALF)) - static_cast<double>(size);
  return std::abs(static_cast<double>(got) - wanted) / unit;
}

// Numbers of both signs and every magnitude between `low` and `high`, including `low` and `high`.
inline std::vector<float> spread(double low, double high, int n) {
  std::vector<float> values;
  for (int i = 0; i < n; ++i) {
    const double t = static_cast<double>(i) / (n - 1);
    values.push_back(static_cast<float>(low + (high - low) * t));
    const double magnitude =
        std::exp2(-30 + 31 * t + std::log2(std::max(std::abs(low), std::abs(high)) / 2));
    for (double v : {magnitude, -magnitude})
      if (v >= low && v <= high) values.push_back(static_cast<float>(v));
  }
  return values;
}
inline std::vector<float> edges() {
  using L = std::numeric_limits<float>;
  std::vector<float> values;
  for (float v : {0.0f, L::denorm_min(), 1e-40f, L::min(), 1e-8f, 0.5f, 1.0f, 2.0f, 20.0f, 88.0f,
                  89.0f, 104.0f, 127.0f, 150.0f, 1e5f, 3e9f, L::max(), L::infinity()}) {
    values.push_back(v);
    values.push_back(-v);
  }
  values.push_back(L::quiet_NaN());
  return values;
}

}  // namespace testing_ops
