// Schedules, compared with rates recorded from PyTorch's classes of the same names.
#include <gtest/gtest.h>

#include "../scratch.hpp"
#include "tenon/optim.hpp"

namespace tenon::optim {
namespace {

SGD make(double lr) { return SGD({tensor({1.f}).requires_grad_()}, {.lr = lr}); }

// The rates before each of the first steps.
template <class S>
std::vector<double> rates(Optimizer& optimizer, S&& schedule, int count) {
  std::vector<double> found;
  for (int i = 0; i < count; ++i) {
    found.push_back(optimizer.lr());
    schedule.step();
  }
  return found;
}

void expect_near(const std::vector<double>& found, const std::vector<double>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-9) << i;
}

TEST(Schedulers, Rates) {
  SGD a = make(0.1);
  expect_near(rates(a, StepLR(a, 2, 0.5), 5), {0.1, 0.1, 0.05, 0.05, 0.025});
  SGD b = make(0.1);
  expect_near(rates(b, MultiStepLR(b, {1, 3}, 0.1), 5), {0.1, 0.01, 0.01, 0.001, 0.001});
  SGD c = make(0.1);
  expect_near(rates(c, ExponentialLR(c, 0.9), 3), {0.1, 0.09, 0.081});
  SGD d = make(0.1);
  expect_near(rates(d, CosineAnnealingLR(d, 4, 0.02), 6),
              {0.1, 0.08828427124746191, 0.06, 0.031715728752538105, 0.02, 0.031715728752538105});
  SGD e = make(0.1);
  expect_near(rates(e, LinearLR(e, 0.5, 1, 4), 6), {0.05, 0.0625, 0.075, 0.0875, 0.1, 0.1});
  SGD f = make(0.1);
  expect_near(rates(f, OneCycleLR(f, 1.0, 10), 10),
              {0.04, 0.52, 1.0, 0.9504846320134737, 0.8117456539497631, 0.6112620219362893,
               0.38874197806371075, 0.18825834605023697, 0.049519367986526286, 4e-06});
}

TEST(Schedulers, EveryGroupKeepsItsOwnRate) {
  SGD optimizer = make(0.1);
  optimizer.add_group({tensor({2.f}).requires_grad_()}, {.lr = 1.0});
  StepLR schedule(optimizer, 1, 0.1);
  schedule.step();
  EXPECT_NEAR(optimizer.lr(0), 0.01, 1e-15);
  EXPECT_NEAR(optimizer.lr(1), 0.1, 1e-15);
}

TEST(Schedulers, GoOnWhereTheyWere) {
  SGD first = make(0.1), second = make(0.7);
  OneCycleLR running(first, 1.0, 20), restored(second, 1.0, 20);
  for (int i = 0; i < 7; ++i) running.step();
  restored.load_state_dict(running.state_dict());
  EXPECT_EQ(second.lr(), first.lr());
  running.step();
  restored.step();
  EXPECT_EQ(second.lr(), first.lr());
  EXPECT_NE(error_of([&] { restored.load_state_dict({}); }).find("base_lrs.0"), std::string::npos);
}

TEST(Schedulers, Plateau) {
  SGD optimizer = make(1.0);
  ReduceLROnPlateau schedule(optimizer,
                             {.factor = 0.5, .patience = 1, .cooldown = 1, .min_lr = 0.2});
  const std::vector<double> losses = {1.0, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.5, 0.5, 0.5};
  std::vector<double> found;
  for (double loss : losses) {
    schedule.step(loss);
    found.push_back(optimizer.lr());
  }
  expect_near(found, {1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.2});
  EXPECT_EQ(schedule.best(), 0.5);
  SGD other = make(1.0);
  ReduceLROnPlateau restored(other, {.factor = 0.5, .patience = 1});
  restored.load_state_dict(schedule.state_dict());
  EXPECT_EQ(restored.best(), 0.5);
}

TEST(Schedulers, AWarmUpGoesOverToACosine) {
  SGD optimizer = make(0.1);
  LinearLR warm_up(optimizer, 0.5, 1, 2);
  CosineAnnealingLR cosine(optimizer, 4);
  SequentialLR schedule(optimizer, {warm_up, cosine}, {2});
  expect_near(rates(optimizer, schedule, 7),
              {0.05, 0.075, 0.1, 0.08535533905932738, 0.05, 0.014644660940672627, 0.0});
  SGD other = make(0.7);
  LinearLR warm_up_again(other, 0.5, 1, 2);
  CosineAnnealingLR cosine_again(other, 4);
  SequentialLR restored(other, {warm_up_again, cosine_again}, {2});
  restored.load_state_dict(schedule.state_dict());
  EXPECT_EQ(other.lr(), optimizer.lr());
  schedule.step();
  restored.step();
  EXPECT_EQ(other.lr(), optimizer.lr());
  EXPECT_EQ(restored.state_dict(), schedule.state_dict());
  EXPECT_NE(error_of([&] {
              SequentialLR(other, {warm_up, cosine}, {2});
            }).find("another optimizer"),
            std::string::npos);
}

TEST(Schedulers, Lambda) {
  SGD optimizer = make(1.0);
  expect_near(
      rates(optimizer, LambdaLR(optimizer, [](int64_t n) { return 1.0 / (1.0 + double(n)); }), 3),
      {1, 0.5, 1.0 / 3});
}

TEST(Schedulers, PlateauByItself) {
  SGD optimizer = make(1.0);
  ReduceLROnPlateau schedule(
      optimizer, {.mode = "max", .patience = 0, .threshold = 0.5, .threshold_mode = "abs"});
  std::vector<double> found;
  for (const double accuracy : {0.0, 0.6, 1.0, 1.2}) {
    schedule.step(accuracy);
    found.push_back(optimizer.lr());
  }
  expect_near(found, {1, 1, 0.1, 0.1});
  SGD small = make(1e-8);
  ReduceLROnPlateau still(small, {.patience = 0});
  for (int i = 0; i < 3; ++i) still.step(1);
  EXPECT_EQ(small.lr(), 1e-8);
}

TEST(Schedulers, Mistakes) {
  SGD optimizer = make(0.1);
  EXPECT_NE(error_of([&] { StepLR(optimizer, 0); }), "");
  EXPECT_NE(error_of([&] { OneCycleLR(optimizer, 1, 1); }), "");
  EXPECT_NE(error_of([&] { OneCycleLR(optimizer, 1, 10, {.pct_start = 1}); }), "");
  EXPECT_NE(error_of([&] { ReduceLROnPlateau(optimizer, {.factor = 2}); }), "");
}

}  // namespace
}  // namespace tenon::optim
