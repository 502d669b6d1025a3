// Autograd as C++ programs use it: modes, hooks, custom functions, checkpoints.
#include <gtest/gtest.h>

#include "observed.hpp"
#include "tenon/tenon.hpp"

namespace tenon {
namespace {

using tenon::test::error_of;

TEST(Autograd, ModesNestAndEnd) {
  const Tensor x = tensor(2.f).requires_grad_();
  {
    NoGrad off;
    EXPECT_FALSE((x * x).requires_grad());
    {
      EnableGrad on;
      EXPECT_TRUE((x * x).requires_grad());
    }
    EXPECT_FALSE(is_grad_enabled());
  }
  EXPECT_TRUE((x * x).requires_grad());
  InferenceMode inference;
  EXPECT_FALSE((x * x).requires_grad());
}

TEST(Autograd, GradientLeavesLeavesAlone) {
  const Tensor x = tensor(3.f).requires_grad_();
  const Tensor first = gradient(x * x * x, x, {.create_graph = true});
  EXPECT_EQ(first.item<float>(), 27);
  EXPECT_EQ(gradient(first, x).item<float>(), 18);
  EXPECT_FALSE(x.grad().defined());
  const Tensor other = tensor(1.f).requires_grad_();
  EXPECT_NE(error_of([&] { gradient(x * 2, other); }), "");
  EXPECT_FALSE(gradient(x * 2, other, {.allow_unused = true}).defined());
  EXPECT_NE(error_of([&] { backward({x * 2}, {tensor(1.f), tensor(1.f)}); }), "");
}

TEST(Autograd, HooksSeeAndReplace) {
  const Tensor x = tensor({1.f, 2.f}).requires_grad_();
  Tensor y = x * 3;
  int seen = 0;
  const uint64_t id = y.register_hook([&](const Tensor& grad) {
    ++seen;
    return grad * 10;
  });
  y.sum().backward();
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{30, 30}));
  Tensor z = x * 3;
  const uint64_t other = z.register_hook([&](const Tensor&) { return Tensor(); });
  z.remove_hook(other);
  EXPECT_NE(id, 0u);
  Tensor w = x * 2;
  w.register_hook([](const Tensor&) -> Tensor { throw Error(TN_CANCELLED, "enough"); });
  EXPECT_NE(error_of([&] { w.sum().backward(); }).find("enough"), std::string::npos);
}

TEST(Autograd, ResultsRetainTheirGradients) {
  const Tensor x = tensor({1.f, 2.f}).requires_grad_();
  Tensor y = x * 3;
  y.retain_grad();
  y.retain_grad();
  EXPECT_EQ(y.grad().to_vector<float>(), (std::vector<float>{0, 0}));
  const Tensor loss = y.square().sum();
  loss.backward({}, true);
  EXPECT_EQ(y.grad().to_vector<float>(), (std::vector<float>{6, 12}));
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{18, 36}));
  loss.backward({}, true, true);  // it adds up, and has a history if gradients have
  EXPECT_EQ(y.grad().to_vector<float>(), (std::vector<float>{12, 24}));
  EXPECT_EQ(gradient(y.grad().sum(), x).to_vector<float>(), (std::vector<float>{6, 6}));
  Tensor leaf = x;
  leaf.retain_grad();
  EXPECT_NE(error_of([] { ones({2}).retain_grad(); }).find("requires no gradient"),
            std::string::npos);
  Tensor left = x * 2, kept;
  left.retain_grad();
  kept = left.sum();
  left = {};  // the hook outlives its tensor
  kept.backward();
}

struct Cube : Function<Cube> {
  static constexpr std::string_view name = "cube";
  Tensor forward(const Tensor& x) {
    save({x});
    return x * x * x;
  }
  Tensor backward(const Tensor& grad) { return grad * 3 * saved(0).square(); }
};

TEST(Function, FirstAndSecondGradient) {
  const Tensor x = tensor({1.f, 2.f}).requires_grad_();
  const Tensor y = Cube::apply(x);
  EXPECT_EQ(y.grad_fn_name(), "cube");
  const Tensor first = gradient(y.sum(), x, {.create_graph = true});
  EXPECT_EQ(first.to_vector<float>(), (std::vector<float>{3, 12}));
  EXPECT_EQ(gradient(first.sum(), x).to_vector<float>(), (std::vector<float>{6, 12}));
  EXPECT_FALSE(Cube::apply(tensor(2.f)).requires_grad());
}

