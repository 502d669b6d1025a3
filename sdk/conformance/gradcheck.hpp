// Compares gradients with central differences in double precision, first and second order. Needs only the public C++ API.
#pragma once

#include <cmath>
#include <complex>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tenon/tenon.hpp"

namespace tenon::testing {

// A function under test. It must be deterministic, and compute the same when called again.
using GradFn = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

struct GradcheckOptions {
  double step = 1e-5;       // of the differences, times max(1, |x|)
  double tolerance = 1e-5;  // of the error, beside max(1, |gradient|)
  uint64_t seed = 1;        // of the weights that combine the results into one number
};

namespace detail {

using Complex = std::complex<double>;

inline bool is_checked(const Tensor& x) {
  return x.defined() && (x.dtype() == DType::F64 || x.dtype() == DType::C128);
}

inline std::vector<Complex> elements(const Tensor& x) {
  const Tensor host = x.detach().cpu();
  if (x.dtype() == DType::C128) return host.to_vector<Complex>();
  const auto real = host.to_vector<double>();
  return {real.begin(), real.end()};
}

inline Tensor from_complex(const std::vector<Complex>& values, const Tensor& like) {
  if (like.dtype() == DType::C128)
    return tensor(values, like.shape(), {like.dtype(), like.device()});
  std::vector<double> real;
  for (const Complex& value : values) real.push_back(value.real());
  return tensor(real, like.shape(), {like.dtype(), like.device()});
}

// A leaf with the same elements and strides.
inline std::vector<Tensor> leaves(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> fresh;
  for (const Tensor& x : inputs) {
    fresh.push_back(x.defined() ? x.detach() : x);
    if (is_checked(x)) fresh.back().requires_grad_();
  }
  return fresh;
}

// Random weights for each checked output: L = Re Σ conj(w)·y.
inline std::vector<Tensor> weights_for(const std::vector<Tensor>& outputs, uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  std::vector<Tensor> weights;
  for (const Tensor& y : outputs) {
    if (!is_checked(y)) {
      weights.emplace_back();
      continue;
    }
    std::vector<Complex> values(static_cast<size_t>(y.numel()));
    for (Complex& value : values)
      value = Complex(normal(engine), y.dtype() == DType::C128 ? normal(engine) : 0.0);
    weights.push_back(from_complex(values, y));
  }
  return weights;
}

inline double project(const std::vector<Tensor>& outputs, const std::vector<Tensor>& weights) {
  double total = 0;
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (!weights[k].defined()) continue;
    const auto y = elements(outputs[k]), w = elements(weights[k]);
    for (size_t i = 0; i < y.size(); ++i)
      if (w[i] != 0.0) total += (std::conj(w[i]) * y[i]).real();
  }
  return total;
}

// Gradients of the checked inputs; undefined if none arrives.
inline std::vector<Tensor> gradients(const std::vector<Tensor>& outputs,
                                     const std::vector<Tensor>& weights,
                                     const std::vector<Tensor>& inputs, bool create_graph) {
  std::vector<Tensor> ys, ws, xs;
  for (size_t k = 0; k < outputs.size(); ++k)
    if (weights[k].defined() && outputs[k].requires_grad()) {
      ys.push_back(outputs[k]);
      ws.push_back(weights[k]);
    }
  for (const Tensor& x : inputs)
    if (is_checked(x)) xs.push_back(x);
  if (ys.empty()) return std::vector<Tensor>(xs.size());
  return gradient(ys, xs, ws, {.create_graph = create_graph, .allow_unused = true});
}

}  // namespace detail

// Compares the gradients of fn at the `inputs` of dtype f64 and c128 (others stay fixed) with central differences of a random projection of
// its results. Empty if they agree, otherwise what differs and where.
inline std::string gradcheck(const GradFn& fn, const std::vector<Tensor>& inputs,
                             GradcheckOptions options = {}) {
  using detail::Complex;
  std::vector<Tensor> analytic, weights;
  {
    const EnableGrad on;
    const auto leaves = detail::leaves(inputs);
    const auto outputs = fn(leaves);
    weights = detail::weights_for(outputs, options.seed);
    analytic = detail::gradients(outputs, weights, leaves, false);
  }
  const NoGrad off;
  size_t which = 0;
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (!detail::is_checked(inputs[k])) continue;
    const Tensor& found = analytic[which++];
    const bool is_complex = inputs[k].dtype() == DType::C128;
    auto x = detail::elements(inputs[k]);
    std::vector<Complex> gradient(x.size());
    if (found.defined()) {
      if (!std::ranges::equal(found.shape(), inputs[k].shape()) ||
          found.dtype() != inputs[k].dtype())
        return "input " + std::to_string(k) + ": the gradient has another shape or dtype";
      gradient = detail::elements(found);
    }
    std::vector<Tensor> moved = inputs;
    const auto value_at = [&](size_t i, Complex at) {
      const Complex before = std::exchange(x[i], at);
      moved[k] = detail::from_complex(x, inputs[k]);
      x[i] = before;
      return detail::project(fn(moved), weights);
    };
    for (size_t i = 0; i < x.size(); ++i) {
      const double step = options.step * std::max(1.0, std::abs(x[i]));
      const auto slope = [&](Complex direction) {
        return (value_at(i, x[i] + step * direction) - value_at(i, x[i] - step * direction)) /
               (2 * step);
      };
      const Complex numeric(slope(1.0), is_complex ? slope(Complex(0, 1)) : 0.0);
      // Where a result is no number, such as the factor of a matrix that has none, neither is the gradient.
      if (std::isnan(numeric.real()) && std::isnan(gradient[i].real())) continue;
      const double error = std::abs(numeric - gradient[i]);
      if (error <= options.tolerance * std::max(1.0, std::abs(numeric))) continue;  // false for NaN
      std::ostringstream text;
      text.precision(10);
      text << "input " << k << ", element " << i << " = " << x[i] << ": gradient " << gradient[i]
           << ", differences give " << numeric;
      return text.str();
    }
  }
  return {};
}

// The gradients themselves, as a function of the inputs and of the incoming gradients.
inline GradFn gradient_function(GradFn fn, size_t ninputs) {
  return [fn = std::move(fn), ninputs](const std::vector<Tensor>& all) {
    const bool second = is_grad_enabled();
    const EnableGrad on;
    std::vector<Tensor> inputs(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(ninputs));
    const std::vector<Tensor> weights(all.begin() + static_cast<std::ptrdiff_t>(ninputs),
                                      all.end());
    if (!second) inputs = detail::leaves(inputs);
    auto found = detail::gradients(fn(inputs), weights, inputs, second);
    size_t which = 0;
    for (const Tensor& x : inputs) {
      if (!detail::is_checked(x)) continue;
      Tensor& gradient = found[which++];
      if (!gradient.defined()) gradient = full(x.shape(), 0, x.dtype(), x.device());
    }
    return found;
  };
}

// gradcheck of the gradients, with respect to the inputs and the incoming gradients.
inline std::string gradgradcheck(const GradFn& fn, const std::vector<Tensor>& inputs,
                                 GradcheckOptions options = {}) {
  std::vector<Tensor> all = inputs;
  {
    const NoGrad off;
    for (const Tensor& w : detail::weights_for(fn(inputs), options.seed + 1)) all.push_back(w);
  }
  const std::string problem = gradcheck(gradient_function(fn, inputs.size()), all, options);
  return problem.empty() ? problem : "second order: " + problem;
}

}  // namespace tenon::testing
