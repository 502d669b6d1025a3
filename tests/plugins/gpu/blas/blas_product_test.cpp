// Products by a vendor's library that neither the suite nor matmul_test.cpp covers: what the library adds to, rounds and counts.
#include <atomic>
#include <limits>
#include <thread>

#include "../../vulkan/against_cpu.hpp"

namespace {

using namespace test_vulkan;
using reference::whole_numbers;

std::vector<float> floats(const Tensor& x) {
  return tenon::cast(tenon::to(x, "cpu"), DType::F32).to_vector<float>();
}

// f16 cannot represent 2049, nor bf16 257: a sum that is rounded before the bias is added loses the 1.
TEST(BlasProduct, AddsTheBiasBeforeItRounds) {
  const std::pair<DType, float> cases[] = {
      {DType::F16, 2048.0f}, {DType::BF16, 256.0f}, {DType::F32, 16777216.0f / 2}};
  for (const auto& [dtype, large] : cases)
    for (const std::string activation : {"none", "relu"}) {
      const auto on = [dtype = dtype](const std::vector<float>& values, tenon::IntList shape) {
        return to_gpu(tenon::cast(from(values, shape), dtype));
      };
      const Tensor x = on(std::vector<float>(6, 1), {3, 2}), w = on({large, 1, large, 1}, {2, 2}),
                   b = on({-large, -large}, {2});
      EXPECT_EQ(floats(tenon::linear(x, w, b, activation)), std::vector<float>(6, 1.0f))
          << tenon::name_of(dtype) << " " << activation;
    }
}

// A bias for rows of any length, beside those that are stored together.
TEST(BlasProduct, BiasOfAnyLength) {
  for (const DType dtype : {DType::F32, DType::F16, DType::F64})
    for (const int64_t n : {1, 2, 3, 5, 8, 13}) {
      const Array x = whole_numbers({7, 3}, 1), w = whole_numbers({n, 3}, 2),
                  b = whole_numbers({2 * n}, 3);
      expect_same(dtype, "bias of " + std::to_string(n), [&](const Place& on) {
        return tenon::linear(on(x), on(w), on(b).slice(0, {}, {}, 2), "gelu");
      });
    }
}

// Gelu by tanh, which libraries compute together with the product if the bias is dense, but not for every type.
TEST(BlasProduct, GeluByTanh) {
  for (const DType dtype : {DType::F32, DType::F16, DType::BF16, DType::F64})
    for (const bool biased : {true, false}) {
      const Array x = whole_numbers({7, 4}, 1), w = whole_numbers({5, 4}, 2),
                  b = whole_numbers({5}, 3);
      expect_same(dtype, biased ? "with a bias" : "without", [&](const Place& on) {
        return tenon::linear(on(x), on(w) * 0.25, biased ? on(b) * 0.25 : Tensor(), "gelu_tanh");
      });
    }
}

// More rows than a grid of a library's tiles can have.
TEST(BlasProduct, ManyRows) {
  constexpr int64_t kRows = 1'100'000;
  std::vector<float> x(kRows), want;
  for (int64_t i = 0; i < kRows; ++i) x[static_cast<size_t>(i)] = static_cast<float>(i % 1021);
  for (const float value : x) {
    want.push_back(value * 2 + 1);
    want.push_back(value * 3 - 1);
  }
  const Tensor w = to_gpu(from<float>({2, 3}, {2, 1})), b = to_gpu(from<float>({1, -1}, {2}));
  EXPECT_EQ(floats(tenon::linear(to_gpu(from(x, {kRows, 1})), w, b)), want);
}

// The gradient of a bias together with that of the weight: by the library if it has the epilogue, otherwise by a sum after the product.
// Sums of 33 terms go to the next kernel; so do sums of 35 terms in memory that begins at any address.
TEST(BlasProduct, SumsBesideTheProduct) {
  for (const DType dtype : {DType::F32, DType::F16, DType::BF16, DType::F64})
    for (const int64_t rows : {40, 33, 35, 200})
      for (const int64_t first : {0, 1}) {
        const Array g = whole_numbers({rows + 1, 7}, 1), x = whole_numbers({rows + 1, 9}, 2);
        expect_same(dtype, std::to_string(rows) + " from " + std::to_string(first),
                    [&](const Place& on) {
                      const auto found = tenon::linear_backward_weight(
                          on(g).slice(0, first, first + rows), on(x).slice(0, first, first + rows));
                      return tenon::concat({found.gweight, found.gbias.unsqueeze(1)}, 1);
                    });
      }
}

// The old contents of the result's memory are not read.
TEST(BlasProduct, OldMemoryDoesNotMatter) {
  for (int i = 0; i < 4; ++i) {
    { const Tensor nan = to_gpu(tenon::full({64, 64}, std::numeric_limits<double>::quiet_NaN())); }
    const Tensor x = to_gpu(tenon::ones({64, 64}));
    EXPECT_EQ(floats(tenon::matmul(x, x)), std::vector<float>(64 * 64, 64.0f));
  }
}

// The bias belongs to the call; threads share only the plan for the shapes.
TEST(BlasProduct, SeveralThreads) {
  const Tensor x = to_gpu(tenon::ones({8, 16})), w = to_gpu(tenon::ones({4, 16}));
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      try {
        const Tensor b = to_gpu(tenon::full({4}, static_cast<double>(t)));
        const std::vector<float> want(32, 16.0f + static_cast<float>(t));
        for (int i = 0; i < 25; ++i) wrong += floats(tenon::linear(x, w, b)) != want;
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// Stand-ins have no algorithm for sums of 33 terms: the next library computes them, or the plugin's own kernels.
TEST(BlasProduct, WhatALibraryHasNoWayFor) {
  const Tensor x = to_gpu(tenon::ones({8, 33})), w = to_gpu(tenon::ones({4, 33})),
               b = to_gpu(tenon::ones({4}));
  for (const std::string activation : {"none", "relu", "tanh"})
    EXPECT_EQ(floats(tenon::linear(x, w, b, activation)),
              std::vector<float>(32, activation == "tanh" ? 1.0f : 34.0f));
}

// Stand-ins compute sums of 35 terms only for aligned vectors: with the same plan, operands that begin elsewhere go to the next kernel.
TEST(BlasProduct, WhatALibraryHasForVectorsOnly) {
  const Tensor flat = to_gpu(tenon::ones({8 * 35 + 1})), w = to_gpu(tenon::ones({4, 35})),
               b = to_gpu(tenon::ones({4}));
  for (const int64_t first : {0, 1, 0, 1}) {
    const Tensor x = tenon::reshape(tenon::slice(flat, 0, first, first + 8 * 35), {8, 35});
    EXPECT_EQ(floats(tenon::linear(x, w, b, "relu")), std::vector<float>(32, 36.0f)) << first;
    EXPECT_EQ(floats(tenon::matmul(x, tenon::transpose(w, 0, 1))), std::vector<float>(32, 35.0f));
  }
}

}  // namespace
