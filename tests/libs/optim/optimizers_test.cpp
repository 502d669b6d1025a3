// Optimizers, compared with parameters recorded from PyTorch's classes of the same names.
#include <gtest/gtest.h>

#include "../scratch.hpp"
#include "tenon/io.hpp"
#include "tenon/nn.hpp"
#include "tenon/optim.hpp"

namespace tenon::optim {
namespace {

struct Problem {
  Tensor p = tensor({1., -2., 3.}).requires_grad_();
  Tensor q = tensor({{0.5}}).requires_grad_();
  std::vector<Tensor> params() const { return {p, q}; }
  // q has no gradient in the second step.
  void step(Optimizer& optimizer, int t) {
    p.set_grad(tensor({0.1 * t, -0.2, 0.3 * (t % 2)}));
    q.set_grad(t == 2 ? Tensor() : tensor({{-0.7 / t}}));
    optimizer.step();
  }
  std::vector<double> values() const {
    auto all = p.detach().to_vector<double>();
    all.push_back(q.item<double>());
    return all;
  }
};

template <class O, class Options>
void check(const Options& options, const std::vector<double>& wanted, const char* what) {
  Problem problem;
  O optimizer(problem.params(), options);
  for (int t = 1; t <= 4; ++t) problem.step(optimizer, t);
  const auto found = problem.values();
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(found[i], wanted[i], 1e-8) << what << " parameter " << i;

  // The same, but saved to a file and restored in between.
  const Scratch scratch;
  Problem first;
  O begun(first.params(), options);
  for (int t = 1; t <= 2; ++t) first.step(begun, t);
  io::save_safetensors(scratch.path("state"), begun.state_dict());
  Problem second;
  {
    NoGrad guard;
    second.p.copy_(first.p);
    second.q.copy_(first.q);
  }
  Options other = options;
  other.lr = 7;
  O restored(second.params(), other);
  restored.load_state_dict(io::load_safetensors(scratch.path("state")).tensors);
  EXPECT_EQ(restored.lr(), options.lr);
  for (int t = 3; t <= 4; ++t) second.step(restored, t);
  EXPECT_EQ(second.values(), found) << what;
}

TEST(Optimizers, StepsAndStateOfSGD) {
  check<SGD, SGDOptions>({.lr = 0.1}, {0.9, -1.92, 2.94, 0.6108333333333332}, "plain");
  check<SGD, SGDOptions>({.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01},
                         {0.805571046311, -1.8012261126219997, 2.8130251989330004, 0.7484414695},
                         "momentum");
  check<SGD, SGDOptions>({.lr = 0.1, .momentum = 0.9, .dampening = 0.5},
                         {0.89001, -1.87512, 2.86833, 0.7206166666666666}, "dampening");
  check<SGD, SGDOptions>({.lr = 0.1, .momentum = 0.9, .nesterov = true},
                         {0.732969, -1.757118, 2.795847, 0.8372133333333334}, "nesterov");
}

TEST(Optimizers, StepsAndStateOfAdam) {
  check<Adam, AdamOptions>(
      {.lr = 0.1}, {0.6116406721264176, -1.6000000200000004, 2.684188065769565, 0.7673742584712407},
      "plain");
  check<Adam, AdamOptions>(
      {.lr = 0.1, .betas = {0.8, 0.999}, .weight_decay = 0.1, .amsgrad = true},
      {0.595472387207902, -1.6012976903152283, 2.623052435643554, 0.7499680797008386}, "amsgrad");
  check<AdamW, AdamWOptions>(
      {.lr = 0.1},
      {0.6082351081901851, -1.5926116120720202, 2.6727214987943166, 0.7655887515806938},
      "decoupled");
}

TEST(Optimizers, StepsAndStateOfRMSprop) {
  check<RMSprop, RMSpropOptions>(
      {.lr = 0.1}, {-2.4315604176902856, 0.7928964577777099, 1.2893493926646422, 2.050523366019805},
      "plain");
  check<RMSprop, RMSpropOptions>(
      {.lr = 0.1, .alpha = 0.9, .weight_decay = 0.1, .momentum = 0.5, .centered = true},
      {-0.7767533507700812, -0.47065935242761703, 1.6595829223325518, 1.2416184886744988},
      "centered");
}

TEST(Optimizers, StepsAndStateOfAdagrad) {
  check<Adagrad, AdagradOptions>(
      {.lr = 0.1},
      {0.6573492341670207, -1.7215542950665492, 2.8292893219313453, 0.6546996996569924}, "plain");
  check<Adagrad, AdagradOptions>(
      {.lr = 0.1, .lr_decay = 0.1, .weight_decay = 0.1, .initial_accumulator_value = 0.5},
      {0.8643454538172446, -1.8497036820347275, 2.845830881284344, 0.5939907102015309}, "decay");
}

TEST(Optimizers, GroupsHaveOptionsOfTheirOwn) {
  Tensor a = tensor({1.f}).requires_grad_(), b = tensor({1.f}).requires_grad_(),
         half = tensor({F16(1.f)}).requires_grad_();
  SGD optimizer({a, half}, {.lr = 0.5});
  optimizer.add_group({b}, {.lr = 0.25});
  for (Tensor* x : {&a, &b, &half}) x->set_grad(ones_like(x->detach()));
  optimizer.step();
  EXPECT_EQ(a.item<float>(), 0.5f);
  EXPECT_EQ(b.item<float>(), 0.75f);
  EXPECT_EQ(half.item<float>(), 0.5f);
  optimizer.zero_grad();
  EXPECT_FALSE(a.grad().defined() || b.grad().defined());
  optimizer.step();
  EXPECT_EQ(a.item<float>(), 0.5f);
}

template <class Optimizer>
class EachOptimizer : public testing::Test {};
using All = testing::Types<SGD, Adam, AdamW, RMSprop, Adagrad>;
TYPED_TEST_SUITE(EachOptimizer, All);

// A parameter that is given twice would be moved twice a step.
TYPED_TEST(EachOptimizer, TakesAParameterOnce) {
  const Tensor x = tensor({1.f}).requires_grad_(), y = tensor({1.f}).requires_grad_();
  const Tensor same = x;
  EXPECT_EQ(error_of([&] { TypeParam({x, y, same}, {}); }), "[optim] a parameter is given twice");
  TypeParam optimizer({x}, {});
  EXPECT_EQ(error_of([&] {
              optimizer.add_group({y, x}, {});
            }),
            "[optim] a parameter is given twice");
  EXPECT_EQ(optimizer.group_count(), 1u);
}

TEST(Optimizers, Mistakes) {
  const Tensor x = tensor({1.f}).requires_grad_(), y = tensor({1.f, 2.f}).requires_grad_();
  EXPECT_NE(error_of([&] { SGD({}, {}); }), "");
  EXPECT_NE(error_of([&] { SGD({x * 2}, {}); }).find("pass leaf tensors"), std::string::npos);
  EXPECT_EQ(error_of([&] { SGD({x}, {}).lr(4); }), "[optim] there is no group 4 of 1");
  EXPECT_EQ(error_of([&] { SGD({x}, {}).set_lr(1, 0.1); }), "[optim] there is no group 1 of 1");
  Adam adam({x}, {});
  EXPECT_NE(error_of([&] { adam.load_state_dict({}); }).find("has no \"group.0.lr\""),
            std::string::npos);
  EXPECT_NE(error_of([&] { adam.load_state_dict(SGD({x}, {}).state_dict()); }), "");
  Tensor(y).set_grad(tensor({1.f, 1.f}));
  Adam other({y}, {});
  other.step();
  EXPECT_NE(error_of([&] { adam.load_state_dict(other.state_dict()); }).find("another shape"),
            std::string::npos);
  auto state = adam.state_dict();
  state["state.5.step"] = tensor(1);
  EXPECT_NE(error_of([&] { adam.load_state_dict(state); }).find("does not know"),
            std::string::npos);
}

TEST(Clip, NormAndValue) {
  Tensor a = tensor({1.f, 2.f}).requires_grad_(), b = tensor({3.f}).requires_grad_(),
         none = tensor({1.f}).requires_grad_();
  a.set_grad(tensor({3.f, 0.f}));
  b.set_grad(tensor({4.f}));
  EXPECT_NEAR(clip_grad_norm_({a, b, none}, 1).item<double>(), 5, 1e-6);
  EXPECT_NEAR(a.grad()[0].item<double>(), 0.6, 1e-6);
  EXPECT_NEAR(b.grad().item<double>(), 0.8, 1e-6);
  EXPECT_NEAR(clip_grad_norm_({a, b}, 10).item<double>(), 1, 1e-6);
  EXPECT_NEAR(b.grad().item<double>(), 0.8, 1e-6);
  clip_grad_value_({a, b}, 0.7);
  EXPECT_NEAR(a.grad()[0].item<double>(), 0.6, 1e-6);
  EXPECT_NEAR(b.grad().item<double>(), 0.7, 1e-6);
  EXPECT_EQ(clip_grad_norm_({none}, 1).item<float>(), 0);
}

// A module that moves keeps its parameter objects, so an optimizer made before keeps working with them.
TEST(Optimizers, GoOnWhereTheModuleGoes) {
  const Tensor x = ones({2, 3}, DType::F64);
  const auto train = [&](bool made_before) {
    manual_seed(0);
    nn::Linear net(3, 2);
    std::optional<Adam> optimizer;
    const auto make = [&] { optimizer.emplace(net.parameters(), AdamOptions{.lr = 0.1}); };
    if (made_before) make();
    net.to(DType::F64);
    if (!made_before) make();
    for (int i = 0; i < 3; ++i) {
      optimizer->zero_grad();
      sum(square(net(x))).backward();
      optimizer->step();
    }
    EXPECT_EQ(net.weight->dtype(), DType::F64);
    return net.weight->to_vector<double>();
  };
  EXPECT_EQ(train(true), train(false));
}

// Rosenbrock's valley and a well: the loss before step `steps`, and how often it was computed.
struct Valley {
  Tensor p = tensor({-1.2, 1.}).requires_grad_();
  Tensor q = tensor({{2.}}).requires_grad_();
  int calls = 0;
  double run(LBFGS& optimizer, int steps) {
    double loss = 0;
    while (steps-- > 0)
      loss = optimizer
                 .step([&] {
                   ++calls;
                   optimizer.zero_grad();
                   const Tensor x = p[0], y = p[1];
                   Tensor value =
                       100 * (y - x * x).square() + (1 - x).square() + (q - 0.5).pow(4).sum();
                   value.backward();
                   return value;
                 })
                 .item<double>();
    return loss;
  }
  std::vector<double> values() const {
    auto all = p.detach().to_vector<double>();
    all.push_back(q.item<double>());
    return all;
  }
};

void check_lbfgs(const LBFGSOptions& options, const std::vector<double>& wanted, double loss,
                 int calls) {
  Valley valley;
  LBFGS optimizer({valley.p, valley.q}, options);
  EXPECT_NEAR(valley.run(optimizer, 3), loss, 1e-9 * loss);
  EXPECT_EQ(valley.calls, calls);
  const auto found = valley.values();
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-9) << i;

