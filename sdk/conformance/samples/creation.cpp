// Creation, triangles, random numbers, and views.
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
        return one(map(array(a, 0), array(a, 0).dtype, [](Complex) { return Complex(1); }));
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
              Array out = array(a, 0);
              for_each_index(shape, [&](const Shape& at) {
                int64_t above = at[at.size() - 1] - at[at.size() - 2];
                if (op == "tril" ? above > k : above < k) out.v[out.at(at)] = 0;
              });
              return one(out);
            });
}

// Moments of what was drawn, within five standard errors.
std::string check_moments(const Array& x, double mean, double variance) {
  double n = static_cast<double>(x.size()), m = 0, v = 0;
  for (size_t i = 0; i < x.size(); ++i) m += x.re(i) / n;
  for (size_t i = 0; i < x.size(); ++i) v += std::pow(x.re(i) - m, 2) / n;
  if (std::abs(m - mean) > 5 * std::sqrt(variance / n) + 0.01)
    return "mean " + std::to_string(m) + ", wanted " + std::to_string(mean);
  if (std::abs(v - variance) > 0.1 * variance + 0.01)
    return "variance " + std::to_string(v) + ", wanted " + std::to_string(variance);
  return {};
}

void random(Table& t, const std::string& op, uint64_t dtypes, std::function<Args(DType, Rng&)> make,
            std::function<std::string(const Args&, const Array&)> check) {
  Sample sample;
  sample.op = op, sample.label = "moments", sample.dtypes = dtypes, sample.make = std::move(make);
  sample.check = [check = std::move(check)](const Args& args, const std::vector<Array>& results) {
    return check(args, results[0]);
  };
  sample.layouts = sample.gradient = false;
  t.add(std::move(sample));
}

std::string check_range(const Array& x, double low, double high) {
  for (size_t i = 0; i < x.size(); ++i)
    if (!(x.re(i) >= low && x.re(i) <= high))
      return "element " + std::to_string(i) + " is " + std::to_string(x.re(i));
  return {};
}

void add_random(Table& t) {
  random(
      t, "uniform", kFloats,
      [](DType dtype, Rng&) {
        return Args{Shape{50, 100}, -1.0, 3.0, dtype};
      },
      [](const Args&, const Array& x) {
        std::string problem = check_range(x, -1, 3);
        return problem.empty() ? check_moments(x, 1, 16.0 / 12) : problem;
      });
  random(
      t, "normal", kFloats,
      [](DType dtype, Rng&) {
        return Args{Shape{50, 100}, 1.0, 2.0, dtype};
      },
      [](const Args&, const Array& x) { return check_moments(x, 1, 4); });
  random(
      t, "randint", kInts,
      [](DType dtype, Rng&) {
        return Args{Shape{5000}, int64_t{3}, int64_t{9}, dtype};
      },
      [](const Args&, const Array& x) {
        std::string problem = check_range(x, 3, 8);
        return problem.empty() ? check_moments(x, 5.5, 35.0 / 12) : problem;
      });
  random(
      t, "randperm", TN_MASK(TN_DTYPE_I64) | TN_MASK(TN_DTYPE_I32),
      [](DType dtype, Rng&) {
        return Args{int64_t{100}, dtype};
      },
      [](const Args&, const Array& x) {
        std::vector<bool> seen(100);
        bool moved = false;
        for (size_t i = 0; i < x.size(); ++i) {
          auto v = static_cast<size_t>(x.re(i));
          if (v >= 100 || seen[v]) return std::string("not a permutation");
          seen[v] = true;
          moved |= v != i;
        }
        return std::string(moved && x.size() == 100 ? "" : "not shuffled");
      });
  random(
      t, "bernoulli", kFloats,
      [](DType dtype, Rng&) {
        Array p(dtype, {5000});
        std::fill(p.v.begin(), p.v.end(), Complex(0.25));
        return Args{p};
      },
      [](const Args&, const Array& x) { return check_moments(x, 0.25, 0.1875); });
  for (const std::string op : {"dropout_mask", "dropout"})
    random(
        t, op, kFloats,
        [](DType dtype, Rng&) {
          Array x(dtype, {5000});
          std::fill(x.v.begin(), x.v.end(), Complex(1));
          return Args{x, 0.2};
        },
        [](const Args&, const Array& x) {
          for (size_t i = 0; i < x.size(); ++i)
            if (x.re(i) != 0 && std::abs(x.re(i) - 1.25) > 0.01)
              return std::string("neither 0 nor 1.25");
          return check_moments(x, 1, 0.25);
        });
  t.add(
      "dropout", "evaluation", kFloats,
      [](DType dtype, Rng& rng) {
        return Args{random_array(rng, dtype, {3, 4}), 0.5, false};
      },
      [](const Args& a) { return one(array(a, 0)); });
}

