// The device behind the kernels: transfers larger than its rings, many streams, hazards, layouts.
#include <gtest/gtest.h>

#include <numeric>
#include <thread>
#include <vector>

#include "device.hpp"

namespace {

using namespace test_vulkan;

std::vector<float> counting(size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

TEST(Vulkan, LargeTensorsPassThroughTheRings) {
  const int64_t n = (int64_t{40} << 20) / 4 + 3;  // 40 MB: both rings go around several times
  const auto values = counting(static_cast<size_t>(n));
  const Tensor there = to_gpu(from(values, {n}));
  EXPECT_EQ(there.to_vector<float>(), values);
  EXPECT_EQ((there + there).to_vector<float>()[static_cast<size_t>(n - 1)], 2 * values.back());
}

// Each op reads what the one before it wrote, so a missing barrier would show.
TEST(Vulkan, ChainsOfOpsSeeEachOthersResults) {
  Tensor x = to_gpu(tenon::full({1000}, 1.0));
  for (int i = 0; i < 1000; ++i) x = x + 1.0;  // several batches
  const auto values = x.to_vector<float>();
  for (const float v : values) ASSERT_EQ(v, 1001.0f);
}

TEST(Vulkan, EveryLayoutIsRead) {
  const Tensor host = from(counting(24), {2, 3, 4});
  const Tensor there = to_gpu(host);
  const auto check = [](const Tensor& a, const Tensor& b) {
    EXPECT_EQ((a + 1.0).to_vector<float>(), (b + 1.0).to_vector<float>());
  };
  check(tenon::permute(there, {2, 0, 1}), tenon::permute(host, {2, 0, 1}));
  check(tenon::flip(there), tenon::flip(host));
  check(tenon::slice(there, 2, 1, 4, 2), tenon::slice(host, 2, 1, 4, 2));
  check(tenon::expand(tenon::unsqueeze(there, 1), {2, 5, 3, 4}),
        tenon::expand(tenon::unsqueeze(host, 1), {2, 5, 3, 4}));
}

TEST(Vulkan, ThreadsComputeSideBySide) {
  std::vector<std::thread> threads;
  std::vector<float> results(4);
  for (size_t t = 0; t < results.size(); ++t)
    threads.emplace_back([t, &results] {
      Tensor x = to_gpu(tenon::full({256}, static_cast<double>(t)));
      for (int i = 0; i < 100; ++i) x = x + 1.0;
      results[t] = x.to_vector<float>()[255];
    });
  for (auto& thread : threads) thread.join();
  for (size_t t = 0; t < results.size(); ++t) EXPECT_EQ(results[t], static_cast<float>(t + 100));
}

TEST(Vulkan, TooMuchMemoryIsRefusedAndTheDeviceGoesOn) {
  EXPECT_THROW(tenon::full({int64_t{1} << 40}, 0.0, tenon::DType::F32, gpu()), tenon::Error);
  EXPECT_EQ((to_gpu(tenon::full({2}, 1.0)) + 1.0).to_vector<float>(), (std::vector<float>{2, 2}));
}

}  // namespace
