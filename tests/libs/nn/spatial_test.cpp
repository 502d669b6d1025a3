// PyTorch's padding, pooling, norm and window modules, compared with values recorded from it.
#include "../scratch.hpp"
#include "recorded.hpp"

namespace tenon::nn {
namespace {

const UnfoldOptions kWindows = {.dilation = {1, 2}, .padding = {0, 1}, .stride = {1, 2}};

TEST(Spatial, AsRecorded) {
  const Tensor x = steps({2, 4, 3, 5});
  const auto check = [&](auto module, const std::vector<int64_t>& shape,
                         const std::vector<double>& first, double sum, double weighted) {
    SCOPED_TRACE(module.describe());
    recorded(filled(std::move(module))(x), shape, first, sum, weighted);
  };
  check(ReflectionPad2d({2, 1, 0, 2}), {2, 4, 5, 8}, {0.5, -0.125, -0.75, -0.125}, -1.125, 77.25);
  check(ReflectionPad2d({-1, 2, 1, -1}), {2, 4, 3, 6}, {-0.25, 0.375, -0.625, 0}, -1.125, 5.25);
  check(ReplicationPad2d(3), {2, 4, 9, 11}, {-0.75, -0.75, -0.75, -0.75}, 8.25, 4676);
  check(CircularPad2d({1, 2, 3, 0}), {2, 4, 6, 8}, {0.125, -0.75, -0.125, 0.5}, 0, 848);
  check(ZeroPad2d({1, -2, 0, 1}), {2, 4, 4, 4}, {0, -0.75, -0.125, 0.5}, -0.375, -120.75);
  check(ConstantPad3d({1, 0, 0, 1, 2, 0}, 0.5), {2, 6, 4, 6}, {0.5, 0.5, 0.5, 0.5}, 83.625,
        10726.375);
  check(InstanceNorm2d(4, {.affine = true}), {2, 4, 3, 5},
        {0.229515, -0.4296853, -1.088886, -0.03416514}, -20.9999992, -1088.36174);
  check(LocalResponseNorm(3, 0.5), {2, 4, 3, 5}, {-0.6818594, -0.1210041, 0.4840164, -0.4545729},
        -0.36718668, -8.65827727);
  check(CrossMapLRN2d(7, 0.5, 0.75, 2), {2, 4, 3, 5},
        {-0.4356017, -0.0724534, 0.2917036, -0.2899309}, -0.217741638, 0.0288047642);
  check(PixelShuffle(2), {2, 1, 6, 10}, {-0.75, 0.5, -0.125, -0.5}, -0.375, -40);
  check(ChannelShuffle(2), {2, 4, 3, 5}, {-0.75, -0.125, 0.5, -0.5}, -0.375, -1);
  check(Unfold({2, 3}, kWindows), {2, 24, 4}, {0, -0.125, 0, -0.25}, 3.5, 1143.75);
  check(UpsamplingNearest2d({}, 2), {2, 4, 6, 10}, {-0.75, -0.75, -0.125, -0.125}, -1.5, 33.75);
  check(UpsamplingBilinear2d({{4, 7}}), {2, 4, 4, 7}, {-0.75, -0.3333333, 0.08333336, 0.5},
        -1.27777794, -176.930553);
  recorded(LPPool2d(3, 2, {.stride = 1})(x.abs()), {2, 4, 2, 4},
           {0.9514578, 0.5801986, 0.8177665, 0.7186121}, 50.3902581, 1582.04809);
  recorded(PixelUnshuffle(2)(steps({2, 3, 4, 6})), {2, 12, 2, 3}, {-0.75, 0.5, 0.125, 0.25}, -0.75,
           -56.125);
  recorded(Fold({3, 5}, {2, 3}, kWindows)(Unfold({2, 3}, kWindows)(x)), {2, 4, 3, 5},
           {0, -0.25, 0, -1}, 3.5, 712.75);
}

// ((0, 1, 2, …)·7 mod n)/n: samples from 0 to 1.
Tensor samples(const std::vector<int64_t>& shape, int n) {
  std::vector<float> values;
  for (int64_t i = 0; i < shape[0] * shape[1] * shape[2]; ++i)
    values.push_back(static_cast<float>(i * 7 % n) / static_cast<float>(n));
  return tensor(values, shape);
}

TEST(Spatial, FractionalPooling) {
  const Tensor u = samples({2, 4, 2}, 17), x = steps({2, 4, 5, 7});
  FractionalMaxPool2d pool({2, 3}, {.output_size = {{3, 4}}, ._random_samples = u});
  const auto [values, places] = pool.forward_with_indices(x);
  recorded(values, {2, 4, 3, 4}, {0.5, 0.625, 0.625, 0.75}, 61.75, 2902.125);
  recorded(places.to(DType::F32), {2, 4, 3, 4}, {2, 10, 10, 5}, 1675, 83512);
  recorded(FractionalMaxPool2d(2, {.output_ratio = {{0.5, 0.6}}, ._random_samples = u})(x),
           {2, 4, 2, 4}, {0.375, 0.5, 0.625, 0.75}, 36.5, 1153.875);
  const MaxPoolResult cubes = FractionalMaxPool3d(2, {.output_size = {{2, 3, 4}},
                                                      ._random_samples = samples({2, 3, 3}, 19)})
                                  .forward_with_indices(steps({2, 3, 4, 5, 6}));
  recorded(cubes.values, {2, 3, 2, 3, 4}, {0.75, 0.5, 0.625, 0.75}, 99.125, 7106.25);
  recorded(cubes.indices.to(DType::F32), {2, 3, 2, 3, 4}, {31, 2, 10, 5}, 7886, 595770);
  const Tensor plane = steps({4, 5, 7}, 5, DType::F64);
  FractionalMaxPool2d single(
      2, {.output_size = {{3, 3}}, ._random_samples = u.narrow(0, 0, 1).to(DType::F64)});
  EXPECT_EQ(single(plane).shape(1), 3);
  expect_gradients({plane}, [&] { return single(plane); });
  EXPECT_EQ(FractionalMaxPool2d(2, {.output_size = 3})(x).shape(2), 3) << "with samples of its own";
  EXPECT_EQ(error_of([&] { FractionalMaxPool2d(3, {.output_size = 4})(x); }),
            "[FractionalMaxPool2d] 4 windows of 3 do not fit into 5");
  EXPECT_EQ(error_of([&] {
              FractionalMaxPool2d(2, {.output_size = 2, ._random_samples = u})(x.narrow(1, 0, 2));
            }),
            "[FractionalMaxPool2d] _random_samples has shape (2, 4, 2), must be (2, 2, 2)");
}

TEST(Spatial, Unpooling) {
  auto [values, indices] = MaxPool2d(2).forward_with_indices(steps({2, 4, 4, 6}));
  MaxUnpool2d unpool(2);
  recorded(unpool(values, indices), {2, 4, 4, 6}, {0, 0, 0.5, 0}, 27.625, 2619.875);
  const MaxPoolResult fewer = MaxPool2d(2).forward_with_indices(steps({2, 4, 5, 7}));
  recorded(unpool(fewer.values, fewer.indices, {5, 7}), {2, 4, 5, 7}, {0, 0, 0, 0}, 27.875,
           3771.125);
  EXPECT_EQ(error_of([&] {
              unpool(fewer.values, fewer.indices, {5, 9});
            }),
            "[max_unpool2d] output_size is 9, must be nearer to 6 than the stride 2");
  EXPECT_EQ(AdaptiveMaxPool2d(2).forward_with_indices(steps({2, 4, 5, 7})).indices.shape(3), 2);
}

TEST(Spatial, InstanceNormKeepsStatistics) {
  InstanceNorm1d norm(4, {.track_running_stats = true});
  const Tensor x = steps({2, 4, 5});
  norm(x);
  recorded(norm.running_mean, {4}, {-0.0075, -0.00375, 0, 0.00375}, -0.0075000003, 0.00749999983);
  recorded(norm.running_var, {4}, {0.9255469, 0.9275781, 0.9285938, 0.9275781}, 3.70929682,
           5.56749988);
  norm.eval();
  recorded(norm(x), {2, 4, 5}, {-0.7717825, -0.1221339, 0.5275146, -0.511923}, -0.701620338,
           -14.6415481);
  EXPECT_EQ(norm(x[0]).ndim(), 2);
}

TEST(Spatial, Gradients) {
  const Tensor x = steps({2, 4, 4, 5}, 5, DType::F64);
  const auto check = [&](auto module) {
    SCOPED_TRACE(module.describe());
    module.to(DType::F64);
    expect_gradients({x}, [&] { return module(x); });
  };
  check(ReflectionPad2d({2, -1, 1, 1}));
  check(CircularPad2d(2));
  check(ReplicationPad2d({0, 2, 1, 0}));
  check(InstanceNorm2d(4, {.affine = true}));
  check(LocalResponseNorm(3, 0.5));
  check(PixelShuffle(2));
  check(Unfold({2, 3}, kWindows));
  check(Sequential(Unfold(2), Fold({4, 5}, 2)));
}

TEST(Spatial, Mistakes) {
  const Tensor x = steps({2, 4, 3, 5});
  EXPECT_NE(error_of([&] { ReflectionPad2d(4)(x); }), "");
  EXPECT_EQ(error_of([&] { ReflectionPad1d(1)(x); }), "[pad] 1 dimensions of a tensor of rank 4");
  EXPECT_EQ(error_of([&] { PixelShuffle(3)(x); }),
            "[pixel_shuffle] shape (2, 4, 3, 5) by a factor of 3");
  EXPECT_EQ(error_of([&] { Unfold(4)(x); }), "[unfold] no window of (4, 4) fits into (2, 4, 3, 5)");
  EXPECT_EQ(error_of([&] {
              InstanceNorm2d(4)(ones({2, 4, 1, 1}));
            }),
            "[instance_norm] one value for each channel has no variance: shape (2, 4, 1, 1)");
}

}  // namespace
}  // namespace tenon::nn
