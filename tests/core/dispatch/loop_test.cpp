// Canonical iteration spaces.
#include "dispatch/loop.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tenon::core {
namespace {

struct View {
  std::vector<int64_t> shape, strides;
  tn_view view{};
  View(std::vector<int64_t> s, std::vector<int64_t> t, uint32_t flags = 0)
      : shape(std::move(s)), strides(std::move(t)) {
    view.ndim = static_cast<uint32_t>(shape.size());
    view.shape = shape.data();
    view.strides = strides.data();
    view.flags = flags;
  }
};

std::vector<int64_t> sizes(const Loop& loop) {
  return {loop.get()->shape, loop.get()->shape + loop.get()->ndim};
}
std::vector<int64_t> strides(const Loop& loop, int k) {
  return {loop.get()->strides[k], loop.get()->strides[k] + loop.get()->ndim};
}
using V = std::vector<int64_t>;

TEST(Loop, ContiguousOperandsAreOneDimension) {
  View out({2, 3, 4}, {12, 4, 1}, TN_VIEW_CONTIGUOUS), x = out;
  View number({}, {}, TN_VIEW_SCALAR | TN_VIEW_CONTIGUOUS);
  const tn_view* operands[] = {&out.view, &x.view, &number.view};
  x.view.shape = x.shape.data();
  Loop loop;
  loop.elementwise(out.shape, operands);
  EXPECT_TRUE(loop.contiguous());
  EXPECT_EQ(sizes(loop), V{24});
  EXPECT_EQ(strides(loop, 1), V{1});
  EXPECT_EQ(strides(loop, 2), V{0});
}

TEST(Loop, BroadcastRowsMergeDimensions) {
  View out({2, 3, 4}, {12, 4, 1}, TN_VIEW_CONTIGUOUS), row({4}, {1}, TN_VIEW_CONTIGUOUS);
  const tn_view* operands[] = {&out.view, &row.view};
  Loop loop;
  loop.elementwise(out.shape, operands);
  EXPECT_EQ(sizes(loop), (V{6, 4}));
  EXPECT_EQ(strides(loop, 0), (V{4, 1}));
  EXPECT_EQ(strides(loop, 1), (V{0, 1}));
}

TEST(Loop, DimensionsOfSizeOneVanish) {
  View out({1, 5, 1}, {5, 1, 1}, TN_VIEW_CONTIGUOUS), x({1, 5, 1}, {100, 2, 7});
  const tn_view* operands[] = {&out.view, &x.view};
  Loop loop;
  loop.elementwise(out.shape, operands);
  EXPECT_EQ(sizes(loop), V{5});
  EXPECT_EQ(strides(loop, 1), V{2});
}

TEST(Loop, InPlaceOnATransposedTensorFollowsItsMemory) {
  View x({3, 4}, {1, 3});
  const tn_view* operands[] = {&x.view, &x.view};
  Loop loop;
  loop.elementwise(x.shape, operands);
  EXPECT_EQ(sizes(loop), V{12});
  EXPECT_EQ(strides(loop, 0), V{1});
}

TEST(Loop, OperandsOfOneLayoutAreOneDimension) {
  View out({3, 4}, {1, 3}), x({3, 4}, {1, 3}), row({4}, {1}, TN_VIEW_CONTIGUOUS);
  View number({}, {}, TN_VIEW_SCALAR | TN_VIEW_CONTIGUOUS);
  const tn_view* alike[] = {&out.view, &x.view, &number.view};
  Loop loop;
  loop.elementwise(x.shape, alike);
  EXPECT_TRUE(loop.contiguous());
  EXPECT_EQ(sizes(loop), V{12});
  EXPECT_EQ(strides(loop, 2), V{0});
  const tn_view* broadcast[] = {&out.view, &row.view};
  loop.elementwise(x.shape, broadcast);
  EXPECT_FALSE(loop.contiguous());
  EXPECT_EQ(sizes(loop), (V{4, 3}));
  EXPECT_EQ(strides(loop, 1), (V{1, 0}));
}

TEST(Loop, ReducedDimensionsComeLast) {
  View out({3}, {1}, TN_VIEW_CONTIGUOUS), x({2, 3, 4}, {12, 4, 1}, TN_VIEW_CONTIGUOUS);
  const tn_view* operands[] = {&out.view, &x.view};
  Loop loop;
  loop.reduce(operands, 0b101, false);
  EXPECT_EQ(sizes(loop), (V{3, 2, 4}));
  EXPECT_EQ(loop.get()->reduced, 2u);
  EXPECT_EQ(strides(loop, 0), (V{1, 0, 0}));
  EXPECT_EQ(strides(loop, 1), (V{4, 12, 1}));
}

TEST(Loop, ReducingAllOfAContiguousTensorIsOneDimension) {
  View out({}, {}, TN_VIEW_CONTIGUOUS), x({2, 3, 4}, {12, 4, 1}, TN_VIEW_CONTIGUOUS);
  const tn_view* operands[] = {&out.view, &x.view};
  Loop loop;
  loop.reduce(operands, 0b111, false);
  EXPECT_EQ(sizes(loop), V{24});
  EXPECT_EQ(loop.get()->reduced, 1u);
}

TEST(Loop, OrderedReductionsKeepTheirOrder) {
  View out({}, {}, TN_VIEW_CONTIGUOUS), x({3, 4}, {1, 3});
  const tn_view* operands[] = {&out.view, &x.view};
  Loop sorted, ordered;
  sorted.reduce(operands, 0b11, false);
  ordered.reduce(operands, 0b11, true);
  EXPECT_EQ(sizes(sorted), V{12});
  EXPECT_EQ(sizes(ordered), (V{3, 4}));
}

}  // namespace
}  // namespace tenon::core
