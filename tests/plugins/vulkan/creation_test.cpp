// Random numbers that equal the CPU's bit for bit, ranges, and norms over lists, at sizes beyond the suite's samples.
#include "../cpu/ops.hpp"
#include "device.hpp"

using namespace testing_ops;
using test_vulkan::gpu;
using test_vulkan::to_gpu;

namespace {

std::vector<double> doubles(const Tensor& x) {
  return tenon::cast(tenon::to(x, "cpu"), DType::F64).to_vector<double>();
}

const DType kFloats[] = {DType::F32, DType::F16, DType::BF16, DType::F64};

// On the CPU and on the device, from the same generator state.
template <class Make>
void expect_same_draws(Make make, const char* what) {
  for (const uint64_t offset : {uint64_t{0}, uint64_t{0xfffffff0u}}) {
    tenon::Generator first(123456789012345), second(123456789012345);
    first.set_state({first.state().seed, offset});
    second.set_state({second.state().seed, offset});
    EXPECT_EQ(doubles(make(tenon::Device("cpu"), first)), doubles(make(gpu(), second))) << what;
    EXPECT_EQ(first.state().offset, second.state().offset) << what;
  }
}

TEST(Random, BitsAreTheCpus) {
  for (const DType dtype : kFloats)
    for (const auto& range :
         {std::pair{0.0, 1.0}, std::pair{-0.3, 0.7}, std::pair{1.0, 1.25}, std::pair{-1e6, 3e6}})
      expect_same_draws(
          [&](tenon::Device device, const tenon::Generator& g) {
            return tenon::uniform({10007}, range.first, range.second, dtype, device, g);
          },
          "uniform");
  for (const DType dtype : {DType::I64, DType::I32, DType::U8, DType::U32, DType::I16})
    expect_same_draws(
        [&](tenon::Device device, const tenon::Generator& g) {
          return tenon::randint({5001}, 3, 120, dtype, device, g);
        },
        "randint");
  expect_same_draws(
      [&](tenon::Device device, const tenon::Generator& g) {
        return tenon::randint({5001}, INT64_MIN, INT64_MAX, DType::I64, device, g);
      },
      "randint of any");
  for (const int64_t n : {1, 2, 300, 9001})
    expect_same_draws(
        [&](tenon::Device device, const tenon::Generator& g) {
          return tenon::randperm(n, n == 300 ? DType::U16 : DType::I64, device, g);
        },
        "randperm");
  for (const DType dtype : kFloats) {
    const Tensor p = tenon::cast(tenon::linspace(-0.1, 1.1, 3001, true, DType::F64), dtype);
    expect_same_draws(
        [&](tenon::Device device, const tenon::Generator& g) {
          return tenon::bernoulli(tenon::to(p, device), g);
        },
        "bernoulli");
    expect_same_draws(
        [&](tenon::Device device, const tenon::Generator& g) {
          return tenon::dropout_mask(tenon::to(p, device), 0.3, g);
        },
        "dropout_mask");
  }
}

TEST(Random, NormalsAreTheCpusToRounding) {
  for (const DType dtype : {DType::F32, DType::F64}) {
    const double unit = dtype == DType::F32 ? 6e-8 : 2e-16;
    const std::vector<double> wanted = doubles(
                                  tenon::normal({20001}, 0, 1, dtype, {}, tenon::Generator(5))),
                              got = doubles(
                                  tenon::normal({20001}, 0, 1, dtype, gpu(), tenon::Generator(5)));
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], wanted[i], 8 * unit * std::abs(wanted[i]) + unit) << i;
  }
}

