// Ops that work row by row: softmax over a vocabulary, layer_norm, losses.
#include <algorithm>

#include "large.hpp"

namespace tenon::conformance::large {
namespace {

// ln Σ e^x of a row.
double log_sum(const Numbers& x, int64_t row, int64_t n) {
  double top = -INFINITY, sum = 0;
  for (int64_t i = 0; i < n; ++i) top = std::max(top, x[row * n + i]);
  for (int64_t i = 0; i < n; ++i) sum += std::exp(x[row * n + i] - top);
  return top + std::log(sum);
}

// The error of ln Σ e^x: the terms are positive and have errors of a few ulps each.
double log_sum_error(DType dtype, int64_t n, double value) {
  return (8 + 4 * std::sqrt(static_cast<double>(n))) * sum_unit_of(dtype) +
         4 * sum_unit_of(dtype) * std::abs(value);
}

std::string run_softmax(Setting& s, bool log) {
  const int64_t rows = s.size(64, 3), n = s.size(50304, 1500);
  const Numbers x = s.draw({rows, n}, -6, 6);
  const Tensor y = log ? log_softmax(x.tensor, 1) : softmax(x.tensor, 1);
  return compare(s, y, {rows, n}, [&](int64_t place) -> Wanted {
    const double total = log_sum(x, place / n, n), value = x[place] - total;
    const double error = log_sum_error(s.dtype, n, total) + 8 * sum_unit_of(s.dtype) * 12;
    if (log) return {value, error};
    return {std::exp(value), error * std::exp(value)};
  });
}

std::string run_layer_norm(Setting& s) {
  constexpr double kEps = 1e-5;
  const int64_t rows = s.size(512, 8), n = 768;
  const Numbers x = s.draw({rows, n}, -3, 3), weight = s.draw({n}), bias = s.draw({n});
  const Tensor y = layer_norm(x.tensor, {n}, weight.tensor, bias.tensor, kEps).y;
  return compare(s, y, {rows, n}, [&](int64_t place) -> Wanted {
    const int64_t row = place / n, i = place % n;
    double mean = 0, sizes = 0, squares = 0;
    for (int64_t k = 0; k < n; ++k) mean += x[row * n + k], sizes += std::abs(x[row * n + k]);
    mean /= static_cast<double>(n);
    for (int64_t k = 0; k < n; ++k) squares += (x[row * n + k] - mean) * (x[row * n + k] - mean);
    const double rstd = 1 / std::sqrt(squares / static_cast<double>(n) + kEps);
    const double u = sum_unit_of(s.dtype), terms = static_cast<double>(n);
    const double mean_error = sum_error(s.dtype, terms, sizes) / terms;
    const double normal = (x[place] - mean) * rstd;
    // The variance is a sum of positive terms; an error in the mean enters it only squared.
    const double error = mean_error * rstd + std::abs(normal) * (4 * std::sqrt(terms) + 16) * u;
    return {
        normal * weight[i] + bias[i],
        error * std::abs(weight[i]) + 4 * u * (std::abs(normal * weight[i]) + std::abs(bias[i]))};
  });
}

std::string run_cross_entropy(Setting& s) {
  const int64_t rows = s.size(64, 3), n = s.size(50304, 1500);
  const Numbers x = s.draw({rows, n}, -6, 6);
  std::vector<int64_t> drawn;
  const Tensor target = s.labels({rows}, n, drawn), y = cross_entropy(x.tensor, target, {}, "none");
  return compare(s, y, {rows}, [&](int64_t row) -> Wanted {
    const double total = log_sum(x, row, n);
    const double loss = total - x[row * n + drawn[static_cast<size_t>(row)]];
    // The difference is rounded to the dtype of the sums, like the loss.
    return {loss, log_sum_error(s.dtype, n, total) + 8 * sum_unit_of(s.dtype) * 12};
  });
}

}  // namespace

void add_rows(Cases& cases) {
  const uint64_t floats = TN_MASK_FLOAT;
  cases.push_back(
      {"softmax", "vocabulary", floats, [](Setting& s) { return run_softmax(s, false); }});
  cases.push_back(
      {"log_softmax", "vocabulary", floats, [](Setting& s) { return run_softmax(s, true); }});
  cases.push_back({"layer_norm", "GPT-2", floats, run_layer_norm});
  cases.push_back({"cross_entropy", "vocabulary", floats, run_cross_entropy});
}

}  // namespace tenon::conformance::large
