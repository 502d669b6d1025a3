// Pooling, resampling and padding at shapes that the suite does not reach: large windows, integers, NaN, many dimensions.
#include "against_cpu.hpp"

namespace {

using namespace test_vulkan;
using reference::fractions;
using reference::whole_numbers;

// A whole workgroup computes one window.
TEST(Windows, LargeAverages) {
  const Array x = fractions({2, 3, 41, 37}, 1), g = fractions({2, 3, 2, 1}, 2);
  for (const DType dtype : {DType::F32, DType::F16, DType::F64}) {
    expect_same(dtype, "to one place", [&](const Place& on) {
      return tenon::adaptive_avg_pool(on(x), {1, 1});
    });
    expect_same(dtype, "uneven", [&](const Place& on) {
      return tenon::adaptive_avg_pool(on(x), {2, 1});
    });
    expect_same(dtype, "uneven, backward", [&](const Place& on) {
      return tenon::adaptive_avg_pool_backward(on(g), {2, 3, 41, 37});
    });
    for (const bool pad : {false, true})
      expect_same(dtype, "sliding", [&](const Place& on) {
        return tenon::avg_pool(on(x), {17, 16}, {{5, 7}}, {8, 3}, true, pad);
      });
  }
}

TEST(Windows, MaximaOfIntegersAndTheirPlaces) {
  const Array x = whole_numbers({2, 3, 9, 10}, 3, false);
  for (const DType dtype :
       {DType::I32, DType::I64, DType::U8, DType::I16, DType::U32, DType::F32}) {
    expect_same(dtype, "values", [&](const Place& on) {
      return tenon::max_pool(on(x), {3, 2}, {{2, 1}}, {1, 1}, {1, 2}).values;
    });
    expect_same(dtype, "places", [&](const Place& on) {
      return tenon::max_pool(on(x), {3, 2}, {{2, 1}}, {1, 1}, {1, 2}).indices;
    });
    expect_same(dtype, "backward", [&](const Place& on) {
      const auto pooled = tenon::max_pool(on(x), {3, 3}, {{1, 1}}, {1, 1});
      return tenon::max_pool_backward(pooled.values, pooled.indices, {2, 3, 9, 10});
    });
  }
}

TEST(Windows, NanWins) {
  Array x = fractions({1, 1, 8, 8}, 4);
  x.v[9] = std::numeric_limits<double>::quiet_NaN();
  x.v[40] = -std::numeric_limits<double>::infinity();
  for (const DType dtype : {DType::F32, DType::F16, DType::BF16, DType::F64}) {
    const auto pooled = [&](const Place& on) { return tenon::max_pool(on(x), {2, 2}); };
    expect_same(dtype, "values", [&](const Place& on) { return pooled(on).values; });
    expect_same(dtype, "places", [&](const Place& on) { return pooled(on).indices; });
  }
}

TEST(Windows, ResamplingByLargeFactors) {
  const Array x = fractions({2, 2, 5, 23}, 5);
  for (const std::string mode : {"nearest", "bilinear", "bicubic"})
    for (const bool align : {false, true}) {
      if (mode == "nearest" && align) continue;
      for (const Shape& size : {Shape{41, 3}, Shape{1, 1}, Shape{2, 200}}) {
        const Array g = fractions({2, 2, size[0], size[1]}, 6);
        for (const DType dtype : {DType::F32, DType::F64}) {
          expect_same(
              dtype, mode,
              [&](const Place& on) { return tenon::interpolate(on(x), size, mode, align); }, 2);
          expect_same(
              dtype, mode + " backward",
              [&](const Place& on) {
                return tenon::interpolate_backward(on(g), {2, 2, 5, 23}, mode, align);
              },
              2);
        }
      }
    }
}

TEST(Windows, PaddingOfManyDimensions) {
  const Array x = whole_numbers({2, 1, 3, 2, 4, 5}, 7);
  const Shape pads = {2, 3, 1, 0, 0, 1};
  Array g = whole_numbers({2, 1, 3, 3, 5, 10}, 8);
  g.shape = {2, 1, 3, 3, 5, 10};
  for (const std::string mode : {"constant", "reflect", "replicate", "circular"})
    for (const DType dtype : {DType::F32, DType::U8}) {
      expect_same(dtype, mode, [&](const Place& on) { return tenon::pad(on(x), pads, mode, 2.0); });
      expect_same(dtype, mode + " backward",
                  [&](const Place& on) { return tenon::pad_backward(on(g), pads, mode); });
    }
}

// More than 8 dimensions would need.
TEST(Windows, PaddingOfTwelveDimensions) {
  const Array x = whole_numbers({1, 2, 1, 1, 2, 1, 1, 1, 2, 1, 2, 3}, 9);
  expect_same(DType::F32, "forward and back", [&](const Place& on) {
    return tenon::pad_backward(tenon::pad(on(x), {1, 2, 0, 1}, "replicate"), {1, 2, 0, 1},
                               "replicate");
  });
}

}  // namespace