TEST(Creation, RangesAreTheCpus) {
  for (const DType dtype :
       {DType::F32, DType::F64, DType::F16, DType::I32, DType::U8, DType::I64}) {
    EXPECT_EQ(doubles(tenon::arange(-3, 70001, 7, dtype, gpu())),
              doubles(tenon::arange(-3, 70001, 7, dtype)));
    EXPECT_EQ(doubles(tenon::arange(-1.5, 300.0, 0.3, dtype, gpu())),
              doubles(tenon::arange(-1.5, 300.0, 0.3, dtype)));
  }
  for (const DType dtype : kFloats)
    EXPECT_EQ(doubles(tenon::linspace(-0.1, 0.7, 10001, true, dtype, gpu())),
              doubles(tenon::linspace(-0.1, 0.7, 10001, true, dtype)));
  EXPECT_EQ(doubles(tenon::full({3}, 1e30, DType::U8, gpu())), std::vector<double>(3, 255));
  EXPECT_EQ(doubles(tenon::full({1001}, -7, DType::I64, gpu())), std::vector<double>(1001, -7));
  EXPECT_EQ(doubles(tenon::full({1001}, 0.1, DType::F64, gpu())), std::vector<double>(1001, 0.1));
}

// Many workgroups for each tensor, and many tensors.
TEST(Lists, NormAndScale) {
  std::vector<Tensor> host, device;
  for (const int64_t n : {1, 4096, 4097, 1200000, 0, 33}) {
    host.push_back(
        tenon::uniform({n}, -1, 1, DType::F32, {}, tenon::Generator(static_cast<uint64_t>(n))));
    device.push_back(to_gpu(host.back()));
  }
  for (const double p : {2.0, 1.0, HUGE_VAL, 3.0}) {
    const double wanted = doubles(tenon::multi_norm(host, p))[0];
    EXPECT_NEAR(doubles(tenon::multi_norm(device, p))[0], wanted, 1e-6 * wanted) << p;
  }
  tenon::multi_scale(device, tenon::full({}, 0.25, DType::F32, gpu()));
  for (size_t k = 0; k < host.size(); ++k)
    EXPECT_EQ(doubles(device[k]), doubles(tenon::mul(host[k], 0.25))) << k;
}

// More tensors than one launch takes, of two dtypes, some of them not aligned to vectors.
TEST(Lists, StepsOfManyTensors) {
  const auto lists_on = [](const tenon::Device& device) {
    std::vector<std::vector<Tensor>> lists(5);  // parameters, gradients, three states
    for (int64_t k = 0; k < 150; ++k)
      for (size_t l = 0; l < lists.size(); ++l) {
        const int64_t n = k == 70 ? 9001 : k % 9;
        const Tensor all = tenon::uniform({n + 1}, 0.1, 1, DType::F32, {},
                                          tenon::Generator(static_cast<uint64_t>(5 * k) + l));
        const Tensor x = tenon::to(tenon::cast(all, k % 3 == 0 ? DType::F16 : DType::F32), device);
        lists[l].push_back(k % 5 == 0 ? tenon::slice(x, 0, 1, n + 1) : x);
      }
    return lists;
  };
  const auto after = [&](const tenon::Device& device, auto step) {
    auto lists = lists_on(device);
    step(lists);
    std::vector<double> all;
    for (const auto& list : lists)
      for (const Tensor& x : list)
        for (const double v : doubles(x)) all.push_back(v);
    return all;
  };
  const auto expect_same = [&](const char* what, auto step) {
    const std::vector<double> wanted = after(tenon::Device("cpu"), step), got = after(gpu(), step);
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], wanted[i], 2e-3 * std::abs(wanted[i])) << what << ", number " << i;
  };
  expect_same("sgd",
              [](auto& l) { tenon::sgd_step(l[0], l[1], {}, 0.1, 0, 0, 0.01, false, false); });
  expect_same("nesterov",
              [](auto& l) { tenon::sgd_step(l[0], l[1], l[2], 0.1, 0.9, 0.2, 0.01, true, false); });
  expect_same("adam", [](auto& l) {
    tenon::adam_step(l[0], l[1], l[2], l[3], l[4], 3, 0.01, 0.9, 0.99, 1e-6, 0.1, true);
  });
  expect_same("rmsprop", [](auto& l) {
    tenon::rmsprop_step(l[0], l[1], l[2], {}, l[4], 0.01, 0.9, 1e-3, 0.1, 0.5);
  });
  expect_same("adagrad",
              [](auto& l) { tenon::adagrad_step(l[0], l[1], l[2], 3, 0.1, 0.01, 1e-6, 0.1); });
}

}  // namespace
