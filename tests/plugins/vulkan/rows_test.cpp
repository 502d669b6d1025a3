// Scans, normalisations, losses and sorting, at sizes that span workgroups, chunks and passes, compared with the CPU in f64.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "../cpu/ops.hpp"
#include "device.hpp"

using namespace testing_ops;
using test_vulkan::gpu;
using test_vulkan::hash;
using test_vulkan::to_gpu;

namespace {

// Nothing may run on the host unnoticed.
const bool kDenied = (tn_fallback_set(TN_FALLBACK_DENY), true);

using Shape = std::vector<int64_t>;

// A hash of the position with `levels` different values, so that rounding errors do not repeat.
Tensor values(const Shape& shape, uint32_t seed, uint32_t levels = 1u << 24) {
  const int64_t n = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  std::vector<float> v(static_cast<size_t>(n));
  for (uint32_t i = 0; i < v.size(); ++i)
    v[i] =
        static_cast<float>((hash(i * 31 + seed) >> 8) % levels) / static_cast<float>(levels / 2) -
        1.0f;
  return tenon::tensor(v, shape);
}
Tensor exact(const Tensor& x) { return tenon::cast(x, DType::F64); }

void expect_near(const Tensor& got, const Tensor& wanted, double tolerance, const char* what) {
  const auto y = exact(got.to("cpu")).to_vector<double>(), w = exact(wanted).to_vector<double>();
  ASSERT_EQ(y.size(), w.size()) << what;
  double most = 1;
  for (const double v : w) most = std::max(most, std::abs(v));
  for (size_t i = 0; i < y.size(); ++i)
    ASSERT_NEAR(y[i], w[i], tolerance * most) << what << ", element " << i;
}

class Rows : public testing::TestWithParam<Shape> {};

TEST_P(Rows, Scan) {
  const Tensor x = values(GetParam(), 1);
  expect_near(tenon::cumsum(to_gpu(x), 1), tenon::cumsum(exact(x), 1), 2e-6, "cumsum");
  const Tensor near_one = x * 1e-3 + 1.0;
  expect_near(tenon::cumprod(to_gpu(near_one), 1), tenon::cumprod(exact(near_one), 1), 2e-3,
              "cumprod");
  const Tensor whole = tenon::cast(x * 1e6, DType::I32);
  EXPECT_EQ(tenon::cumsum(to_gpu(whole), 1).to_vector<int64_t>(),
            tenon::cumsum(whole, 1).to_vector<int64_t>());
}

TEST_P(Rows, LayerNorm) {
  const Shape shape = GetParam(), inner = {shape[1]};
  // The mean of a few elements far from 0 says little about their spread.
  const Tensor x = values(shape, 2) + (shape[1] < 100 ? 0.0 : 3.0), g = values(shape, 3),
               weight = values(inner, 4), bias = values(inner, 5);
  const auto wanted = tenon::layer_norm(exact(x), inner, exact(weight), exact(bias));
  const auto got = tenon::layer_norm(to_gpu(x), inner, to_gpu(weight), to_gpu(bias));
  expect_near(got.y, wanted.y, 2e-5, "y");
  expect_near(got.mean, wanted.mean, 1e-6, "mean");
  expect_near(got.rstd, wanted.rstd, 1e-5, "rstd");
  const auto grads = tenon::layer_norm_backward(exact(g), exact(x), wanted.mean, wanted.rstd,
                                                exact(weight), inner);
  const auto mine =
      tenon::layer_norm_backward(to_gpu(g), to_gpu(x), got.mean, got.rstd, to_gpu(weight), inner);
  expect_near(mine.gx, grads.gx, 2e-5, "gx");
  expect_near(mine.gweight, grads.gweight, 2e-5, "gweight");
  expect_near(mine.gbias, grads.gbias, 1e-5, "gbias");
  const auto rms = tenon::rms_norm(exact(x), inner, exact(weight));
  const auto my_rms = tenon::rms_norm(to_gpu(x), inner, to_gpu(weight));
  expect_near(my_rms.y, rms.y, 1e-5, "rms y");
  const auto rms_grads =
      tenon::rms_norm_backward(exact(g), exact(x), rms.rstd, exact(weight), inner);
  const auto my_grads =
      tenon::rms_norm_backward(to_gpu(g), to_gpu(x), my_rms.rstd, to_gpu(weight), inner);
  expect_near(my_grads.gx, rms_grads.gx, 2e-5, "rms gx");
  expect_near(my_grads.gweight, rms_grads.gweight, 2e-5, "rms gweight");
}

TEST_P(Rows, Sort) {
  if (test_vulkan::is_simulated() && GetParam()[0] * GetParam()[1] > 40000 && GetParam()[1] > 3)
    GTEST_SKIP() << "the simulator sorts so many for minutes";
  // Few different values, so there are many ties, which must keep their order.
  const bool large = GetParam()[1] > 1 << 20;  // once is enough
  for (const uint32_t levels : {1u << 24, 50u}) {
    if (large && levels != 50) continue;
    const Tensor x = values(GetParam(), 6, levels);
    for (const bool down : {false, true}) {
      if (large && down) continue;
      const auto wanted = tenon::sort(x, 1, down), got = tenon::sort(to_gpu(x), 1, down);
      EXPECT_EQ(got.indices.to_vector<int64_t>(), wanted.indices.to_vector<int64_t>());
      EXPECT_EQ(got.values.to_vector<float>(), wanted.values.to_vector<float>());
    }
    for (const int64_t k : {int64_t{1}, std::min<int64_t>(37, GetParam()[1]),
                            std::min<int64_t>(1500, GetParam()[1])}) {
      const auto wanted = tenon::topk(x, k, 1), got = tenon::topk(to_gpu(x), k, 1);
      EXPECT_EQ(got.indices.to_vector<int64_t>(), wanted.indices.to_vector<int64_t>()) << "k " << k;
      EXPECT_EQ(got.values.to_vector<float>(), wanted.values.to_vector<float>()) << "k " << k;
    }
  }
  if (large) return;
  const Tensor wide = tenon::cast(values(GetParam(), 7) * 1e9, DType::I64) * 4000000007;
  EXPECT_EQ(tenon::sort(to_gpu(wide), 1).indices.to_vector<int64_t>(),
            tenon::sort(wide, 1).indices.to_vector<int64_t>());
}

INSTANTIATE_TEST_SUITE_P(Sizes, Rows,
                         testing::Values(Shape{1, 1}, Shape{300, 7}, Shape{70000, 3},
                                         Shape{5, 1023}, Shape{3, 1024}, Shape{3, 1025},
                                         Shape{9, 4096}, Shape{2, 4097}, Shape{70, 5000},
                                         Shape{1, 5003}, Shape{2, 100003}, Shape{1, (1 << 20) + 3}),
                         [](const auto& info) {
                           return std::to_string(info.param[0]) + "x" +
                                  std::to_string(info.param[1]);
                         });

class Channels : public testing::TestWithParam<Shape> {};

TEST_P(Channels, Norms) {
  const Shape shape = GetParam(), c = {shape[1]};
  const Tensor x = values(shape, 8) + 2.0, g = values(shape, 9), weight = values(c, 10),
               bias = values(c, 11);
  const auto wanted = tenon::batch_norm(exact(x), exact(weight), exact(bias), {}, {}, true);
  const auto got = tenon::batch_norm(to_gpu(x), to_gpu(weight), to_gpu(bias), {}, {}, true);
  expect_near(got.y, wanted.y, 1e-5, "batch y");
  expect_near(got.mean, wanted.mean, 1e-6, "batch mean");
  expect_near(got.rstd, wanted.rstd, 1e-5, "batch rstd");
  const auto grads =
      tenon::batch_norm_backward(exact(g), exact(x), wanted.mean, wanted.rstd, exact(weight), true);
  const auto mine =
      tenon::batch_norm_backward(to_gpu(g), to_gpu(x), got.mean, got.rstd, to_gpu(weight), true);
  expect_near(mine.gx, grads.gx, 1e-5, "batch gx");
  expect_near(mine.gweight, grads.gweight, 1e-5, "batch gweight");
  expect_near(mine.gbias, grads.gbias, 1e-5, "batch gbias");
  const int64_t groups = shape[1] % 2 == 0 ? 2 : 1;
  const auto by_group = tenon::group_norm(exact(x), groups, exact(weight), exact(bias));
  const auto my_groups = tenon::group_norm(to_gpu(x), groups, to_gpu(weight), to_gpu(bias));
  expect_near(my_groups.y, by_group.y, 1e-5, "group y");
  const auto group_grads = tenon::group_norm_backward(exact(g), exact(x), by_group.mean,
                                                      by_group.rstd, exact(weight), groups);
  const auto my_grads = tenon::group_norm_backward(to_gpu(g), to_gpu(x), my_groups.mean,
                                                   my_groups.rstd, to_gpu(weight), groups);
  expect_near(my_grads.gx, group_grads.gx, 1e-5, "group gx");
  expect_near(my_grads.gweight, group_grads.gweight, 1e-5, "group gweight");
  expect_near(my_grads.gbias, group_grads.gbias, 1e-5, "group gbias");
}

INSTANTIATE_TEST_SUITE_P(Sizes, Channels,
                         testing::Values(Shape{2, 2, 1}, Shape{1000, 3}, Shape{3, 130},
                                         Shape{16, 6, 33, 31}, Shape{2, 4, 90001},
                                         Shape{64, 70, 5}),
                         [](const auto& info) {
                           std::string name;
                           for (const int64_t size : info.param)
                             name += (name.empty() ? "" : "x") + std::to_string(size);
                           return name;
                         });

TEST(Loss, LongBatches) {
  for (const int64_t n : {1, 300, 100001}) {
    const int64_t classes = 7;
    const Tensor logs = tenon::log_softmax(values({n, classes}, 12), 1),
                 weight = values({classes}, 13) + 2.0;
    std::vector<int64_t> t(static_cast<size_t>(n));
    for (size_t i = 0; i < t.size(); ++i)
      t[i] = i % 11 == 10 ? -100 : static_cast<int64_t>((i * 7919) % 7);
    const Tensor target = tenon::tensor(t, {n});
    for (const char* reduction : {"mean", "sum", "none"}) {
      const auto wanted = tenon::nll_loss(exact(logs), target, exact(weight), reduction);
      const auto got = tenon::nll_loss(to_gpu(logs), to_gpu(target), to_gpu(weight), reduction);
      expect_near(got.loss, wanted.loss, 1e-5, reduction);
      expect_near(got.total_weight, wanted.total_weight, 1e-5, reduction);
      const Tensor g = tenon::ones_like(wanted.loss);
      const Tensor grad = tenon::nll_loss_backward(g, exact(logs), target, exact(weight),
                                                   wanted.total_weight, reduction);
      const Tensor mine =
          tenon::nll_loss_backward(to_gpu(tenon::cast(g, DType::F32)), to_gpu(logs), to_gpu(target),
                                   to_gpu(weight), got.total_weight, reduction);
      expect_near(mine, grad, 1e-6, reduction);
    }
  }
}

// Only the device knows the targets: a wrong one is reported when the stream is waited for.
TEST(Loss, TargetOutOfRange) {
  const Tensor logs = to_gpu(values({3, 4}, 14)),
               target = to_gpu(tenon::tensor(std::vector<int64_t>{1, 4, 0}, {3}));
  try {
    tenon::nll_loss(logs, target).loss.to_vector<float>();
    FAIL() << "no error";
  } catch (const tenon::Error& e) {
    const std::string what = e.what();
    EXPECT_NE(what.find("nll_loss"), std::string::npos) << what;
    EXPECT_NE(what.find("4"), std::string::npos) << what;
  }
}

TEST(Search, ManyRows) {
  const Tensor rows = tenon::sort(values({40, 1000}, 15, 300), 1).values,
               wanted = values({40, 50}, 16, 300);
  for (const bool right : {false, true})
    EXPECT_EQ(tenon::searchsorted(to_gpu(rows), to_gpu(wanted), right).to_vector<int64_t>(),
              tenon::searchsorted(rows, wanted, right).to_vector<int64_t>());
}

}  // namespace
