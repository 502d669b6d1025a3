// Convolution and its gradients at shapes that the suite does not reach: several tiles, split sums, remainders of strides.
#include "against_cpu.hpp"

namespace {

using namespace test_vulkan;
using reference::fractions;
using reference::whole_numbers;

struct Case {
  std::string name;
  Shape x, w, stride, padding, dilation;
  int64_t groups;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
      {"several tiles", {2, 5, 17, 19}, {70, 5, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 1},
      {"stride and dilation", {1, 9, 20, 23}, {12, 9, 3, 2}, {3, 2}, {2, 1}, {2, 3}, 1},
      {"groups", {2, 12, 9, 10}, {20, 6, 3, 3}, {2, 1}, {1, 0}, {1, 1}, 2},
      {"depthwise", {2, 6, 11, 9}, {12, 1, 3, 5}, {2, 1}, {1, 2}, {1, 1}, 6},
      {"one place", {3, 40, 8, 9}, {33, 40, 1, 1}, {1, 1}, {0, 0}, {1, 1}, 1},
      {"pointwise stride", {2, 10, 9, 9}, {20, 10, 1, 1}, {2, 2}, {0, 0}, {1, 1}, 1},
      {"one channel", {2, 1, 30, 31}, {6, 1, 5, 5}, {1, 1}, {2, 2}, {1, 1}, 1},
      {"long kernel", {2, 3, 200}, {10, 3, 40}, {3}, {20}, {2}, 1},
      {"volume", {1, 6, 6, 7, 8}, {8, 3, 3, 2, 3}, {1, 2, 1}, {1, 0, 2}, {2, 1, 1}, 2},
      {"split sum", {4, 6, 50, 52}, {9, 6, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 1},
      {"no images", {0, 5, 9, 9}, {8, 5, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 1},
  };
  return list;
}

Shape result(const Case& c) {
  Shape shape = {c.x[0], c.w[0]};
  for (size_t d = 0; d + 2 < c.x.size(); ++d)
    shape.push_back(
        (c.x[2 + d] + 2 * c.padding[d] - c.dilation[d] * (c.w[2 + d] - 1) - 1) / c.stride[d] + 1);
  return shape;
}

void check(const Case& c, DType dtype) {
  const bool small = dtype == DType::F16 || dtype == DType::BF16;
  const auto numbers = [&](const Shape& shape, uint32_t seed) {
    return small ? fractions(shape, seed) : whole_numbers(shape, seed);
  };
  const Array x = numbers(c.x, 1), w = numbers(c.w, 2), b = numbers({c.w[0]}, 3),
              g = numbers(result(c), 4);
  const double factor = small ? 2 : 1;
  expect_same(
      dtype, "forward, " + c.name,
      [&](const Place& on) {
        return tenon::conv(on(x), on(w), on(b), c.stride, c.padding, c.dilation, c.groups);
      },
      factor);
  expect_same(
      dtype, "input, " + c.name,
      [&](const Place& on) {
        return tenon::conv_backward_input(on(g), on(w), c.x, c.stride, c.padding, c.dilation,
                                          c.groups);
      },
      factor);
  expect_same(
      dtype, "weight, " + c.name,
      [&](const Place& on) {
        return tenon::conv_backward_weight(on(g), on(x), c.w, c.stride, c.padding, c.dilation,
                                           c.groups);
      },
      factor);
}

TEST(Conv, EveryPassF32) {
  for (const Case& c : cases()) check(c, DType::F32);
}
TEST(Conv, OtherDtypes) {
  for (const DType dtype : {DType::F16, DType::BF16, DType::F64, DType::I32, DType::I64, DType::U8})
    check(cases()[dtype == DType::F64 ? 1 : 0], dtype);
  for (const DType dtype : {DType::F16, DType::I64}) check(cases()[3], dtype);
}

// A sum in parts does not depend on the order in which the parts are computed.
TEST(Conv, GradientOfTheWeightIsTheSameEveryTime) {
  const Case& c = cases()[9];
  const Place on{gpu(), DType::F32};
  const Tensor g = on(fractions(result(c), 5)), x = on(fractions(c.x, 6));
  const auto run = [&] {
    return tenon::conv_backward_weight(g, x, c.w, c.stride, c.padding, c.dilation, c.groups)
        .to_vector<float>();
  };
  const auto first = run();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run(), first);
}

}  // namespace
