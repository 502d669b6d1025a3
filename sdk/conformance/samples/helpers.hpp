// Shorthands for samples.
#pragma once

#include <cmath>
#include <limits>

#include "../sample.hpp"
#include "tenon/schemas.h"

namespace tenon::conformance {

constexpr uint64_t kFloats = TN_MASK_FLOAT;
constexpr uint64_t kReals = TN_MASK_REAL;
constexpr uint64_t kComplex = TN_MASK_COMPLEX;
constexpr uint64_t kSigned = TN_MASK_SIGNED;
constexpr uint64_t kInts = TN_MASK_INT;
constexpr uint64_t kBool = TN_MASK_BOOL;
constexpr uint64_t kAll = TN_MASK_ALL;
// The dtypes of ops that only move or convert elements.
constexpr uint64_t kMovable = kAll | TN_MASK_F8;
constexpr uint64_t kDouble = TN_MASK(TN_DTYPE_F64);
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The shapes that every elementwise op is tested on: ordinary, long enough for vectors and threads, one element, empty, rank 0.
inline const std::vector<Shape>& usual_shapes() {
  static const std::vector<Shape> shapes = {{2, 3, 4}, {37}, {5, 1, 7}, {}, {0}, {3, 0, 2}};
  return shapes;
}
inline std::string label_of(const Shape& shape) {
  std::string text = "(";
  for (size_t d = 0; d < shape.size(); ++d) text += (d ? "," : "") + std::to_string(shape[d]);
  return text + ")";
}
// One result.
inline std::vector<Array> one(Array array) { return {std::move(array)}; }

// An argument that may be left out.
inline Arg maybe(bool given, Array array) { return given ? Arg(std::move(array)) : Arg(); }

// The array of fn(x) element by element.
template <class Fn>
Array map(const Array& x, DType dtype, Fn fn) {
  Array out(dtype, x.shape);
  for (size_t i = 0; i < x.size(); ++i) out.v[i] = fn(x.v[i]);
  return out;
}
// The same for two arrays that broadcast.
template <class Fn>
Array zip(const Array& x, const Array& y, DType dtype, Fn fn) {
  Array out(dtype, broadcast(x.shape, y.shape));
  size_t i = 0;
  for_each_index(out.shape, [&](const Shape& index) {
    out.v[i++] = fn(broadcast_at(x, index), broadcast_at(y, index));
  });
  return out;
}

}  // namespace tenon::conformance