  // The same, but saved to a file and restored in between.
  const Scratch scratch;
  Valley first, second;
  LBFGS begun({first.p, first.q}, options);
  first.run(begun, 2);
  io::save_safetensors(scratch.path("state"), begun.state_dict());
  {
    NoGrad guard;
    second.p.copy_(first.p);
    second.q.copy_(first.q);
  }
  LBFGSOptions other = options;
  other.lr = 7;
  LBFGS restored({second.p, second.q}, other);
  restored.load_state_dict(io::load_safetensors(scratch.path("state")).tensors);
  EXPECT_EQ(restored.lr(), options.lr);
  second.run(restored, 1);
  EXPECT_EQ(second.values(), found);
}

TEST(Optimizers, LBFGSAsRecorded) {
  check_lbfgs({.lr = 1e-3, .max_iter = 4}, {-1.19784038682, 1.00125182021, 1.9992934141},
              28.8335259091, 12);
  check_lbfgs({.max_iter = 6, .line_search_fn = "strong_wolfe"},
              {-0.363094902863, 0.0943040767555, 0.786435048072}, 3.29328208572, 23);
  check_lbfgs({.max_iter = 8, .history_size = 2, .line_search_fn = "strong_wolfe"},
              {-0.245434470428, 0.0205517413808, 0.845800166977}, 3.45471738226, 31);
  check_lbfgs({.lr = 0.2, .max_iter = 8, .max_eval = 5, .history_size = 1},
              {-0.895704408873, 1.04378178311, 1.52653032041}, 6.55949246989, 15);
}

TEST(Optimizers, LBFGSFlatAndWrong) {
  Tensor p = tensor({1.f}).requires_grad_();
  LBFGS optimizer({p});
  const auto slope = [&] {
    optimizer.zero_grad();
    Tensor loss = (p * 1e-6).sum();
    loss.backward();
    return loss;
  };
  for (int i = 0; i < 3; ++i) optimizer.step(slope);  // too flat to move, step by step
  EXPECT_EQ(p.item<float>(), 1);
  EXPECT_EQ(error_of([&] { optimizer.step(); }).substr(0, 29), "[LBFGS] step(closure) needs a");
  EXPECT_EQ(error_of([&] { optimizer.step([] { return ones({2}); }); }),
            "[LBFGS] the closure must return the loss, one number");
  EXPECT_EQ(error_of([] { LBFGS({}); }), "[LBFGS] there are no parameters");
  EXPECT_EQ(error_of([&] { LBFGS({p}, {.lr = -1}); }), "[LBFGS] lr is -1.0, must be at least 0");
  EXPECT_EQ(error_of([&] { LBFGS({p}, {.line_search_fn = "wolfe"}); }),
            "[LBFGS] line_search_fn is \"wolfe\", must be \"strong_wolfe\"");
  EXPECT_EQ(error_of([&] {
              LBFGS({p, tensor({1.}).requires_grad_()});
            }),
            "[LBFGS] parameters must be real leaf tensors of one dtype and device");
  StateDict state = optimizer.state_dict();
  state["state.0.d"] = ones({2});
  EXPECT_EQ(error_of([&] { optimizer.load_state_dict(state); }),
            "[optim] \"state.0.d\" is not one row of 1");
  state.erase("state.0.d");
  EXPECT_EQ(error_of([&] { optimizer.load_state_dict(state); }),
            "[optim] the state has no \"state.0.d\"");
}

}  // namespace
}  // namespace tenon::optim
