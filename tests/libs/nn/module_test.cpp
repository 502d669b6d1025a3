// Modules: names, state, moving, training mode.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "../scratch.hpp"
#include "tenon/nn.hpp"

namespace tenon::nn {
namespace {

struct Net : Module {
  Linear hidden = add("hidden", Linear(3, 4));
  BatchNorm norm = add("norm", BatchNorm(4));
  Sequential tail = add("tail", Sequential(ReLU(), Dropout(0.5), Linear(4, 2)));
  Parameter scale = add_parameter("scale", tensor({2.f}));
  Tensor forward(const Tensor& x) override { return tail(norm(hidden(x))) * scale; }
  std::string describe() const override { return "Net"; }
};

std::vector<std::string> names(const NamedTensors& named) {
  std::vector<std::string> found;
  for (const auto& [name, tensor] : named) found.push_back(name);
  return found;
}

TEST(Module, GivesBackWhatALargeOneLeaves) {
  nn::Sequential net;
  for (int i = 0; i < 8; ++i) net.push(nn::Linear(1024, 1024, false));  // 4 MiB each
  const Device cpu("cpu");
  const uint64_t held = cpu.memory().held;
  net.to(DType::BF16);
  EXPECT_LT(cpu.memory().held, held);
}

TEST(Module, NamesArePaths) {
  const Net net;
  EXPECT_EQ(names(net.named_parameters()),
            (std::vector<std::string>{"scale", "hidden.weight", "hidden.bias", "norm.weight",
                                      "norm.bias", "tail.2.weight", "tail.2.bias"}));
  EXPECT_EQ(names(net.named_buffers()),
            (std::vector<std::string>{"norm.running_mean", "norm.running_var",
                                      "norm.num_batches_tracked"}));
  EXPECT_EQ(net.parameter_count(), 1 + 12 + 4 + 8 + 8 + 2);
  for (const Tensor& x : net.parameters()) EXPECT_TRUE(x.requires_grad() && x.is_leaf());
  for (const Tensor& x : net.buffers()) EXPECT_FALSE(x.requires_grad());
  std::ostringstream text;
  text << net;
  EXPECT_EQ(text.str(),
            "Net {\n  hidden: Linear(3, 4)\n  norm: BatchNorm\n  tail: Sequential {\n    0: ReLU\n "
            "   1: Dropout(0.5)\n"
            "    2: Linear(4, 2)\n  }\n}");
}

TEST(Module, AnErrorNamesTheLayer) {
  struct Wrong : Module {
    Sequential body = add("body", Sequential(Linear(4, 8), Sequential(ReLU(), Linear(9, 2))));
    Tensor forward(const Tensor& x) override { return body(x); }
  } net;
  const Tensor x = ones({3, 4});
  const std::string cause = error_of([&] { net.body(x); }), within = error_of([&] { net(x); });
  EXPECT_TRUE(within.starts_with("[linear] ")) << within;
  EXPECT_TRUE(within.ends_with("\n  in layer body.1.1: Linear(9, 2)")) << within;
  EXPECT_TRUE(cause.ends_with("\n  in layer 1.1: Linear(9, 2)")) << cause;
  EXPECT_EQ(within.find("in layer"), within.rfind("in layer"));
  EXPECT_EQ(error_of([&] { net.body[0](ones({3, 5})); }).find("in layer"), std::string::npos);
  EXPECT_THROW(net.body.forward(x), Error);
}

TEST(Module, MovingKeepsRegistrations) {
  Net first;
  const Tensor weight = first.hidden.weight;
  Net net = std::move(first);
  EXPECT_EQ(net.named_parameters()[1].second.get(), weight.get());
  sum(net(ones({5, 3}))).backward();
  net.to(DType::F64);
  EXPECT_EQ(net.hidden.weight->get(), weight.get());  // every holder sees the change
  EXPECT_EQ(weight.dtype(), DType::F64);
  EXPECT_EQ(weight.grad().dtype(), DType::F64);
  EXPECT_EQ(net.norm.running_mean->dtype(), DType::F64);
  EXPECT_TRUE(net.hidden.weight->requires_grad());
  EXPECT_EQ(net(ones({5, 3}, DType::F64)).dtype(), DType::F64);
  std::vector<std::string> visited;
  net.apply([&](AnyModule& module) { visited.push_back(module.describe()); });
  EXPECT_EQ(visited.back(), "Net");
  EXPECT_EQ(visited.size(), 7u);
}

// A new last layer for a trained network.
TEST(Module, AnAssignedModuleTakesThePlaceOfThePart) {
  struct Outer : Module {
    Net inner = add("inner", Net());
    Tensor forward(const Tensor& x) override { return inner(x); }
  };
  Outer net;
  net.requires_grad_(false);
  net.inner.hidden = Linear(3, 4);
  net.inner.tail = Sequential(ReLU(), Linear(4, 5));
  std::vector<std::string> trained;
  for (const auto& [name, tensor] : net.named_parameters())
    if (tensor.requires_grad()) trained.push_back(name);
  EXPECT_EQ(trained, (std::vector<std::string>{"inner.hidden.weight", "inner.hidden.bias",
                                               "inner.tail.1.weight", "inner.tail.1.bias"}));
  sum(net(ones({2, 3}))).backward();
  EXPECT_TRUE(net.inner.hidden.weight->grad().defined());

  net.inner = Net();
  EXPECT_EQ(net.named_parameters()[1].second.get(), net.inner.hidden.weight->get());
  EXPECT_EQ(net.parameter_count(), Net().parameter_count());
  EXPECT_EQ(clone(net).parameter_count(), net.parameter_count());
}

TEST(Module, ADestroyedPartIsMissed) {
  struct Careless : Module {
    Careless() {
      Linear local(2, 2);
      add_part("local", local);
    }
    std::string describe() const override { return "Careless"; }
  };
  Careless net;
  for (const std::string& text :
       {error_of([&] { net.parameters(); }), error_of([&] { net.eval(); }),
        error_of([&] { net.named_parts(); }), error_of([&] { net.apply([](AnyModule&) {}); }),
        error_of([&] { std::ostringstream() << net; })})
    EXPECT_NE(text.find("[nn] part \"local\" of Careless was destroyed"), std::string::npos)
        << text;
}

TEST(Module, ErrorsAfterAMove) {
  Net from;
  const Net net = std::move(from);
  const std::string moved = "[nn] a module was moved elsewhere: call it there";
  // NOLINTNEXTLINE(bugprone-use-after-move): what a module says then
  EXPECT_EQ(error_of([&] { from.parameters(); }), moved);
  EXPECT_EQ(error_of([&] { from.eval(); }), moved);
  EXPECT_EQ(error_of([&] { from(ones({1, 3})); }), moved);
  EXPECT_EQ(error_of([&] { from.hidden(ones({1, 3})); }), moved);
  EXPECT_EQ(error_of([&] { clone(from); }), moved);
  EXPECT_NE(error_of([&] { *from.hidden.weight; }).find("a Parameter is empty"), std::string::npos);
}

TEST(Containers, AnIndexOutOfRange) {
  EXPECT_EQ(error_of([] { Sequential{ReLU()}[4]; }), "[Sequential] there is no element 4 of 1");
  EXPECT_EQ(error_of([] { ModuleList<Linear>()[0]; }), "[ModuleList] there is no element 0 of 0");
  EXPECT_EQ(error_of([] { ParameterList()[0]; }), "[ParameterList] there is no element 0 of 0");
}

TEST(Module, TrainingMode) {
  Net net;
  EXPECT_TRUE(net.training() && net.tail[1].training());
  net.eval();
  EXPECT_FALSE(net.training() || net.tail[1].training() || net.norm.training());
  const Tensor x = rand({6, 3});
  EXPECT_EQ(net(x).to_vector<float>(), net(x).to_vector<float>());
  const auto before = net.norm.running_mean->to_vector<float>();
  net.train();
  net(x);
  EXPECT_NE(net.norm.running_mean->to_vector<float>(), before);
}

TEST(Module, StateIsSavedAndLoaded) {
  Net a, b;
  a(rand({6, 3}));
  b.load_state_dict(a.state_dict());
  const Tensor x = rand({2, 3});
  a.eval();
  b.eval();
  EXPECT_EQ(a(x).to_vector<float>(), b(x).to_vector<float>());
  StateDict state = a.state_dict();
  state.erase("scale");
  state["more"] = tensor(1.f);
  state["hidden.bias"] = tensor({1.f});
  const std::string message = error_of([&] { b.load_state_dict(state); });
  EXPECT_NE(message.find("\"scale\" is missing"), std::string::npos) << message;
  EXPECT_NE(message.find("\"more\" is unknown"), std::string::npos) << message;
  EXPECT_NE(message.find("\"hidden.bias\" has shape (1), expected (4)"), std::string::npos)
      << message;
  state["hidden.bias"] = tensor({1.f, 2.f, 3.f, 4.f});
  b.load_state_dict(state, false);
  EXPECT_EQ(b.hidden.bias->detach().to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));
}

TEST(Module, OlderFilesLackTheCountOfBatches) {
  Net net;
  StateDict state = net.state_dict();
  state.erase("norm.num_batches_tracked");
  net(rand({6, 3}));
  net.load_state_dict(state);
  EXPECT_EQ(net.norm.num_batches_tracked->item<int64_t>(), 1);
  state.erase("norm.running_mean");
  EXPECT_NE(error_of([&] { net.load_state_dict(state); }), "");
}

TEST(Module, GradientsReachEveryParameter) {
  Net net;
  net(rand({6, 3})).sum().backward();
  for (const auto& [name, x] : net.named_parameters()) EXPECT_TRUE(x.grad().defined()) << name;
  net.zero_grad();
  for (const auto& [name, x] : net.named_parameters()) EXPECT_FALSE(x.grad().defined()) << name;
  net.requires_grad_(false);
  EXPECT_FALSE(net(rand({6, 3})).requires_grad());
}

TEST(Module, SharedParametersAreListedOnceAndStayShared) {
  struct Tied : Module {
    Linear first = add("first", Linear(3, 3, false));
    Linear second = add("second", Linear(3, 3, false));
    Tied() { second.weight.set(first.weight); }
  };
  Tied tied;
  EXPECT_EQ(tied.parameters().size(), 1u);
  tied.to(DType::F64);
  EXPECT_EQ(tied.first.weight->get(), tied.second.weight->get());
}

TEST(Module, Mistakes) {
  struct Twice : Module {
    Twice() {
      add_parameter("x", tensor({1.f}));
      add_buffer("x", tensor({1.f}));
    }
  };
  struct Dotted : Module {
    Linear part = add("a.b", Linear(1, 1));
  };
  EXPECT_NE(error_of([] { Twice(); }).find("already registered"), std::string::npos);
  EXPECT_NE(error_of([] { Dotted(); }).find("cannot be a name"), std::string::npos);
  EXPECT_NE(error_of([] { Module()(tensor(1.f)); }).find("no forward"), std::string::npos);
  EXPECT_NE(error_of([] { Dropout(2); }), "");
  EXPECT_NE(error_of([] { Conv2d(3, 4, 3, {.groups = 2}); }).find("groups"), std::string::npos);
  EXPECT_NE(error_of([] { GroupNorm(3, 4); }), "");
  EXPECT_NE(error_of([] { Linear(3, 4)(rand({2, 5})); }), "");
  EXPECT_NE(error_of([] { *Parameter(); }), "");
}

TEST(Init, Distributions) {
  manual_seed(1);
  Tensor x = empty({200, 100, 3});
  const auto bounds = [&] { return std::pair(x.min().item<double>(), x.max().item<double>()); };
  init::kaiming_uniform_(x, std::sqrt(5.0));
  const double bound = 1 / std::sqrt(300.0);
  EXPECT_GT(bounds().first, -bound - 1e-6);
  EXPECT_LT(bounds().first, -bound * 0.99);
  EXPECT_GT(bounds().second, bound * 0.99);
  init::xavier_uniform_(x);
  EXPECT_NEAR(bounds().second, std::sqrt(6.0 / 900), 1e-3);
  init::kaiming_normal_(x, 0, "fan_out", "relu");
  EXPECT_NEAR(x.std().item<double>(), std::sqrt(2.0 / 600), 1e-3);
  init::xavier_normal_(x, init::calculate_gain("tanh"));
  EXPECT_NEAR(x.std().item<double>(), 5.0 / 3 * std::sqrt(2.0 / 900), 1e-3);
  init::constant_(x, 3);
  EXPECT_EQ(bounds(), std::pair(3.0, 3.0));
  EXPECT_NE(error_of([] {
              Tensor v = empty({3});
              init::xavier_uniform_(v);
            }),
            "");
  EXPECT_NE(error_of([] { init::calculate_gain("nonesuch"); }), "");
  Tensor leaf = zeros({2, 2}).requires_grad_();
  init::ones_(leaf);
  EXPECT_TRUE(leaf.is_leaf());
}

std::vector<float> values(const Tensor& x) { return x.detach().to_vector<float>(); }

TEST(Clone, HasParametersOfItsOwn) {
  Net net;
  net.eval();
  net.hidden.weight->set_grad(ones({4, 3}));
  Net copy = clone(net);
  const Tensor x = rand({6, 3});
  EXPECT_EQ(values(copy(x)), values(net(x)));
  EXPECT_EQ(names(copy.named_parameters()), names(net.named_parameters()));
  EXPECT_FALSE(copy.training() || copy.hidden.weight->grad().defined());
  const auto before = values(net(x));
  for (Tensor& parameter : copy.parameters()) {
    EXPECT_TRUE(parameter.requires_grad() && parameter.is_leaf());
    NoGrad guard;
    parameter.fill_(0.5);
  }
  copy.norm.running_mean->fill_(3);
  EXPECT_EQ(values(net(x)), before);
  EXPECT_NE(values(copy(x)), before);  // the copy's fields are its own parameters
  EXPECT_EQ(copy.scale->item<float>(), 0.5f);
  copy.to(DType::F64);
  EXPECT_EQ(copy.tail[2].parameters()[0].dtype(), DType::F64);
  EXPECT_EQ(net.tail[2].parameters()[0].dtype(), DType::F32);
}

TEST(Clone, KeepsSharingAndContainers) {
  struct Tied : Module {
    Parameter first;  // a second handle, destroyed after the module that owns the parameter
    ModuleList<Linear> list;
    ModuleDict<Linear> dict;
    ParameterDict numbers = add("numbers", ParameterDict());
    Tied() {
      list.push(Linear(3, 3, false));
      dict.insert("a", Linear(3, 3, false)).weight.set(list[0].weight);
      add_part("list", list);
      add_part("dict", dict);
      numbers.insert("x", tensor({1.f}));
      first = list[0].weight;
      register_forward_pre_hook(
          [](AnyModule&, std::span<Tensor> inputs) { inputs[0] = inputs[0] * 2; });
    }
    Tensor forward(const Tensor& x) override { return dict["a"](list[0](x)) * numbers["x"]; }
  };
  Tied net;
  Tied copy = clone(net);
  EXPECT_EQ(copy.list[0].weight->get(), copy.dict["a"].weight->get());
  EXPECT_NE(copy.list[0].weight->get(), net.list[0].weight->get());
  EXPECT_EQ(copy.first->get(), copy.list[0].weight->get());
  EXPECT_EQ(copy.parameters().size(), 2u);
  const Tensor x = rand({2, 3});
  EXPECT_EQ(values(copy(x)), values(net(x)));
  EXPECT_NE(values(copy(x)), values(copy.forward(x)));  // the hook was copied, too
}

TEST(Clone, Mistakes) {
  struct Shares : Module {
    std::shared_ptr<Linear> part = std::make_shared<Linear>(2, 2);
    Shares() { add_part("part", *part); }
  };
  EXPECT_EQ(error_of([] {
              Linear a(2, 2);
              Sequential net(a);
            }),
            "[nn] Linear(2, 2) is not copied when passed by value: move it, or call clone(module)");
  EXPECT_TRUE(
      error_of([] { clone(Shares()); }).starts_with("[clone] part \"part\" cannot be copied"));
  struct Unique : Module {
    std::unique_ptr<int> field;
  };
  Sequential net(Unique{});
  EXPECT_EQ(error_of([&] { clone(net); }), "[clone] Module has fields that cannot be copied");
}

TEST(Hooks, SeeAndReplaceTensors) {
  Sequential net(Linear(2, 2), ReLU());
  std::vector<std::string> seen;
  AnyModule& relu = net[1];
  const uint64_t before =
      relu.register_forward_pre_hook([&](AnyModule& module, std::span<Tensor> inputs) {
        seen.push_back("before " + module.describe());
        inputs[0] = tensor({{-1.f, 2.f}});
      });
  const uint64_t after = relu.register_forward_hook(
      [&](AnyModule& module, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
        seen.push_back("after " + module.describe());
        EXPECT_EQ(values(inputs[0]), (std::vector<float>{-1, 2}));
        EXPECT_EQ(values(outputs[0]), (std::vector<float>{0, 2}));
        outputs[0] = outputs[0] + 1;
      });
  const Tensor x = rand({1, 2});
  EXPECT_EQ(values(net(x)), (std::vector<float>{1, 3}));
  EXPECT_EQ(seen, (std::vector<std::string>{"before ReLU", "after ReLU"}));
  relu.remove_hook(after);
  EXPECT_EQ(values(net(x)), (std::vector<float>{0, 2}));
  relu.remove_hook(before);
  EXPECT_NE(values(net(x)), (std::vector<float>{0, 2}));
  EXPECT_EQ(error_of([&] { relu.remove_hook(before); }), "[nn] ReLU has no hook 1");
}

TEST(Hooks, MayRemoveThemselves) {
  Linear layer(2, 2);
  int calls = 0;
  uint64_t id = 0;
  id = layer.register_forward_hook(
      [&](AnyModule& module, std::span<const Tensor>, std::span<Tensor>) {
        ++calls;
        module.remove_hook(id);
      });
  layer(rand({1, 2}));
  layer(rand({1, 2}));
  EXPECT_EQ(calls, 1);
}

// (a + b, (a, b)); an absent b counts as 0.
struct SumAndBoth
    : ModuleOf<std::tuple<Tensor, std::pair<Tensor, Tensor>>(const Tensor&, const Tensor&)> {
  std::tuple<Tensor, std::pair<Tensor, Tensor>> forward(const Tensor& a,
                                                        const Tensor& given) override {
    const Tensor b = given.defined() ? given : zeros_like(a);
    return {a + b, {a, b}};
  }
  std::string describe() const override { return "SumAndBoth"; }
};
struct Product : ModuleOf<Tensor(const Tensor&, const Tensor&)> {
  Tensor forward(const Tensor& a, const Tensor& b) override { return b.defined() ? a * b : a; }
  std::string describe() const override { return "Product"; }
};

TEST(ModuleOf, TakesAndGivesSeveralTensors) {
  const Tensor a = tensor({1.f, 2.f}), b = tensor({3.f, 5.f});
  SumAndBoth both;
  auto [sum, parts] = both(a, b);
  EXPECT_EQ(values(sum), (std::vector<float>{4, 7}));
  EXPECT_EQ(values(std::get<0>(both(a))), (std::vector<float>{1, 2}));
  EXPECT_EQ(both.call(std::vector{a, b}).size(), 3u);
  Product product;
  AnyModule& one = product;
  EXPECT_EQ(values(one(a)), (std::vector<float>{1, 2}));
  EXPECT_NE(error_of([&] {
              static_cast<AnyModule&>(both)(a);
            }).find("SumAndBoth returns 3 tensors, not one"),
            std::string::npos);
  EXPECT_EQ(error_of([&] {
              product.call(std::vector{a, a, a});
            }),
            "[nn] Product does not take 3 tensors");
  EXPECT_EQ(error_of([&] { ReLU().call(std::vector{a, a}); }), "[nn] ReLU takes one tensor, not 2");
  EXPECT_TRUE(error_of([&] { product(a, ones({3})); }).find("in layer") == std::string::npos);
  both.register_forward_hook(
      [](AnyModule&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
        EXPECT_EQ(inputs.size(), 2u);
        ASSERT_EQ(outputs.size(), 3u);
        outputs[2] = outputs[2] * 10;
      });
  EXPECT_EQ(values(std::get<1>(both(a, b)).second), (std::vector<float>{30, 50}));
}

TEST(ModuleOf, InSequentials) {
  const Tensor a = tensor({1.f, 2.f}), b = tensor({3.f, 5.f});
  SequentialOf<Tensor(const Tensor&, const Tensor&)> products(
      Product{}, Functional([](const Tensor& x) { return x + 1; }), Functional(leaky_relu, 0.2));
  EXPECT_EQ(values(products(a, b)), (std::vector<float>{4, 11}));
  SequentialOf<std::tuple<Tensor, Tensor>(const Tensor&)> pair(
      SumAndBoth{},
      FunctionalOf<std::tuple<Tensor, Tensor>(const Tensor&, const Tensor&, const Tensor&)>(
          [](const Tensor& sum, const Tensor& x, const Tensor& y) {
            return std::tuple(sum + x, y);
          }));
  EXPECT_EQ(values(std::get<0>(pair(a))), (std::vector<float>{2, 4}));
  SequentialOf<Tensor(const Tensor&)> more(SumAndBoth{});
  static_assert(std::is_same_v<decltype(more), Sequential>);
  EXPECT_NE(error_of([&] { more(a); }).find("SumAndBoth returns 3 tensors, not one"),
            std::string::npos);
  SequentialOf<Tensor(const Tensor&, const Tensor&)> three(SumAndBoth{});
  EXPECT_EQ(
      error_of([&] { three(a, b); }),
      "[nn] Sequential's last module returns 3 tensors, more than Sequential's result type holds");
}

TEST(Module, Within) {
  Net net;
  std::vector<std::string> paths;
  for (const auto& [path, module] : net.named_modules())
    paths.push_back(path + ':' + module->describe());
  EXPECT_EQ(paths, (std::vector<std::string>{":Net", "hidden:Linear(3, 4)", "norm:BatchNorm",
                                             "tail:Sequential", "tail.0:ReLU",
                                             "tail.1:Dropout(0.5)", "tail.2:Linear(4, 2)"}));
  EXPECT_EQ(net.to("cpu", DType::F64).parameters()[0].dtype(), DType::F64);
  ParameterDict dict;
  dict.insert("b", tensor({1.f}));
  dict.insert("a", tensor({2.f}));
  EXPECT_EQ(dict.keys(), (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(dict["a"]->item<float>(), 2);
  EXPECT_TRUE(dict.contains("b") && !dict.contains("c") && dict.size() == 2);
  EXPECT_EQ(error_of([&] { dict["c"]; }), "[ParameterDict] nothing is called \"c\"");
}

}  // namespace
}  // namespace tenon::nn
