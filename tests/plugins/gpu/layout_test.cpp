// Division by invariant numbers, and loops in parts.
#include "layout.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tenon::gpu {
namespace {

TEST(Divider, DividesAsTheProcessorDoes) {
  std::mt19937 random(1);
  const uint32_t edges[] = {0, 1, 2, 3, 0x7ffffffe, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
  std::vector<uint32_t> divisors = {1,   2,     3,     5,          7,          255,       256,
                                    257, 65535, 65536, 0x7fffffff, 0x80000000, 0xffffffff};
  for (int i = 0; i < 2000; ++i)
    divisors.push_back(std::max(1u, static_cast<uint32_t>(random()) >> (random() % 32)));
  for (const uint32_t d : divisors) {
    const Divider by(d);
    for (const uint32_t n : edges) ASSERT_EQ(by.divide(n), n / d) << n << " / " << d;
    for (int i = 0; i < 200; ++i) {
      const auto n = static_cast<uint32_t>(random());
      ASSERT_EQ(by.divide(n), n / d) << n << " / " << d;
    }
  }
}

TEST(LoopParts, CoverALoopBeyond32Bits) {
  const int64_t shape[] = {3, int64_t{3} << 30, 2};
  const int64_t out[] = {int64_t{6} << 30, 2, 1}, in[] = {0, -5, 7};
  const int64_t* const strides[] = {out, in};
  tn_loop loop{};
  loop.ndim = 3;
  loop.shape = shape;
  loop.noperands = 2;
  loop.strides = strides;
  uint64_t elements = 0;
  int64_t end = 0;
  for_parts(loop, 2, [&](const LoopPart& part) {
    uint64_t count = 1;
    for (uint32_t d = 0; d < part.ndim; ++d) count *= part.shape[d];
    EXPECT_EQ(count, part.count);
    EXPECT_LE(part.count, uint32_t{INT32_MAX});
    // The position of an output's part tells which elements it has, and so where the input's elements are.
    const int64_t first = part.start[0], row = first / out[0], column = first % out[0] / 2,
                  last = first % 2;
    EXPECT_EQ(part.start[1], row * in[0] + column * in[1] + last * in[2]);
    elements += count;
    end = std::max(end, first);
  });
  EXPECT_EQ(elements, uint64_t{18} << 30);
  EXPECT_GT(end, int64_t{INT32_MAX});
}

TEST(LoopParts, OfNothingAreNone) {
  const int64_t shape[] = {4, 0}, dense[] = {0, 1};
  const int64_t* const strides[] = {dense};
  tn_loop loop{};
  loop.ndim = 2;
  loop.shape = shape;
  loop.strides = strides;
  for_parts(loop, 1, [](const LoopPart&) { ADD_FAILURE() << "there is nothing to compute"; });
}

}  // namespace
}  // namespace tenon::gpu
