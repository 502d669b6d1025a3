// Samples of elementwise ops of one operand.
#pragma once

#include "helpers.hpp"

namespace tenon::conformance {

// A real function on every usual shape, with values in [low, high]; integers give
// f32 where `fraction`.
struct Domain {
  double low = -2, high = 2;
  uint64_t dtypes = kFloats;
  bool fraction = false;
  double tolerance = 1;
  bool gradient = true;
};

template <class Fn>
void real(Table& t, const std::string& op, Fn fn, Domain d = {}) {
  if (d.fraction) d.dtypes |= kInts;
  for (const Shape& shape : usual_shapes()) {
    Sample& s = t.add(
        op, label_of(shape), d.dtypes,
        [=](DType dtype, Rng& rng) { return Args{random_array(rng, dtype, shape, d.low, d.high)}; },
        [=](const Args& a) {
          const Array& x = array(a, arg::neg::x);
          return one(map(x, d.fraction ? fractional(x.dtype) : x.dtype,
                         [&](Complex v) { return Complex(fn(v.real())); }));
        });
    s.tolerance = d.tolerance;
    s.gradient = d.gradient && shape.size() != 1;
  }
}

// Special floats: infinities, NaN, zeros of both signs, large and tiny numbers.
template <class Fn>
void special(
    Table& t, const std::string& op, Fn fn, DType (*result)(DType) = [](DType d) { return d; }) {
  Sample& s = t.add(
      op, "special", kFloats,
      [](DType dtype, Rng&) {
        Array x(dtype, {10});
        double values[] = {kInf, -kInf, kNan, 0.0, -0.0, 1.0, -1.0, 1e-30, 30000.0, -30000.0};
        std::copy(std::begin(values), std::end(values), x.v.begin());
        round_to_dtype(x);
        return Args{x};
      },
      [fn, result](const Args& a) {
        const Array& x = array(a, arg::neg::x);
        return one(map(x, result(x.dtype),
                       [&](Complex v) { return Complex(static_cast<double>(fn(v.real()))); }));
      });
  s.gradient = false;
}

template <class Fn>
void complex_valued(Table& t, const std::string& op, Fn fn, bool to_real = false,
                    double tolerance = 4, double low = -2, double high = 2) {
  for (const Shape& shape : {Shape{2, 3, 4}, Shape{}, Shape{0}}) {
    Sample& s = t.add(
        op, "complex " + label_of(shape), kComplex,
        [=](DType dtype, Rng& rng) { return Args{random_array(rng, dtype, shape, low, high)}; },
        [=](const Args& a) {
          const Array& x = array(a, arg::neg::x);
          return one(map(x, to_real ? real_of(x.dtype) : x.dtype,
                         [&](Complex v) { return Complex(fn(v)); }));
        });
    s.tolerance = tolerance;
  }
}

}  // namespace tenon::conformance
