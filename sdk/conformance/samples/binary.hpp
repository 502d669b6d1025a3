// Samples of elementwise ops of two operands.
#pragma once

#include "helpers.hpp"

namespace tenon::conformance {

// Pairs of shapes that broadcast.
inline const std::vector<std::pair<Shape, Shape>>& pairs() {
  static const std::vector<std::pair<Shape, Shape>> list = {
      {{2, 3, 4}, {2, 3, 4}}, {{37}, {37}}, {{2, 3, 4}, {4}}, {{3, 1}, {1, 5}},
      {{2, 3}, {}},           {{}, {}},     {{0, 3}, {1, 3}}};
  return list;
}

// The ranges that an op's operands are drawn from, and the dtype of its result.
struct Domains {
  double low = -2, high = 2, low2 = -2, high2 = 2;
  uint64_t dtypes = kReals;
  double tolerance = 1;
  bool gradient = true;
  DType (*result)(DType) = [](DType d) { return d; };
};

template <class Fn>
void binary(Table& t, const std::string& op, Fn fn, Domains d = {}) {
  for (const auto& [a, b] : pairs()) {
    Sample& s = t.add(
        op, label_of(a) + label_of(b), d.dtypes,
        [=, a = a, b = b](DType dtype, Rng& rng) {
          return Args{random_array(rng, dtype, a, d.low, d.high),
                      random_array(rng, dtype, b, d.low2, d.high2)};
        },
        [=](const Args& args) {
          const Array& x = array(args, arg::add::x);
          return one(zip(x, array(args, arg::add::y), d.result(x.dtype), fn));
        });
    s.tolerance = d.tolerance;
    s.gradient = d.gradient && a.size() != 1;
  }
}

template <class Fn>
auto of_reals(Fn fn) {
  return
      [fn](Complex x, Complex y) { return Complex(static_cast<double>(fn(x.real(), y.real()))); };
}

}  // namespace tenon::conformance
