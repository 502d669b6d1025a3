// Which products of 8-bit floats go to cuBLASLt, and that their results equal those of other devices; over its stand-in, on the simulator.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "../vulkan/device.hpp"

namespace {

using namespace test_vulkan;
using tenon::DType;

// The number of products of the stand-in so far; 0 if the plugin has not opened it.
int library_products() {
  void* const library = dlopen(CUBLASLT_NAME, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return 0;
  auto* const products = reinterpret_cast<int (*)()>(dlsym(library, "fake_blas_products"));
  const int count = products != nullptr ? products() : -1;
  dlclose(library);
  return count;
}
// Cards before Ada cannot multiply 8-bit floats.
bool has_products() {
  const char* const named = std::getenv("TENON_GPUSIM_ARCHITECTURE");
  return named == nullptr || std::strtol(named, nullptr, 0) >= 89;
}

// Small whole numbers, which all formats represent exactly and whose sums are exact.
Tensor whole(tenon::IntList shape, DType dtype, uint32_t seed) {
  size_t count = 1;
  for (const int64_t size : shape) count *= static_cast<size_t>(size);
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(hash(static_cast<uint32_t>(i) * 31 + seed) % 9) - 4;
  return tenon::cast(from(values, shape), dtype);
}

struct Scaled {
  int64_t m, k, n;
  DType left = DType::F8E4M3, right = DType::F8E4M3, result = DType::BF16;
  bool biased = false;
};

// The weight is (n, k), as in a layer, so both operands have rows along k.
Tensor product(const Scaled& p, const tenon::Device& on) {
  const auto there = [&](const Tensor& x) { return tenon::to(x, on); };
  const Tensor x = there(whole({p.m, p.k}, p.left, 1)),
               weight = there(whole({p.n, p.k}, p.right, 2));
  const Tensor bias = p.biased ? there(whole({p.n}, p.result, 3)) : Tensor();
  return tenon::scaled_matmul(x, tenon::transpose(weight, 0, 1), there(tenon::tensor(0.5f)),
                              there(tenon::tensor(4.0f)), bias, p.result);
}
std::vector<float> floats(const Tensor& x) {
  return tenon::cast(tenon::to(x, "cpu"), DType::F32).to_vector<float>();
}

void expect_product(const Scaled& p, bool by_library) {
  const int before = library_products();
  const std::vector<float> got = floats(product(p, gpu()));
  EXPECT_EQ(got, floats(product(p, tenon::Device("cpu"))))
      << p.m << ", " << p.k << ", " << p.n << " " << tenon::name_of(p.left) << " by "
      << tenon::name_of(p.right) << " to " << tenon::name_of(p.result)
      << (p.biased ? ", bias" : "");
  EXPECT_EQ(library_products() - before, by_library && has_products() ? 1 : 0)
      << p.m << ", " << p.k << ", " << p.n << (p.biased ? ", bias" : "");
}

constexpr DType kE4M3 = DType::F8E4M3, kE5M2 = DType::F8E5M2;

TEST(ScaledMatmul, FormatsAndResults) {
  for (const auto& [left, right] :
       {std::pair{kE4M3, kE4M3}, {kE4M3, kE5M2}, {kE5M2, kE4M3}, {kE5M2, kE5M2}})
    for (const DType result : {DType::BF16, DType::F16, DType::F32})
      for (const bool biased : {false, true}) {
        const bool taken = (left == kE4M3 || right == kE4M3) && !(biased && result == DType::F32);
        expect_product({16, 32, 48, left, right, result, biased}, taken);
      }
}

TEST(ScaledMatmul, Sizes) {
  for (const int64_t m : {1, 7, 16, 33})
    for (const auto& [k, n] : {std::pair<int64_t, int64_t>{16, 16}, {128, 32}})
      expect_product({m, k, n, kE4M3, kE5M2, DType::F16, true}, true);
  // A single column is computed as a row.
  expect_product({32, 32, 1}, true);
  expect_product({32, 32, 1, kE4M3, kE4M3, DType::BF16, true}, false);
  // Sizes that are not multiples of 16, and sums for which the stand-in has no algorithm.
  for (const auto& [m, k, n] : {std::array<int64_t, 3>{16, 24, 16}, {16, 32, 24}, {16, 48, 16}})
    expect_product({m, k, n, kE4M3, kE4M3, DType::BF16, true}, false);
  EXPECT_EQ(product({0, 16, 16}, gpu()).numel(), 0);
}

// Adjacent rows of the right operand, and memory that begins at any address.
TEST(ScaledMatmul, LayoutsThatAreNotTaken) {
  // Columns [from, from + 16) of a times rows of b, each as stored or transposed.
  const auto sliced = [](const tenon::Device& on, bool turn_a, bool turn_b, int64_t from) {
    const auto side = [&](bool turn, uint32_t seed, bool left) {
      const Tensor x =
          tenon::to(left == turn ? whole({32, 16}, kE4M3, seed) : whole({16, 32}, kE4M3, seed), on);
      return tenon::slice(turn ? tenon::transpose(x, 0, 1) : x, left ? 1 : 0, from, from + 16);
    };
    const Tensor scale = tenon::to(tenon::tensor(2.0f), on);
    return floats(
        tenon::scaled_matmul(side(turn_a, 5, true), side(turn_b, 6, false), scale, scale));
  };
  for (const bool turn_a : {false, true})
    for (const bool turn_b : {false, true})
      for (const int64_t from : {0, 1}) {
        const int before = library_products();
        EXPECT_EQ(sliced(gpu(), turn_a, turn_b, from),
                  sliced(tenon::Device("cpu"), turn_a, turn_b, from));
        const bool taken = !turn_a && turn_b && from == 0 && has_products();
        EXPECT_EQ(library_products() - before, taken ? 1 : 0) << turn_a << turn_b << from;
      }
}

// The scales belong to the call; threads share only the plan for the shapes.
TEST(ScaledMatmul, SeveralThreads) {
  const Tensor x = tenon::to(tenon::cast(tenon::ones({16, 16}), kE4M3), gpu());
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 1; t <= 4; ++t)
    threads.emplace_back([&, t] {
      try {
        const Tensor scale = tenon::to(tenon::tensor(static_cast<float>(t)), gpu());
        const Tensor one = tenon::to(tenon::tensor(1.0f), gpu());
        const std::vector<float> want(256, 16.0f * static_cast<float>(t));
        for (int i = 0; i < 10; ++i) {
          wrong += floats(tenon::scaled_matmul(x, tenon::transpose(x, 0, 1), scale, one)) != want;
          wrong += floats(tenon::scaled_matmul(x, tenon::transpose(x, 0, 1), one, scale)) != want;
        }
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// Scales on the host are moved to the device.
TEST(ScaledMatmul, HostNumbersAsScales) {
  const Tensor x = tenon::to(whole({16, 16}, kE4M3, 1), gpu());
  const Tensor y =
      tenon::scaled_matmul(x, tenon::transpose(x, 0, 1), tenon::tensor(3.0f), tenon::tensor(0.25f));
  const Tensor z =
      tenon::scaled_matmul(tenon::to(x, "cpu"), tenon::transpose(tenon::to(x, "cpu"), 0, 1),
                           tenon::tensor(3.0f), tenon::tensor(0.25f));
  EXPECT_EQ(floats(y), floats(z));
}

}  // namespace
