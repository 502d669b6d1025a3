// Matrix products and linear layers.
#include "large.hpp"

namespace tenon::conformance::large {
namespace {

// Σ over k of two runs of elements.
Wanted dot(DType dtype, int64_t k, const std::function<double(int64_t)>& term) {
  Wanted w;
  double sizes = 0;
  for (int64_t p = 0; p < k; ++p) {
    const double t = term(p);
    w.value += t;
    sizes += std::abs(t);
  }
  w.error = sum_error(dtype, static_cast<double>(k), sizes);
  return w;
}

std::string run_matmul(Setting& s, int64_t batch, int64_t m, int64_t k, int64_t n) {
  const Numbers x = s.draw({batch, m, k}), y = s.draw({batch, k, n});
  return compare(s, matmul(x.tensor, y.tensor), {batch, m, n}, [&](int64_t place) {
    const int64_t b = place / (m * n), i = place / n % m, j = place % n;
    return dot(s.dtype, k,
               [&](int64_t p) { return x[(b * m + i) * k + p] * y[(b * k + p) * n + j]; });
  });
}

// The sizes of a product with one transposed side, as in gradients of layers.
std::string run_transposed(Setting& s, int64_t m, int64_t k, int64_t n) {
  const Numbers x = s.draw({k, m}), y = s.draw({n, k});
  return compare(s, matmul(transpose(x.tensor, 0, 1), transpose(y.tensor, 0, 1)), {m, n},
                 [&](int64_t place) {
                   const int64_t i = place / n, j = place % n;
                   return dot(s.dtype, k, [&](int64_t p) { return x[p * m + i] * y[j * k + p]; });
                 });
}

// 0.5·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))); its slope is at most 1.13.
double gelu_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

std::string run_linear(Setting& s, int64_t rows, int64_t k, int64_t n, const std::string& kind) {
  const Numbers x = s.draw({rows, k}), weight = s.draw({n, k}, -0.1, 0.1), bias = s.draw({n});
  const Tensor y = linear(x.tensor, weight.tensor, bias.tensor, kind);
  return compare(s, y, {rows, n}, [&](int64_t place) {
    const int64_t i = place / n, j = place % n;
    Wanted w = dot(s.dtype, k, [&](int64_t p) { return x[i * k + p] * weight[j * k + p]; });
    w.value += bias[j];
    // A library may round the sum before a separate kernel applies the activation.
    w.error += sum_unit_of(s.dtype) * std::abs(w.value);
    if (kind == "none") return w;
    w.error = 1.13 * (w.error + unit_of(s.dtype) * std::abs(w.value)) +
              8 * sum_unit_of(s.dtype) * std::abs(w.value);
    w.value = kind == "relu" ? std::max(w.value, 0.0) : gelu_tanh(w.value);
    return w;
  });
}

}  // namespace

void add_products(Cases& cases) {
  const uint64_t floats = TN_MASK_FLOAT;
  cases.push_back({"matmul", "square", floats, [](Setting& s) {
                     return run_matmul(s, 1, s.size(768, 96), s.size(768, 96), s.size(768, 96));
                   }});
  cases.push_back({"matmul", "attention scores", floats, [](Setting& s) {
                     return run_matmul(s, s.size(24, 2), s.size(256, 64), 64, s.size(256, 64));
                   }});
  cases.push_back({"matmul", "edges", floats, [](Setting& s) {
                     return run_matmul(s, 1, s.size(513, 65), s.size(1001, 129), s.size(257, 33));
                   }});
  cases.push_back({"matmul", "transposed", floats, [](Setting& s) {
                     return run_transposed(s, s.size(768, 96), s.size(1024, 128), s.size(512, 64));
                   }});
  for (const std::string kind : {"none", "relu", "gelu_tanh"})
    cases.push_back({"linear", "GPT-2 " + kind, floats, [kind](Setting& s) {
                       return run_linear(s, s.size(512, 64), s.size(768, 96), s.size(2304, 128),
                                         kind);
                     }});
}

}  // namespace tenon::conformance::large
