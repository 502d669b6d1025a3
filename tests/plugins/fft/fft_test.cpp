// The plugin's ops from C++, by name; tests/python/fft tests values over shapes and dtypes.
#include <gtest/gtest.h>

#include <cmath>
#include <tenon/tenon.hpp>

using namespace tenon;

TEST(Fft, TransformsThereAndBack) {
  const Tensor x = reshape(arange(0, 24, 1, DType::F64), {4, 6});
  const std::vector<int64_t> dims = {0, 1};
  const Tensor spectrum = Op("fft.r2c")(x, dims);
  EXPECT_EQ(spectrum.dtype(), DType::C128);
  EXPECT_EQ(spectrum.shape()[1], 4);
  EXPECT_NEAR(real(spectrum)[0][0].item<double>(), 276, 1e-10);
  const Tensor back = Op("fft.c2r")(spectrum, dims, 6, false, 1.0 / 24);
  EXPECT_LT(abs(back - x).max().item<double>(), 1e-12);
}

// Parseval: the transform preserves Σ|x|² up to the factor n, and so does its gradient.
TEST(Fft, KeepsEnergyAndDifferentiates) {
  Tensor x = cos(arange(0, 32, 1, DType::F64));
  x.requires_grad_();
  const Tensor y = Op("fft.c2c")(complex(x, zeros_like(x)), std::vector<int64_t>{0});
  const Tensor energy = square(abs(y)).sum();
  EXPECT_NEAR(energy.item<double>(), 32 * square(x).sum().item<double>(), 1e-9);
  energy.backward();
  EXPECT_LT(abs(x.grad() - mul(x, 64.0)).max().item<double>(), 1e-9);
}

TEST(Fft, DividesBatchesAmongThreads) {
  const Tensor x = complex(ones({512, 256}), zeros({512, 256}));
  const Tensor y = Op("fft.c2c")(x, std::vector<int64_t>{0, 1});
  EXPECT_EQ(real(y)[0][0].item<float>(), 512.0F * 256);
  EXPECT_EQ(abs(y).sum().item<float>(), 512.0F * 256);
}
