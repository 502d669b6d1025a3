// Random numbers, checked by their moments.
#include <algorithm>

#include "helpers.hpp"

namespace tenon::conformance {
namespace {

// Moments of the drawn numbers, within five standard errors.
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
      [](const Args& a) { return one(array(a, arg::dropout::x)); });
}

}  // namespace

void add_random_samples(Table& table) { add_random(table); }

}  // namespace tenon::conformance
