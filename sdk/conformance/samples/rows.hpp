// Samples of ops along one dimension.
#pragma once

#include "helpers.hpp"

namespace tenon::conformance {

// Calls fn with the positions of each row along `dim`.
template <class Fn>
void for_each_row(const Array& x, int64_t dim, Fn fn) {
  if (x.rank() == 0) return fn(std::vector<size_t>{0});
  size_t d = static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(x.rank()) : dim);
  Shape outer = x.shape;
  outer[d] = 1;
  for_each_index(outer, [&](Shape index) {
    std::vector<size_t> positions;
    for (int64_t i = 0; i < x.shape[d]; ++i) {
      index[d] = i;
      positions.push_back(x.at(index));
    }
    fn(positions);
  });
}

// Shapes, each with a dimension.
inline const std::vector<std::pair<Shape, int64_t>>& rows() {
  static const std::vector<std::pair<Shape, int64_t>> list = {
      {{3, 5}, 1}, {{3, 5}, 0}, {{2, 3, 4}, -2}, {{70}, 0}, {{}, 0}, {{0, 3}, 1}, {{2, 130}, -1}};
  return list;
}

// An op of x and a dimension: fill(x, positions of a row, result) gives the results of one row.
template <class Fn>
Sample& along(Table& t, const std::string& op, const Shape& shape, int64_t dim, uint64_t dtypes,
              DType (*result)(DType), Fn fill) {
  return t.add(
      op, label_of(shape) + " dim " + std::to_string(dim), dtypes,
      [=](DType dtype, Rng& rng) {
        return Args{random_array(rng, dtype, shape, 0.4, 2), dim};
      },
      [=](const Args& args) {
        const Array& x = array(args, arg::cumsum::x);
        Array out(result(x.dtype), x.shape);
        for_each_row(x, dim, [&](const std::vector<size_t>& row) { fill(x, row, out); });
        return one(out);
      });
}

// A product with zeros; its gradient must not divide by them.
inline Array with_zeros(DType dtype, Rng& rng, int zeros) {
  Array x = random_array(rng, dtype, {5}, 0.5, 2);
  for (int z = 0; z < zeros; ++z) x.v[1 + 2 * static_cast<size_t>(z)] = 0;
  return x;
}

}  // namespace tenon::conformance
