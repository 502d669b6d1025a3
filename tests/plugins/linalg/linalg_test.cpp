// The plugin's ops from C++, by name; tests/python/linalg tests values over shapes and dtypes.
#include <gtest/gtest.h>

#include <tenon/tenon.hpp>

using namespace tenon;

namespace {

double element(const Tensor& x, int64_t i, int64_t j) { return x[i][j].item<double>(); }

}  // namespace

TEST(Linalg, InvertsAndDifferentiates) {
  const Op inv("linalg.inv");
  EXPECT_EQ(inv.schema(), "linalg.inv(Tensor x) -> Tensor @1");
  EXPECT_TRUE(inv.is_differentiable());
  Tensor x = tensor({{4.0, 7.0}, {2.0, 6.0}}, DType::F64);
  x.requires_grad_();
  const Tensor y = inv(x);
  EXPECT_NEAR(element(y, 0, 0), 0.6, 1e-12);
  EXPECT_NEAR(element(y, 0, 1), -0.7, 1e-12);
  EXPECT_NEAR(element(y, 1, 0), -0.2, 1e-12);
  EXPECT_NEAR(element(y, 1, 1), 0.4, 1e-12);
  // d Tr(X⁻¹)/dX = -(X⁻²)ᵀ
  (y[0][0] + y[1][1]).backward();
  const Tensor wanted = neg(transpose(matmul(y, y), 0, 1));
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t j = 0; j < 2; ++j)
      EXPECT_NEAR(element(x.grad(), i, j), element(wanted, i, j), 1e-12);
}

TEST(Linalg, GivesSeveralResults) {
  const Tensor x = tensor({{2.0, 1.0}, {1.0, 2.0}, {0.0, 5.0}}, DType::F32);
  const std::vector<Tensor> parts = Op("linalg.svd").many(3, x, false);
  const Tensor product = matmul(mul(parts[0], unsqueeze(parts[1], -2)), parts[2]);
  EXPECT_LT(abs(product - x).max().item<float>(), 1e-5F);
  const std::vector<Tensor> qr = Op("linalg.qr").many(2, x);
  EXPECT_LT(abs(matmul(qr[0], qr[1]) - x).max().item<float>(), 1e-5F);
}

TEST(Linalg, NamesTheSingularMatrix) {
  const Tensor x = zeros({3, 2, 2});
  try {
    Op("linalg.inv")(x);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), TN_INVALID_ARGUMENT);
    EXPECT_EQ(std::string(error.what()),
              "[linalg.inv] matrix (0) of the batch, 2 by 2, is singular: pivot 1 of its LU "
              "factorisation is 0; pinv() gives the "
              "pseudo-inverse");
  }
}

TEST(Linalg, DividesBatchesAmongThreads) {
  const Tensor x = eye(8, std::nullopt, 0, DType::F32) * 2 + zeros({4000, 8, 8});
  EXPECT_EQ(Op("linalg.inv")(x).sum().item<float>(), 16000.0F);
  const Tensor large = eye(1024, std::nullopt, 0, DType::F32) * 4;
  EXPECT_EQ(Op("linalg.inv")(large).sum().item<float>(), 256.0F);
}

TEST(Linalg, IsAPluginThatComesAndGoes) {
  const auto kernels = [] {
    for (const PluginInfo& info : plugins())
      if (info.id == "linalg") return info.kernels;
    return 0u;
  };
  const Op det("linalg.det");
  const uint32_t before = kernels();
  EXPECT_GT(before, 0u);
  std::string path;
  for (const PluginInfo& info : plugins())
    if (info.id == "linalg") path = std::string(info.path);
  quiesce_plugin("linalg");
  EXPECT_THROW(det(ones({2, 2})), Error);
  load_plugin(path);
  EXPECT_EQ(kernels(), before);
  EXPECT_EQ(det(zeros({2, 2})).item<float>(), 0.0F);
}
