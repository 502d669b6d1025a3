// matrix.hpp on the simulator, with shares as in NVIDIA's lanes and in AMD's: products of small matrices, compared with their definition.
#include "matrix.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "launch_sim.hpp"

namespace tenon::gpu {
namespace {

constexpr uint32_t kPitch = kMatrix + 2;

// sums = left · rightᵀ, + left · right if both are asked for; `rows`: the row of the matrix of each of a lane's own rows.
template <class T>
GPU_SIZED_KERNEL(kMostLanes, products, Ptr<const float> left, Ptr<const float> right,
                 Ptr<float> sums, bool both) {
  GPU_SHARED(T, room_of_left, kMatrix * kPitch);
  GPU_SHARED(T, room_of_right, kMatrix * kPitch);
  const Ptr<T> a = room_of_left, b = room_of_right;
  for (uint32_t i = thread_index().x; i < kMatrix * kMatrix; i += block_size().x) {
    const uint32_t at = i / kMatrix * kPitch + i % kMatrix;
    const float x = left[i], y = right[i];
    a[at] = narrow<T>(x);
    b[at] = narrow<T>(y);
  }
  sync_threads();
  Share<T> l, r;
  Share<float> c;
  clear(c);
  load_left(l, a, kPitch);
  load_right(r, b, kPitch);
  multiply_add(l, r, c);
  if (both) {
    load_right_across(r, b, kPitch);
    multiply_add(l, r, c);
  }
  for (uint32_t e = 0; e < share(); ++e) {
    const MatrixPlace at = place_of_sum(e);
    sums[at.row * kMatrix + at.column] = at.row == place_of_own_row(own_row(e))
                                             ? c.at[e]
                                             : -1.0f;  // its information about rows is right
  }
}

class Matrices : public testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Warps, Matrices, testing::Values(32u, 64u));

template <class T>
void expect_products(uint32_t lanes, bool both) {
  std::vector<float> left, right, sums(kMatrix * kMatrix, -2);
  for (uint32_t i = 0; i < kMatrix * kMatrix; ++i) {
    left.push_back(static_cast<float>(i * 7 % 32) -
                   13);  // small numbers, which both types represent exactly
    right.push_back(static_cast<float>(i * 11 % 29) - 9);
  }
  run_kernel(lanes, lanes, products<T>, all_of(std::as_const(left)), all_of(std::as_const(right)),
             all_of(sums), both);
  for (uint32_t i = 0; i < kMatrix; ++i)
    for (uint32_t j = 0; j < kMatrix; ++j) {
      float expected = 0;
      for (uint32_t k = 0; k < kMatrix; ++k)
        expected +=
            left[i * kMatrix + k] * (right[j * kMatrix + k] + (both ? right[k * kMatrix + j] : 0));
      ASSERT_EQ(sums[i * kMatrix + j], expected) << "row " << i << ", column " << j;
    }
}

TEST_P(Matrices, ProductsAreThoseOfTheirDefinition) {
  for (const bool both : {false, true}) {
    expect_products<Half>(GetParam(), both);
    expect_products<BFloat16>(GetParam(), both);
  }
}

// Rows of a lane are reduced over adjacent lanes.
GPU_SIZED_KERNEL(kMostLanes, rows_of_lanes, Ptr<uint32_t> found) {
  for (uint32_t r = 0; r < rows_of_lane(); ++r)
    found[thread_index().x * kMostRowsOfLane + r] = place_of_own_row(r);
}

TEST_P(Matrices, LanesSideBySideShareRows) {
  const uint32_t lanes = GetParam(), together = lanes == 32 ? 4 : 16;
  std::vector<uint32_t> found(lanes * kMostRowsOfLane, 99), times(kMatrix);
  run_kernel(lanes, lanes, rows_of_lanes, all_of(found));
  for (uint32_t l = 0; l < lanes; ++l)
    for (uint32_t r = 0; r < 256 / lanes / (16 / together); ++r) {
      const uint32_t row = found[l * kMostRowsOfLane + r];
      ASSERT_LT(row, kMatrix);
      ++times[row];
      EXPECT_EQ(row, found[l / together * together * kMostRowsOfLane + r]);
    }
  for (const uint32_t count : times) EXPECT_EQ(count, together);
}

}  // namespace
}  // namespace tenon::gpu
