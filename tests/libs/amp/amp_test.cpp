// Autocast and loss scaling.
#include "tenon/amp.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "tenon/optim.hpp"

namespace tenon::amp {
namespace {

Tensor matrix(DType dtype = DType::F32) { return tensor({{1., 2.}, {3., 4.}}).to(dtype); }

TEST(Autocast, ComputesProductsInTheLowerPrecision) {
  const Tensor x = matrix();
  {
    const Autocast autocast("cpu");
    EXPECT_EQ(matmul(x, x).dtype(), DType::BF16);
    EXPECT_EQ(linear(x, x).dtype(), DType::BF16);
    EXPECT_EQ(matmul(x, x.to(DType::F16)).dtype(), DType::BF16);  // mixed dtypes meet there
    EXPECT_EQ(einsum("ij,jk->ik", {x, x.to(DType::BF16)}).dtype(), DType::BF16);
    EXPECT_EQ(matmul(matrix(DType::F64), matrix(DType::F64)).dtype(), DType::F64);
    EXPECT_EQ((x + x).dtype(), DType::F32);
  }
  EXPECT_EQ(matmul(x, x).dtype(), DType::F32);
}

TEST(Autocast, ComputesLossesInF32) {
  const Autocast autocast("cpu");
  const Tensor x = matrix(DType::BF16);
  EXPECT_EQ(mse_loss(x, x).dtype(), DType::F32);
  EXPECT_EQ(cross_entropy(x, tensor(std::vector<int64_t>{0, 1})).dtype(), DType::F32);
  EXPECT_EQ(softmax(x, 1).dtype(), DType::BF16);  // f32 only on GPUs
}

TEST(Autocast, JoinsInTheWidestDtype) {
  const Autocast autocast("cpu");
  EXPECT_EQ(concat({matrix(), matrix(DType::BF16)}).dtype(), DType::F32);
  EXPECT_EQ(stack({matrix(DType::BF16), matrix(DType::BF16)}).dtype(), DType::BF16);
}

TEST(Autocast, NestsAndBelongsToItsKindAndThread) {
  const Tensor x = matrix();
  const Autocast outer("cpu", DType::F16);
  EXPECT_EQ(matmul(x, x).dtype(), DType::F16);
  {
    const Autocast inner("cpu", DType::BF16);
    EXPECT_EQ(matmul(x, x).dtype(), DType::BF16);
    const Autocast off("cpu", DType::BF16, false);
    EXPECT_EQ(matmul(x, x).dtype(), DType::F32);
    const Autocast other("cuda", DType::F16);
    EXPECT_EQ(matmul(x, x).dtype(), DType::F32);
    EXPECT_TRUE(autocast_setting("cuda").enabled);
    EXPECT_FALSE(autocast_setting("cpu").enabled);
  }
  EXPECT_EQ(matmul(x, x).dtype(), DType::F16);
  DType elsewhere = DType::Bool;
  std::thread([&] { elsewhere = matmul(x, x).dtype(); }).join();
  EXPECT_EQ(elsewhere, DType::F32);
}

TEST(Autocast, GivesGradientsOfTheParametersDtype) {
  Tensor weight = matrix().requires_grad_();
  const Tensor x = matrix();
  Tensor loss;
  {
    const Autocast autocast("cpu");
    loss = matmul(matmul(x, weight), weight).to(DType::F32).sum();
  }
  loss.backward();
  EXPECT_EQ(weight.grad().dtype(), DType::F32);
  // Small whole numbers are exact in bf16: Σ(x w w) by w is xᵀ 1 wᵀ + (x w)ᵀ 1.
  const Tensor ones = full({2, 2}, 1, DType::F32);
  const Tensor w = weight.detach();
  const Tensor wanted = matmul(matmul(x.mt(), ones), w.mt()) + matmul(matmul(x, w).mt(), ones);
  EXPECT_EQ(weight.grad().to_vector<float>(), wanted.to_vector<float>());
}

TEST(Autocast, KeepsCopiesOfParametersUntilTheyChange) {
  Tensor weight = matrix().requires_grad_();
  const Tensor x = tensor({{1., 0.}, {0., 1.}}).to(DType::F32);
  const Autocast autocast("cpu");
  const auto first = matmul(x, weight).detach().to(DType::F32).to_vector<float>();
  {
    NoGrad guard;
    weight.mul_(2.);
  }
  const auto second = matmul(x, weight).detach().to(DType::F32).to_vector<float>();
  for (size_t i = 0; i < first.size(); ++i) EXPECT_EQ(second[i], 2 * first[i]);
}

TEST(Autocast, RefusesOtherDtypes) {
  EXPECT_THROW(Autocast("cpu", DType::F32), Error);
  EXPECT_NO_THROW(Autocast("cpu", DType::F32, false));
}

struct Scaled {
  Tensor p = tensor({1., 2.}).to(DType::F32).requires_grad_();
  optim::SGD optimizer{{p}, {.lr = 1}};
  GradScaler scaler{{.init_scale = 4, .growth_interval = 2}};

  bool step(double gradient) {
    optimizer.zero_grad();
    scaler.scale((p * gradient).sum()).backward();
    const bool made = scaler.step(optimizer);
    scaler.update();
    return made;
  }
};

TEST(GradScaler, StepsWithTheUnscaledGradient) {
  Scaled run;
  EXPECT_TRUE(run.step(0.5));
  EXPECT_EQ(run.p.detach().to_vector<float>(), (std::vector<float>{0.5f, 1.5f}));
  EXPECT_EQ(run.scaler.get_scale(), 4);
  EXPECT_TRUE(run.step(0.5));
  EXPECT_EQ(run.scaler.get_scale(), 8);  // after two good steps
}

TEST(GradScaler, SkipsStepsThatAreNotFinite) {
  Scaled run;
  EXPECT_FALSE(run.step(std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(run.step(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_EQ(run.p.detach().to_vector<float>(), (std::vector<float>{1.f, 2.f}));
  EXPECT_EQ(run.scaler.get_scale(), 1);
}

TEST(GradScaler, UnscalesOnceForClipping) {
  Scaled run;
  run.scaler.scale(run.p.sum()).backward();
  run.scaler.unscale_(run.optimizer);
  EXPECT_EQ(run.p.grad().to_vector<float>(), (std::vector<float>{1.f, 1.f}));
  EXPECT_THROW(run.scaler.unscale_(run.optimizer), Error);
  EXPECT_TRUE(run.scaler.step(run.optimizer));
  EXPECT_EQ(run.p.detach().to_vector<float>(), (std::vector<float>{0.f, 1.f}));
  run.scaler.update();
  EXPECT_THROW(run.scaler.update(), Error);
}

TEST(GradScaler, GoesOnFromItsState) {
  Scaled run;
  run.step(1);
  GradScaler other;
  other.load_state_dict(run.scaler.state_dict());
  EXPECT_EQ(other.get_scale(), 4);
  run.scaler = other;
  run.step(1);
  EXPECT_EQ(run.scaler.get_scale(), 8);
  EXPECT_THROW(other.load_state_dict({}), Error);
}

TEST(GradScaler, DoesNothingWhenItIsNotEnabled) {
  GradScaler off({.enabled = false});
  const Tensor loss = tensor(2.);
  EXPECT_EQ(off.scale(loss).item<double>(), 2);
  EXPECT_EQ(off.get_scale(), 1);
  off.update();
  EXPECT_THROW(GradScaler({.growth_factor = 1}), Error);
}

}  // namespace
}  // namespace tenon::amp
