#include "tenon/philox.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tenon::philox {
namespace {

struct Known {
  Block counter;
  uint32_t key0, key1;
  Block output;
};

// Random123's kat_vectors, "philox4x32 10".
constexpr Known kKnown[] = {
    {{{0, 0, 0, 0}}, 0, 0, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
    {{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}},
     0xffffffff,
     0xffffffff,
     {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
    {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
     0xa4093822,
     0x299f31d0,
     {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}},
};

TEST(Philox, KnownAnswers) {
  for (const Known& known : kKnown) {
    const Block output = philox4x32_10(known.counter, known.key0, known.key1);
    for (int lane = 0; lane < 4; ++lane) EXPECT_EQ(output.lane[lane], known.output.lane[lane]);
  }
}

TEST(Philox, SeedIsTheKeyAndTheIndexTheCounter) {
  const Block expected = philox4x32_10({{0x22222222, 0x11111111, 0, 0}}, 0x44444444, 0x33333333);
  const Block found = block(0x3333333344444444, 0x1111111122222222);
  for (int lane = 0; lane < 4; ++lane) EXPECT_EQ(found.lane[lane], expected.lane[lane]);
  EXPECT_EQ(draw32(1, 10, 6), block(1, 11).lane[2]);
  EXPECT_EQ(draw64(1, 10, 3), block(1, 11).lane[2] | uint64_t{block(1, 11).lane[3]} << 32);
  EXPECT_EQ(blocks_for(0), 0u);
  EXPECT_EQ(blocks_for(5), 3u);
  EXPECT_EQ(blocks_for(~uint64_t{0}), uint64_t{1} << 63);
}

TEST(Uniform, StaysBelowOneInEveryPrecision) {
  EXPECT_EQ(uniform_f32(0), 0.0f);
  EXPECT_EQ(uniform_f32(~0u), 1.0f - 0x1p-24f);
  EXPECT_EQ(uniform_f16(~0u), 1.0f - 0x1p-11f);
  EXPECT_EQ(uniform_bf16(~0u), 1.0f - 0x1p-8f);
  EXPECT_EQ(uniform_f64(~uint64_t{0}), 1.0 - 0x1p-53);
  EXPECT_EQ(uniform_between(0.25, -2.0, 2.0), -1.0);
  EXPECT_EQ(uniform_between(1.0f - 0x1p-24f, 1e8f, 1e8f + 8),
            1e8f);  // rounded up to high, which is outside the range
  EXPECT_EQ(uniform_between(0.5f, 3.0f, 3.0f), 3.0f);
}

TEST(Uniform, HasTheMomentsOfOne) {
  constexpr uint64_t kCount = 200000;
  double sum = 0, squares = 0;
  for (uint64_t i = 0; i < kCount; ++i) {
    const double u = uniform_f32(draw32(3, 0, i));
    sum += u, squares += u * u;
  }
  const double mean = sum / kCount;
  EXPECT_NEAR(mean, 0.5, 5 * std::sqrt(1.0 / 12 / kCount));
  EXPECT_NEAR(squares / kCount - mean * mean, 1.0 / 12, 0.002);
}

template <class T, class Draw>
void check_normal(Draw (*draw)(uint64_t, uint64_t, uint64_t)) {
  constexpr uint64_t kCount = 200000;
  double sum = 0, squares = 0, fourth = 0;
  for (uint64_t i = 0; i < kCount; i += 2) {
    T pair[2];
    normal_pair(draw(5, 0, i), draw(5, 0, i + 1), pair[0], pair[1]);
    for (const double z : {static_cast<double>(pair[0]), static_cast<double>(pair[1])})
      sum += z, squares += z * z, fourth += z * z * z * z;
  }
  EXPECT_NEAR(sum / kCount, 0, 5 / std::sqrt(kCount));
  EXPECT_NEAR(squares / kCount, 1, 0.02);
  EXPECT_NEAR(fourth / kCount, 3, 0.15);
}
TEST(Normal, HasTheMomentsOfOne) {
  check_normal<float, uint32_t>([](uint64_t s, uint64_t o, uint64_t i) { return draw32(s, o, i); });
  check_normal<double, uint64_t>(
      [](uint64_t s, uint64_t o, uint64_t i) { return draw64(s, o, i); });
}
TEST(Normal, IsFiniteAtTheEnds) {
  for (uint32_t first : {0u, ~0u})
    for (uint32_t second : {0u, ~0u}) {
      float even = 0, odd = 0;
      normal_pair(first, second, even, odd);
      EXPECT_TRUE(std::isfinite(even) && std::isfinite(odd));
      double wide_even = 0, wide_odd = 0;
      normal_pair(first == 0 ? uint64_t{0} : ~uint64_t{0}, second == 0 ? uint64_t{0} : ~uint64_t{0},
                  wide_even, wide_odd);
      EXPECT_TRUE(std::isfinite(wide_even) && std::isfinite(wide_odd));
    }
}

TEST(Integers, CoverTheirRange) {
  EXPECT_EQ(randint(0, -3, 4), -3);
  EXPECT_EQ(randint(~uint64_t{0}, -3, 4), 3);
  constexpr int64_t kLow = std::numeric_limits<int64_t>::min(),
                    kHigh = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(randint(0, kLow, kHigh), kLow);
  EXPECT_EQ(randint(~uint64_t{0}, kLow, kHigh), kHigh - 1);
  int counts[7] = {};
  for (uint64_t i = 0; i < 70000; ++i) ++counts[randint(draw64(9, 0, i), 0, 7)];
  for (int count : counts) EXPECT_NEAR(count, 10000, 500);
}

TEST(Integers, MultiplyHighIsExact) {
#if defined(__SIZEOF_INT128__)
  __extension__ using Wide = unsigned __int128;
  for (uint64_t i = 0; i < 10000; ++i) {
    const uint64_t a = draw64(1, 0, i), b = draw64(2, 0, i);
    ASSERT_EQ(multiply_high(a, b), static_cast<uint64_t>(static_cast<Wide>(a) * b >> 64));
  }
#endif
  EXPECT_EQ(multiply_high(~uint64_t{0}, ~uint64_t{0}), ~uint64_t{0} - 1);
}

TEST(Bernoulli, NeverAndAlways) {
  EXPECT_EQ(bernoulli_threshold(0), 0u);
  EXPECT_EQ(bernoulli_threshold(-1), 0u);
  EXPECT_EQ(bernoulli_threshold(1), 1u << 24);
  EXPECT_EQ(bernoulli_threshold(0.25), 1u << 22);
  EXPECT_EQ(bernoulli_threshold(1e-30), 1u);
}

}  // namespace
}  // namespace tenon::philox
