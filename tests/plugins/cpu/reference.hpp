// Arrays of doubles on which references are computed, and their conversion from and to tensors.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "observed.hpp"
#include "tenon/tenon.hpp"

namespace reference {

using tenon::test::error_of;
using Shape = std::vector<int64_t>;

inline int64_t count(const Shape& shape) {
  int64_t n = 1;
  for (const int64_t size : shape) n *= size;
  return n;
}

struct Array {
  Shape shape;
  std::vector<double> v;
  Array() = default;
  explicit Array(Shape of, double value = 0)
      : shape(std::move(of)), v(static_cast<size_t>(count(shape)), value) {}
  double& operator[](int64_t i) { return v[static_cast<size_t>(i)]; }
  double operator[](int64_t i) const { return v[static_cast<size_t>(i)]; }
};

// Small whole numbers, which every dtype represents exactly and whose sums are exact.
inline Array whole_numbers(Shape shape, uint32_t seed, bool negative = true) {
  Array a(std::move(shape));
  uint32_t state = seed * 2654435761u + 12345u;
  for (double& x : a.v) {
    state = state * 1664525u + 1013904223u;
    x = static_cast<double>((state >> 16) % 7) - (negative ? 3 : 0);
  }
  return a;
}
// Multiples of 1/64 in (-1, 1).
inline Array fractions(Shape shape, uint32_t seed) {
  Array a(std::move(shape));
  uint32_t state = seed * 2654435761u + 54321u;
  for (double& x : a.v) {
    state = state * 1664525u + 1013904223u;
    x = (static_cast<double>((state >> 12) % 127) - 63) / 64;
  }
  return a;
}

inline tenon::Tensor to_tensor(const Array& a, tenon::DType dtype) {
  return tenon::tensor(a.v, a.shape, tenon::TensorOptions(dtype));
}

inline std::vector<double> values(const tenon::Tensor& t) {
  return tenon::visit(t.dtype(), [&]<class T>(T) {
    std::vector<double> out;
    if constexpr (std::is_convertible_v<T, double>)
      for (const T x : t.to_vector<T>()) out.push_back(static_cast<double>(x));
    else if constexpr (std::is_convertible_v<T, float>)
      for (const T x : t.to_vector<T>()) out.push_back(static_cast<float>(x));
    else
      ADD_FAILURE() << "complex numbers have no one value";
    return out;
  });
}

inline Shape shape_of(const tenon::Tensor& t) { return {t.shape().begin(), t.shape().end()}; }

// Within `tolerance`, relative to the larger of 1 and the expected value.
inline void expect_close(const tenon::Tensor& got, const Array& want, double tolerance,
                         const std::string& what) {
  ASSERT_EQ(shape_of(got), want.shape) << what;
  const std::vector<double> have = values(got);
  for (size_t i = 0; i < have.size(); ++i) {
    if (std::isnan(want.v[i]) && std::isnan(have[i])) continue;
    if (want.v[i] == have[i]) continue;
    ASSERT_LE(std::abs(have[i] - want.v[i]), tolerance * std::max(1.0, std::abs(want.v[i])))
        << what << " at " << i << ": got " << have[i] << ", want " << want.v[i];
  }
}

inline double tolerance_of(tenon::DType dtype) {
  switch (dtype) {
    case tenon::DType::F16:
      return 2e-3;
    case tenon::DType::BF16:
      return 1.6e-2;
    case tenon::DType::F32:
      return 2e-5;
    default:
      return 1e-11;
  }
}

}  // namespace reference
