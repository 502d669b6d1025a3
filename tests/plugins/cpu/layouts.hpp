// Tensors of every layout with random elements, and reductions over arrays of doubles.
#pragma once

#include <functional>
#include <random>
#include <utility>

#include "reference.hpp"

namespace reference {

inline Array random_array(Shape shape, uint32_t seed, double low = -2, double high = 2) {
  Array a(std::move(shape));
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> in(low, high);
  for (double& x : a.v) x = in(engine);
  return a;
}

// The elements of a tensor, as doubles in row-major order.
inline Array array_of(const tenon::Tensor& t) {
  Array a(shape_of(t));
  a.v = values(t);
  return a;
}

// Views of shape (4, 5, 6) over memory of various layouts.
inline std::vector<std::pair<std::string, tenon::Tensor>> layouts(tenon::DType dtype, uint32_t seed,
                                                                  double low = -2,
                                                                  double high = 2) {
  const auto make = [&](Shape shape) {
    return to_tensor(random_array(std::move(shape), seed, low, high), dtype);
  };
  std::vector<std::pair<std::string, tenon::Tensor>> all;
  all.emplace_back("contiguous", make({4, 5, 6}));
  all.emplace_back("transposed", make({6, 5, 4}).permute({2, 1, 0}));
  all.emplace_back("swapped", make({5, 4, 6}).permute({1, 0, 2}));
  all.emplace_back("sliced", make({4, 12, 13}).slice(1, 1, 11, 2).slice(2, 2, 13, 2));
  all.emplace_back("expanded", make({4, 1, 6}).expand({4, 5, 6}));
  all.emplace_back("flipped", make({4, 5, 6}).flip({{0, 2}}));
  return all;
}

// f over the elements of each group that `mask` reduces; kept dimensions stay in order, reduced ones get size 1 with `keepdim`.
using Fold = std::function<double(const std::vector<double>&)>;
inline Array reduced(const Array& a, uint32_t mask, bool keepdim, const Fold& f) {
  Shape kept;
  std::vector<int64_t> step(a.shape.size(), 0);
  int64_t results = 1;
  for (size_t d = a.shape.size(); d-- > 0;) {
    if ((mask >> d & 1) != 0) continue;
    step[d] = results;
    results *= a.shape[d];
  }
  for (size_t d = 0; d < a.shape.size(); ++d) {
    if ((mask >> d & 1) == 0) kept.push_back(a.shape[d]);
    if ((mask >> d & 1) != 0 && keepdim) kept.push_back(1);
  }
  std::vector<std::vector<double>> groups(static_cast<size_t>(results));
  for (size_t i = 0; i < a.v.size(); ++i) {
    int64_t rest = static_cast<int64_t>(i), at = 0;
    for (size_t d = a.shape.size(); d-- > 0; rest /= a.shape[d]) at += rest % a.shape[d] * step[d];
    groups[static_cast<size_t>(at)].push_back(a.v[i]);
  }
  Array out(kept);
  for (size_t i = 0; i < groups.size(); ++i) out.v[i] = f(groups[i]);
  return out;
}

inline double tolerance(tenon::DType dtype) {
  return dtype == tenon::DType::F64   ? 1e-12
         : dtype == tenon::DType::F32 ? 2e-6
         : dtype == tenon::DType::F16 ? 2e-3
                                      : 1.6e-2;
}

}  // namespace reference