// A view takes elements of x: fn maps an index of the result to one of x.
template <class Fn>
void view(Table& t, const std::string& op, const std::string& label, const Shape& x,
          const Shape& result, const Args& rest, Fn fn) {
  t.add(
      op, label, kMovable,
      [=](DType dtype, Rng& rng) {
        Args args = {random_array(rng, dtype, x)};
        args.insert(args.end(), rest.begin(), rest.end());
        return args;
      },
      [=](const Args& a) {
        Array out(array(a, 0).dtype, result);
        for_each_index(result, [&](const Shape& at) {
          out.v[out.at(at)] = array(a, 0).v[array(a, 0).at(fn(at))];
        });
        return one(out);
      });
}

// The index with the same row-major position.
auto same_position(const Shape& from, const Shape& to) {
  return [=](const Shape& at) {
    size_t position = Array(DType::Bool, from).at(at);
    Shape index(to.size());
    for (size_t d = to.size(); d-- > 0;) {
      index[d] = static_cast<int64_t>(position) % to[d];
      position /= static_cast<size_t>(to[d]);
    }
    return index;
  };
}

void add_views(Table& t) {
  view(t, "reshape", "(2,3,4) to (4,6)", {2, 3, 4}, {4, 6}, {Shape{4, -1}},
       same_position({4, 6}, {2, 3, 4}));
  view(t, "flatten", "(2,3,4)", {2, 3, 4}, {2, 12}, {int64_t{1}, int64_t{-1}},
       same_position({2, 12}, {2, 3, 4}));
  view(t, "squeeze", "(2,1,3,1)", {2, 1, 3, 1}, {2, 3}, {}, [](const Shape& i) {
    return Shape{i[0], 0, i[1], 0};
  });
  view(t, "unsqueeze", "(2,3)", {2, 3}, {2, 1, 3}, {int64_t{1}}, [](const Shape& i) {
    return Shape{i[0], i[2]};
  });
  view(t, "permute", "(2,3,4)", {2, 3, 4}, {4, 2, 3}, {Shape{2, 0, 1}}, [](const Shape& i) {
    return Shape{i[1], i[2], i[0]};
  });
  view(t, "transpose", "(2,3,4)", {2, 3, 4}, {4, 3, 2}, {int64_t{0}, int64_t{-1}},
       [](const Shape& i) {
         return Shape{i[2], i[1], i[0]};
       });
  view(t, "expand", "(3,1)", {3, 1}, {2, 3, 4}, {Shape{2, 3, 4}}, [](const Shape& i) {
    return Shape{i[1], 0};
  });
  view(t, "slice", "(3,7) step 2", {3, 7}, {3, 3}, {int64_t{1}, int64_t{1}, int64_t{6}, int64_t{2}},
       [](const Shape& i) {
         return Shape{i[0], 1 + 2 * i[1]};
       });
  view(t, "select", "(3,4)", {3, 4}, {3}, {int64_t{1}, int64_t{-1}}, [](const Shape& i) {
    return Shape{i[0], 3};
  });
  view(t, "flip", "(3,4)", {3, 4}, {3, 4}, {Shape{1}}, [](const Shape& i) {
    return Shape{i[0], 3 - i[1]};
  });
  view(t, "diagonal", "(3,4) offset 1", {3, 4}, {3}, {int64_t{1}}, [](const Shape& i) {
    return Shape{i[0], i[0] + 1};
  });
  t.add(
      "to", "where it is", kMovable,
      [](DType dtype, Rng& rng) {
        return Args{random_array(rng, dtype, {2, 3}), Device("cpu")};
      },
      [](const Args& a) { return one(array(a, 0)); });
  view(t, "alias", "(2,3)", {2, 3}, {2, 3}, {}, [](const Shape& i) { return i; });
  t.add(
       "as_strided", "(4,4) diagonal", kMovable,
       [](DType dtype, Rng& rng) {
         return Args{random_array(rng, dtype, {4, 4}), Shape{4}, Shape{5}};
       },
       [](const Args& a) {
         Array out(array(a, 0).dtype, {4});
         for (size_t i = 0; i < 4; ++i) out.v[i] = array(a, 0).v[5 * i];
         return one(out);
       })
      .layouts = false;
}

}  // namespace

void add_creation_samples(Table& table) {
  add_creation(table);
  add_random(table);
  add_views(table);
}

}  // namespace tenon::conformance
