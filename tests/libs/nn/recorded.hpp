// Values recorded in float32 from PyTorch's modules of the same names. Parameter i of a module, in the order of named_parameters(), is
// filled with ((0, 1, 2, …)·(i + 3) mod 11 - 5)/10.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "tenon/nn.hpp"

namespace tenon {

// ((0, 1, 2, …)·by mod 13 - 6)/8
inline Tensor steps(const std::vector<int64_t>& shape, int by = 5, DType dtype = DType::F32) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  std::vector<double> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = (static_cast<int>(i) * by % 13 - 6) / 8.0;
  return tensor(values, shape, dtype);
}

template <class M>
M filled(M module) {
  NoGrad guard;
  int i = 0;
  for (auto& [name, parameter] : module.named_parameters()) {
    std::vector<float> values(static_cast<size_t>(parameter.numel()));
    for (size_t k = 0; k < values.size(); ++k)
      values[k] = static_cast<float>(static_cast<int>(k) * (i + 3) % 11 - 5) / 10;
    Tensor(parameter).copy_(tensor(values, parameter.shape()));
    ++i;
  }
  return module;
}

// The shape, the first elements, the sum, and the sum weighted by position.
inline void recorded(const Tensor& y, const std::vector<int64_t>& shape,
                     const std::vector<double>& first, double sum, double weighted) {
  ASSERT_TRUE(std::ranges::equal(y.shape(), shape));
  const auto values = y.detach().to_vector<float>();
  double total = 0, total_weighted = 0, size = 1;
  for (size_t i = 0; i < values.size(); ++i) {
    total += values[i];
    total_weighted += values[i] * static_cast<double>(i);
    size += std::abs(values[i]);
  }
  for (size_t i = 0; i < first.size(); ++i) EXPECT_NEAR(values[i], first[i], 1e-5);
  EXPECT_NEAR(total, sum, 1e-6 * size);
  EXPECT_NEAR(total_weighted, weighted, 1e-6 * size * static_cast<double>(values.size()));
}

// Compares the gradients of Σ fn()·weights by float64 tensors, along one direction each, with differences.
template <class Fn>
void expect_gradients(const std::vector<Tensor>& leaves, Fn&& fn) {
  const auto loss = [&] {
    const Tensor y = fn();
    return (y * steps({y.shape().begin(), y.shape().end()}, 3, DType::F64)).sum();
  };
  for (Tensor leaf : leaves) {
    leaf.requires_grad_().zero_grad();
    loss().backward();
    ASSERT_TRUE(leaf.grad().defined());
    const Tensor direction = steps({leaf.shape().begin(), leaf.shape().end()}, 7, DType::F64);
    const double along = (leaf.grad() * direction).sum().template item<double>(), h = 1e-6;
    NoGrad guard;
    leaf.add_(direction * h);
    const double above = loss().template item<double>();
    leaf.sub_(direction * (2 * h));
    const double below = loss().template item<double>();
    leaf.add_(direction * h);
    EXPECT_NEAR(along, (above - below) / (2 * h), 1e-7 * (1 + std::abs(along)));
  }
}

}  // namespace tenon