// Saves its result, which belongs to the graph only through the function itself.
struct Exp : Function<Exp> {
  static inline int alive = 0;
  Exp() { ++alive; }
  ~Exp() override { --alive; }
  Tensor forward(const Tensor& x) {
    Tensor y = x.exp();
    save({y});
    return y;
  }
  Tensor backward(const Tensor& grad) { return grad * saved(0); }
};

TEST(Function, SavedResultsDoNotKeepTheGraphAlive) {
  {
    const Tensor x = tensor(0.5).requires_grad_();
    const Tensor y = Exp::apply(x);
    const Tensor first = gradient(y, x, {.create_graph = true});
    const Tensor second = gradient(first, x, {.create_graph = true});
    const Tensor third = gradient(second, x);
    for (const Tensor& d : {first, second, third})
      EXPECT_NEAR(d.item<double>(), std::exp(0.5), 1e-12);
  }
  EXPECT_EQ(Exp::alive, 0);
}

struct Pair : Function<Pair> {
  std::vector<Tensor> forward(const Tensor& x, double factor, const std::vector<Tensor>& others) {
    factor_ = factor;
    return {x * factor, others[0] + others[1]};
  }
  std::vector<Tensor> backward(const std::vector<Tensor>& grads) {
    EXPECT_TRUE(needs_grad(0));
    return {grads[0].defined() ? grads[0] * factor_ : Tensor(), grads[1], Tensor()};
  }
  double factor_ = 0;
};

TEST(Function, SeveralArgumentsAndResults) {
  const Tensor x = tensor(2.f).requires_grad_(), a = tensor(3.f).requires_grad_(), b = tensor(4.f);
  const auto out = Pair::apply(x, 5.0, std::vector<Tensor>{a, b});
  (out[0] + out[1]).backward();
  EXPECT_EQ(x.grad().item<float>(), 5);
  EXPECT_EQ(a.grad().item<float>(), 1);
  const auto again = Pair::apply(x, 5.0, std::vector<Tensor>{a, b});
  again[0].backward();
  EXPECT_EQ(x.grad().item<float>(), 10);
}

struct Wrong : Function<Wrong> {
  Tensor forward(const Tensor& x, const Tensor&) { return x.clone(); }
  Tensor backward(const Tensor& grad) { return grad; }
};

TEST(Function, MistakesAreErrors) {
  const Tensor x = tensor(2.f).requires_grad_(), y = tensor(1.f);
  EXPECT_NE(error_of([&] { Wrong::apply(x, y).backward(); }).find("1 gradients for 2"),
            std::string::npos);
  Tensor z = tensor(2.f).requires_grad_() * 1;
  const Tensor cube = Cube::apply(z);
  z += 1;
  EXPECT_NE(error_of([&] { cube.backward(); }).find("in place"), std::string::npos);
}

TEST(Checkpoint, SameGradientsAndRandomNumbers) {
  const Tensor w = rand({4, 4}).requires_grad_();
  const auto block = [&](const Tensor& x) { return dropout(x.matmul(w).tanh(), 0.5).square(); };
  const Tensor x = rand({4, 4}).requires_grad_();
  manual_seed(11);
  const Tensor plain = block(x).sum();
  const auto expected = gradient({plain}, {x, w});
  manual_seed(11);
  int runs = 0;
  const auto counted = [&](const Tensor& t) {
    ++runs;
    return block(t);
  };
  const Tensor checked = checkpoint(counted, x, {w}).sum();
  EXPECT_EQ(checked.item<float>(), plain.item<float>());
  EXPECT_EQ(runs, 1);
  const Generator::State before = default_generator().state();
  const auto found = gradient({checked}, {x, w});
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(default_generator().state().offset, before.offset);
  for (size_t i = 0; i < 2; ++i)
    EXPECT_EQ(found[i].to_vector<float>(), expected[i].to_vector<float>());
}

TEST(Checkpoint, SecondGradient) {
  const Tensor x = tensor(0.5).requires_grad_();
  const Tensor y = checkpoint([](const Tensor& t) { return t.exp() * t; }, x);
  const Tensor first = gradient(y, x, {.create_graph = true});
  EXPECT_NEAR(first.item<double>(), 1.5 * std::exp(0.5), 1e-12);
  EXPECT_NEAR(gradient(first, x).item<double>(), 2.5 * std::exp(0.5), 1e-12);
}

}  // namespace
}  // namespace tenon
