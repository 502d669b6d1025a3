// Creation, triangles and random numbers.
#include <algorithm>
#include <numeric>
#include <set>

#include "ops.hpp"
#include "tenon/philox.hpp"

using namespace testing_ops;

namespace {

std::vector<float> floats(const Tensor& x) { return tenon::cast(x, DType::F32).to_vector<float>(); }

TEST(Creation, Full) {
  for (DType dtype : {DType::Bool, DType::U8, DType::I16, DType::I64, DType::F16, DType::BF16,
                      DType::F64, DType::C64, DType::C128}) {
    const Tensor x = tenon::full({2, 3}, 1, dtype);
    ASSERT_EQ(x.dtype(), dtype);
    EXPECT_EQ(floats(x), std::vector<float>(6, 1));
  }
  EXPECT_EQ(tenon::full({}, 2.5).item<float>(), 2.5f);
  EXPECT_EQ(floats(tenon::full({3}, -2.7, DType::I32)), std::vector<float>(3, -2));
  EXPECT_EQ(floats(tenon::full({1}, 1e30, DType::U8)), std::vector<float>(1, 255));
  EXPECT_EQ(tenon::full({0, 4}, 7).numel(), 0);
  EXPECT_EQ(tenon::full_like(tenon::transpose(tenon::full({2, 3}, 1.0), 0, 1), 4).shape(0), 3);
  EXPECT_THROW(tenon::full({2}, -1, DType::U8), tenon::Error);
  EXPECT_THROW(tenon::full({-2}, 1), tenon::Error);
}

TEST(Creation, Ranges) {
  EXPECT_EQ(floats(tenon::arange(0, 5, 1)), (std::vector<float>{0, 1, 2, 3, 4}));
  EXPECT_EQ(tenon::arange(0, 5, 1).dtype(), DType::I64);
  EXPECT_EQ(floats(tenon::arange(5, 0, -2)), (std::vector<float>{5, 3, 1}));
  EXPECT_EQ(floats(tenon::arange(0.0, 1.0, 0.25)), (std::vector<float>{0, 0.25f, 0.5f, 0.75f}));
  EXPECT_EQ(tenon::arange(3, 3, 1).numel(), 0);
  EXPECT_EQ(tenon::arange(INT64_MIN, INT64_MAX, INT64_MAX).numel(), 3);
  EXPECT_THROW(tenon::arange(0, 1, 0), tenon::Error);
  EXPECT_EQ(floats(tenon::linspace(0, 1, 5)), (std::vector<float>{0, 0.25f, 0.5f, 0.75f, 1}));
  EXPECT_EQ(floats(tenon::linspace(2, 3, 1)), (std::vector<float>{2}));
  EXPECT_EQ(floats(tenon::linspace(0, 1, 4, false)), (std::vector<float>{0, 0.25f, 0.5f, 0.75f}));
  const std::vector<float> fine = floats(tenon::linspace(-0.1, 0.7, 100001));
  EXPECT_EQ(fine.back(), 0.7f);
}

TEST(Creation, EyeAndTriangles) {
  EXPECT_EQ(floats(tenon::eye(2, 3)), (std::vector<float>{1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(floats(tenon::eye(3, 3, 1)), (std::vector<float>{0, 1, 0, 0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(floats(tenon::eye(2, 2, -1)), (std::vector<float>{0, 0, 1, 0}));
  EXPECT_EQ(floats(tenon::eye(2, 2, 100)), std::vector<float>(4, 0));
  for (int64_t k : {-9, -3, -1, 0, 1, 2, 9}) {
    const Tensor x = tenon::reshape(tenon::arange(1, 2 * 3 * 4 + 1, 1, DType::F32), {2, 3, 4});
    const std::vector<float> all = floats(x), lower = floats(tenon::tril(x, k)),
                             upper = floats(tenon::triu(x, k));
    for (int64_t i = 0; i < 24; ++i) {
      const int64_t row = i / 4 % 3, column = i % 4;
      EXPECT_EQ(lower[static_cast<size_t>(i)], column <= row + k ? all[static_cast<size_t>(i)] : 0);
      EXPECT_EQ(upper[static_cast<size_t>(i)], column >= row + k ? all[static_cast<size_t>(i)] : 0);
    }
  }
  const Tensor t = tenon::transpose(tenon::reshape(tenon::arange(0, 6, 1), {2, 3}), 0, 1);
  EXPECT_EQ(floats(tenon::tril(t)), (std::vector<float>{0, 0, 1, 4, 2, 5}));
}

constexpr uint64_t kSeed = 0x123456789abcdef0u;
constexpr int64_t kMany = 100003;  // odd, and long enough for threads
tenon::Generator generator() { return tenon::Generator(kSeed); }

TEST(Random, UniformFollowsTheDefinition) {
  const std::vector<float> x =
      tenon::uniform({kMany}, 0, 1, DType::F32, {}, generator()).to_vector<float>();
  const std::vector<float> scaled =
      tenon::uniform({kMany}, -2, 5, DType::F32, {}, generator()).to_vector<float>();
  const std::vector<double> wide =
      tenon::uniform({kMany}, 0, 1, DType::F64, {}, generator()).to_vector<double>();
  const std::vector<float> half =
      floats(tenon::uniform({kMany}, 0, 1, DType::F16, {}, generator()));
  const std::vector<float> brain =
      floats(tenon::uniform({kMany}, 0, 1, DType::BF16, {}, generator()));
  for (uint64_t i = 0; i < static_cast<uint64_t>(kMany); ++i) {
    const uint32_t draw = tenon::philox::draw32(kSeed, 0, i);
    ASSERT_EQ(x[i], tenon::philox::uniform_f32(draw));
    ASSERT_EQ(scaled[i],
              tenon::philox::uniform_between(tenon::philox::uniform_f32(draw), -2.f, 5.f));
    ASSERT_EQ(wide[i], tenon::philox::uniform_f64(tenon::philox::draw64(kSeed, 0, i)));
    ASSERT_EQ(half[i], tenon::philox::uniform_f16(draw));
    ASSERT_EQ(brain[i], tenon::philox::uniform_bf16(draw));
  }
}

TEST(Random, NormalFollowsTheDefinition) {
  const std::vector<float> x =
      tenon::normal({kMany}, 0, 1, DType::F32, {}, generator()).to_vector<float>();
  const std::vector<double> wide =
      tenon::normal({kMany}, 1, 2, DType::F64, {}, generator()).to_vector<double>();
  for (uint64_t i = 0; i + 1 < static_cast<uint64_t>(kMany); i += 2) {
    double even, odd;
    const uint32_t a = tenon::philox::draw32(kSeed, 0, i),
                   b = tenon::philox::draw32(kSeed, 0, i + 1);
    const double u = ((a >> 8) + 1) * 0x1p-24, v = (b >> 8) * 0x1p-24,
                 radius = std::sqrt(-2 * std::log(u));
    ASSERT_NEAR(x[i], radius * std::cos(2 * M_PI * v), 1e-6);
    ASSERT_NEAR(x[i + 1], radius * std::sin(2 * M_PI * v), 1e-6);
    tenon::philox::normal_pair<double>(tenon::philox::draw64(kSeed, 0, i),
                                       tenon::philox::draw64(kSeed, 0, i + 1), even, odd);
    ASSERT_NEAR(wide[i], 1 + 2 * even, 1e-12);
    ASSERT_NEAR(wide[i + 1], 1 + 2 * odd, 1e-12);
  }
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / kMany;
  EXPECT_NEAR(mean, 0, 0.02);
}

TEST(Random, IntegersFollowTheDefinition) {
  const std::vector<int64_t> x =
      tenon::randint({1001}, -5, 1000, DType::I64, {}, generator()).to_vector<int64_t>();
  const std::vector<uint8_t> bytes =
      tenon::randint({1001}, 0, 256, DType::U8, {}, generator()).to_vector<uint8_t>();
  for (uint64_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(x[i], tenon::philox::randint(tenon::philox::draw64(kSeed, 0, i), -5, 1000));
    ASSERT_EQ(bytes[i], tenon::philox::draw64(kSeed, 0, i) >> 56);
  }
  EXPECT_THROW(tenon::randint({3}, 5, 5), tenon::Error);
  EXPECT_THROW(tenon::randint({3}, 0, 300, DType::U8), tenon::Error);
}

TEST(Random, MasksFollowTheDefinition) {
  const std::vector<float> kept =
      tenon::dropout_mask(tenon::full({1001}, 1.0), 0.25, generator()).to_vector<float>();
  const std::vector<float> ones =
      tenon::bernoulli(tenon::full({1001}, 0.25), generator()).to_vector<float>();
  for (uint64_t i = 0; i < kept.size(); ++i) {
    const bool below =
        (tenon::philox::draw32(kSeed, 0, i) >> 8) < tenon::philox::bernoulli_threshold(0.25);
    ASSERT_EQ(ones[i], below ? 1 : 0);
    ASSERT_EQ(kept[i], below ? 0 : 1 / 0.75f);
  }
  EXPECT_EQ(floats(tenon::bernoulli(tenon::tensor({0.f, 1.f, NAN}))),
            (std::vector<float>{0, 1, 0}));
  EXPECT_EQ(floats(tenon::dropout_mask(tenon::full({64}, 1.0), 1)), std::vector<float>(64, 0));
  EXPECT_EQ(floats(tenon::dropout_mask(tenon::full({64}, 1.0), 0)), std::vector<float>(64, 1));
}

TEST(Random, Permutation) {
  for (int64_t n : {0, 1, 2, 3, 1000, 70001}) {
    const std::vector<int64_t> x =
        tenon::randperm(n, DType::I64, {}, generator()).to_vector<int64_t>();
    std::vector<int64_t> wanted(static_cast<size_t>(n));
    std::iota(wanted.begin(), wanted.end(), 0);
    std::stable_sort(wanted.begin(), wanted.end(), [](int64_t a, int64_t b) {
      return tenon::philox::draw64(kSeed, 0, static_cast<uint64_t>(a)) <
             tenon::philox::draw64(kSeed, 0, static_cast<uint64_t>(b));
    });
    EXPECT_EQ(x, wanted);
  }
}

TEST(Random, GeneratorsMoveOn) {
  tenon::Generator g = generator();
  const std::vector<float> a = tenon::uniform({5}, 0, 1, {}, {}, g).to_vector<float>();
  const std::vector<float> b = tenon::uniform({5}, 0, 1, {}, {}, g).to_vector<float>();
  EXPECT_NE(a, b);
  for (uint64_t i = 0; i < 5; ++i)
    EXPECT_EQ(b[i], tenon::philox::uniform_f32(tenon::philox::draw32(kSeed, 3, i)));
}

}  // namespace
