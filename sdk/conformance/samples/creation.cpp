// Creation and triangles.
#include <algorithm>

#include "helpers.hpp"

namespace tenon::conformance {
namespace {

void add_creation(Table& t) {
  t.add(
      "full", "value", kMovable,
      [](DType dtype, Rng&) {
        return Args{Shape{2, 3}, Number{Scalar(1), 1}, dtype};
      },
      [](const Args& a) {
        Array out(std::get<DType>(a[arg::full::dtype]), {2, 3});
        std::fill(out.v.begin(), out.v.end(), Complex(1));
        return one(out);
      });
  t.add(
      "full_like", "value", kMovable,
      [](DType dtype, Rng& rng) {
        return Args{random_array(rng, dtype, {2, 3}), Number{Scalar(1), 1}};
      },
      [](const Args& a) {
        return one(map(array(a, arg::full_like::x), array(a, arg::full_like::x).dtype,
                       [](Complex) { return Complex(1); }));
      });
  for (const auto& [start, end, step] :
       {std::tuple<double, double, double>{0, 40, 1}, {2, 9, 3}, {9, 2, -2}, {3, 3, 1}})
    t.add(
        "arange", std::to_string(start) + " to " + std::to_string(end), kReals,
        [start = start, end = end, step = step](DType dtype, Rng&) {
          auto number = [](double v) { return Number{Scalar(static_cast<int64_t>(v)), v}; };
          return Args{number(start), number(end), number(step), dtype};
        },
        [start = start, end = end, step = step](const Args& a) {
          auto n = static_cast<int64_t>(std::max(0.0, std::ceil((end - start) / step)));
          Array out(std::get<DType>(a[arg::arange::dtype]), {n});
          for (int64_t i = 0; i < n; ++i)
            out.v[static_cast<size_t>(i)] = start + static_cast<double>(i) * step;
          return one(out);
        });
  for (bool endpoint : {true, false})
    t.add(
        "linspace", endpoint ? "closed" : "open", kFloats,
        [=](DType dtype, Rng&) {
          return Args{-1.0, 2.0, int64_t{7}, endpoint, dtype};
        },
        [=](const Args& a) {
          Array out(std::get<DType>(a[arg::linspace::dtype]), {7});
          for (size_t i = 0; i < 7; ++i)
            out.v[i] = -1.0 + 3.0 * static_cast<double>(i) / (endpoint ? 6 : 7);
          return one(out);
        });
  for (int64_t k : {0, 1, -2})
    t.add(
        "eye", "k " + std::to_string(k), kMovable,
        [=](DType dtype, Rng&) {
          return Args{int64_t{3}, int64_t{5}, k, dtype};
        },
        [=](const Args& a) {
          Array out(std::get<DType>(a[arg::eye::dtype]), {3, 5});
          for (int64_t i = 0; i < 3; ++i)
            if (i + k >= 0 && i + k < 5) out.v[out.at({i, i + k})] = 1;
          return one(out);
        });
  for (int64_t k : {0, 1, -1})
    for (const std::string op : {"tril", "triu"})
      for (const Shape& shape : {Shape{4, 4}, Shape{2, 3, 5}, Shape{0, 3}})
        t.add(
            op, label_of(shape) + " k " + std::to_string(k), kMovable,
            [=](DType dtype, Rng& rng) {
              return Args{random_array(rng, dtype, shape), k};
            },
            [=](const Args& a) {
              Array out = array(a, arg::tril::x);
              for_each_index(shape, [&](const Shape& at) {
                int64_t above = at[at.size() - 1] - at[at.size() - 2];
                if (op == "tril" ? above > k : above < k) out.v[out.at(at)] = 0;
              });
              return one(out);
            });
}

}  // namespace

void add_creation_samples(Table& table) { add_creation(table); }

}  // namespace tenon::conformance
