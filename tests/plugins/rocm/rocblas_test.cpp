// Which products the plugin leaves to its own kernels: those that do not fit rocBLAS's 32-bit sizes. Only the views' sizes and strides
// matter, so there is no memory behind them.
#include <gtest/gtest.h>

#include <array>

#include "kernels.hpp"

namespace tenon::gpu {
namespace {

struct View {
  View(std::vector<int64_t> sizes, std::vector<int64_t> steps)
      : shape(std::move(sizes)), strides(std::move(steps)) {
    view.struct_size = sizeof view;
    view.dtype = TN_DTYPE_F32;
    view.ndim = static_cast<uint32_t>(shape.size());
    view.shape = shape.data();
    view.strides = strides.data();
  }
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  std::vector<int64_t> shape, strides;
  tn_view view{};
};

// x·y for (m, k) and (k, n) with the given strides.
bool takes(const View& x, const View& y) {
  const int64_t m = x.shape[0], n = y.shape[1];
  const View out({m, n}, {n, 1});
  std::array<tn_value, 2> args{};
  args[0].tag = args[1].tag = TN_VALUE_VIEW;
  args[arg::matmul::x].as.view = &x.view;
  args[arg::matmul::y].as.view = &y.view;
  const tn_view* const outs[] = {&out.view};
  tn_call call{};
  call.struct_size = sizeof call;
  call.args = args.data();
  call.nargs = 2;
  call.outs = outs;
  call.nouts = 1;
  const tn_kernel& kernel = vendor_kernels().front();
  uint32_t yes = 2;
  EXPECT_EQ(kernel.supports(kernel.self, &call, &yes), nullptr);
  return yes == 1;
}

constexpr int64_t kMost = INT32_MAX, kBeyond = kMost + 1;

TEST(Rocblas, TakesRowsAndColumns) {
  EXPECT_TRUE(takes(View({64, 64}, {64, 1}), View({64, 64}, {64, 1})));
  EXPECT_TRUE(takes(View({64, 64}, {1, 64}), View({64, 64}, {1, 100})));
  EXPECT_TRUE(takes(View({64, 64}, {70, 1}), View({64, 64}, {1, 64})));
}

TEST(Rocblas, LeavesOtherLayouts) {
  EXPECT_FALSE(takes(View({64, 64}, {128, 2}), View({64, 64}, {64, 1})));
  EXPECT_FALSE(takes(View({64, 64}, {64, 1}), View({64, 64}, {-64, 1})));
  EXPECT_FALSE(takes(View({64, 64}, {64, 1}), View({64, 64}, {0, 1})));
  EXPECT_FALSE(takes(View({64, 64}, {1, 1}), View({64, 64}, {64, 1})));
}

TEST(Rocblas, LeavesWhatIsSmallOrEmpty) {
  EXPECT_FALSE(takes(View({4, 4}, {4, 1}), View({4, 4}, {4, 1})));
  EXPECT_FALSE(takes(View({64, 0}, {1, 1}), View({0, 64}, {64, 1})));
}

TEST(Rocblas, LeavesSizesBeyond32Bits) {
  EXPECT_TRUE(takes(View({64, 64}, {kMost, 1}), View({64, 64}, {64, 1})));
  EXPECT_FALSE(takes(View({64, 64}, {kBeyond, 1}), View({64, 64}, {64, 1})));
  EXPECT_FALSE(takes(View({64, 64}, {64, 1}), View({64, 64}, {kBeyond, 1})));
  EXPECT_TRUE(takes(View({2, kMost}, {kMost, 1}), View({kMost, 2}, {2, 1})));
  EXPECT_FALSE(takes(View({2, kBeyond}, {kBeyond, 1}), View({kBeyond, 2}, {2, 1})));
  EXPECT_FALSE(takes(View({2, 64}, {64, 1}), View({64, kBeyond}, {kBeyond, 1})));
  // Rows are computed in parts.
  EXPECT_TRUE(takes(View({kBeyond, 64}, {64, 1}), View({64, 2}, {2, 1})));
}

}  // namespace
}  // namespace tenon::gpu
