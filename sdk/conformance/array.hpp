// Arrays for references: row-major, every element a complex double. A reference is then plain C++ that shares nothing with the code under
// test.
#pragma once

#include <complex>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include "tenon/tenon.hpp"

namespace tenon::conformance {

using Complex = std::complex<double>;
using Shape = std::vector<int64_t>;

struct Array {
  DType dtype = DType::F64;
  Shape shape;
  std::vector<Complex> v;

  Array() = default;
  Array(DType d, Shape s) : dtype(d), shape(std::move(s)), v(static_cast<size_t>(count(shape))) {}
  static int64_t count(const Shape& shape) {
    return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  }
  size_t size() const { return v.size(); }
  size_t rank() const { return shape.size(); }
  double re(size_t i) const { return v[i].real(); }
  int64_t dim(int64_t d) const {
    return shape[static_cast<size_t>(d < 0 ? d + static_cast<int64_t>(rank()) : d)];
  }
  // Row-major position of an index.
  size_t at(const Shape& index) const {
    size_t position = 0;
    for (size_t d = 0; d < index.size(); ++d)
      position = position * static_cast<size_t>(shape[d]) + static_cast<size_t>(index[d]);
    return position;
  }
};

// Calls fn with every index of a shape, in row-major order.
void for_each_index(const Shape& shape, const std::function<void(const Shape&)>& fn);

// The value as a dtype would store it: rounds floats, wraps integers.
Complex rounded(Complex value, DType dtype);
void round_to_dtype(Array& array);

// Seeded numbers; the same for every run with the same seed.
class Rng {
 public:
  explicit Rng(uint64_t seed) : engine_(seed) {}
  double uniform(double low, double high) {
    return low + (high - low) * std::uniform_real_distribution<double>()(engine_);
  }
  int64_t integer(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high - 1)(engine_);
  }
  std::mt19937_64& engine() { return engine_; }

 private:
  std::mt19937_64 engine_;
};

// Values in [low, high] for a dtype; integers and bools take the integers in that range.
Array random_array(Rng& rng, DType dtype, Shape shape, double low = -2, double high = 2);
// Integers in [low, high) of an integer dtype.
Array random_indices(Rng& rng, Shape shape, int64_t low, int64_t high, DType dtype = DType::I64);
// Values at least `gap` apart, in random order, so that sorts, extrema and pools have no ties.
Array distinct_array(Rng& rng, DType dtype, Shape shape, double gap = 0.25);

// Broadcasting, for references.
Shape broadcast(const Shape& a, const Shape& b);
Complex broadcast_at(const Array& array, const Shape& index);

// The references' own dtype rules, independent of the core's.
DType fractional(DType dtype);  // integers and bools: f32
DType real_of(DType dtype);     // complex: the dtype of its parts
DType sum_dtype(DType dtype);   // integers and bools: 64 bits

}  // namespace tenon::conformance
