// The plugins of examples/plugins/: new ops with gradients, a faster kernel for another plugin's device, and the smallest backend that
// trains.
#include <gtest/gtest.h>

#include <cmath>

#include "gradcheck.hpp"
#include "tenon/nn.hpp"
#include "tenon/optim.hpp"

namespace tenon {
namespace {

std::string explain(std::string_view op, Device device, DType dtype = DType::F32) {
  std::string text;
  detail::check(tn_op_explain(Op(op).get(), device.get(), static_cast<tn_dtype>(dtype),
                              &detail::append_text, &text));
  return text;
}
std::string_view provider(std::string_view op, Device device) {
  return detail::to_view(tn_op_provider(Op(op).get(), device.get(), TN_DTYPE_F32));
}
PluginInfo info_of(std::string_view id) {
  for (const PluginInfo& each : plugins())
    if (each.id == id) return each;
  throw Error(TN_NOT_FOUND, "no plugin " + std::string(id));
}

struct Plugins : ::testing::Test {
  static void SetUpTestSuite() {
    for (const char* path :
         {NEW_OPS_PLUGIN, NEW_OP_PLUGIN, SHORT_SOFTMAX_PLUGIN, SMALLEST_PLUGIN, PRODUCTS_PLUGIN})
      load_plugin(path);
    tn_fallback_set(TN_FALLBACK_ALLOW);
  }
};

// ---- New ops: called from C++ at once, with gradients and gradients of gradients -----------------------------------------------

// Points on both sides of zero, but not zero itself.
Tensor points() {
  return tensor(std::vector<double>{-2.5, -1.0, -0.3, 0.4, 1.1, 3.0}, {2, 3}, {DType::F64});
}

void check_gradients(const testing::GradFn& fn) {
  EXPECT_EQ(testing::gradcheck(fn, {points()}), "");
  EXPECT_EQ(testing::gradgradcheck(fn, {points()}), "");
}

TEST_F(Plugins, AnOpOfACppPluginHasItsOwnGradient) {
  const Op swish("acme.swish");
  EXPECT_EQ(swish.schema(), "acme.swish(Tensor x, float beta=1.0) -> Tensor @1");
  EXPECT_TRUE(swish.is_differentiable());
  const Tensor x = points();
  const auto values = swish(x, 1.5).to_vector<double>(), xs = x.to_vector<double>();
  for (size_t i = 0; i < xs.size(); ++i)
    EXPECT_NEAR(values[i], xs[i] / (1 + std::exp(-1.5 * xs[i])), 1e-12);
  EXPECT_EQ(swish(x).to_vector<double>(), call("acme.swish", x, 1.0).to_vector<double>());
  check_gradients([&](const std::vector<Tensor>& in) { return std::vector{swish(in[0], 1.5)}; });
  Tensor leaf = points().requires_grad_();
  EXPECT_EQ(swish(leaf, 2).grad_fn_name(), "acme.swish");
}

TEST_F(Plugins, AnOpMayHaveAKernelBesides) {
  const Tensor x = points().to(DType::F32);
  EXPECT_EQ(provider("acme.swish", Device("cpu")), "com.acme.ops");
  const auto kernel = call("acme.swish", x, 1.5).to_vector<float>(),
             decomposed = call("acme.swish", x.t(), 1.5).t().to_vector<float>();
  for (size_t i = 0; i < kernel.size(); ++i) EXPECT_NEAR(kernel[i], decomposed[i], 1e-6);
  Tensor leaf = points().to(DType::F32).requires_grad_();
  call("acme.swish", leaf).sum().backward();
  EXPECT_TRUE(leaf.grad().defined());
}

TEST_F(Plugins, AnOpOfACppPluginIsDifferentiatedThroughItsDecomposition) {
  const Op squareplus("acme.squareplus");
  EXPECT_NEAR(squareplus(tensor({1.5}), 4.0).item<double>(), (1.5 + 2.5) / 2, 1e-12);
  check_gradients(
      [&](const std::vector<Tensor>& in) { return std::vector{squareplus(in[0], 2.0)}; });
}

TEST_F(Plugins, AnOpOfACPluginHasItsOwnGradient) {
  const Op softsign("acme.softsign");
  EXPECT_NEAR(softsign(tensor({-3.0})).item<double>(), -0.75, 1e-12);
  check_gradients([&](const std::vector<Tensor>& in) { return std::vector{softsign(in[0])}; });
}

TEST_F(Plugins, NewOpsRunOnEveryDevice) {
  for (const char* name : {"acme.swish", "acme.squareplus", "acme.softsign"}) {
    Tensor here = points().requires_grad_(),
           there = points().to(Device("smallest")).requires_grad_();
    const Tensor y = call(name, here), z = call(name, there);
    EXPECT_EQ(z.device(), Device("smallest"));
    EXPECT_EQ(y.to_vector<double>(), z.to_vector<double>());
    y.sum().backward();
    z.sum().backward();
    EXPECT_EQ(here.grad().to_vector<double>(), there.grad().to_vector<double>());
  }
}

TEST_F(Plugins, ErrorsNameTheOp) {
  const auto message = [](auto&& body) -> std::string {
    try {
      body();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_NE(message([] { Op("acme.swishh"); }).find("acme.swish"), std::string::npos);
  EXPECT_NE(message([] { call("acme.swish", "text"); }).find("[acme.swish]"), std::string::npos);
  EXPECT_NE(message([] { call("acme.swish", points(), 1, 2); }).find("[acme.swish]"),
            std::string::npos);
}

// ---- Custom functions of the host program, with a gradient ---------------------------------------------------------------------

struct Softclip : Function<Softclip> {
  static constexpr std::string_view name = "softclip";
  Tensor forward(const Tensor& x) {
    save({x});
    return x / sqrt(1 + x * x);
  }
  Tensor backward(const Tensor& grad) { return grad * pow(1 + saved(0) * saved(0), -1.5); }
};

TEST_F(Plugins, HostFunctionsHaveGradientsOfBothOrders) {
  check_gradients(
      [](const std::vector<Tensor>& in) { return std::vector{Softclip::apply(in[0])}; });
  Tensor there = points().to(Device("smallest")).requires_grad_();
  Softclip::apply(there).sum().backward();
  EXPECT_EQ(there.grad().device(), Device("smallest"));
}

// ---- One faster kernel ------------------------------------------------------------------------------------------------------------

TEST_F(Plugins, AKernelForAnotherPluginsDeviceWinsByItsPriority) {
  const std::string text = explain("softmax", Device("cpu"));
  const size_t first = text.find("1. kernel of plugin 'org.example.short_softmax', priority 100");
  EXPECT_NE(first, std::string::npos) << text;
  EXPECT_NE(text.find("2. kernel of plugin 'cpu'", first), std::string::npos) << text;
  EXPECT_EQ(explain("softmax", Device("cpu"), DType::F64).find("short_softmax"), std::string::npos);
}

TEST_F(Plugins, UnsupportedCallsGoToTheNextKernel) {
  std::vector<std::string> ran;
  tn_call_hooks hooks{};
  hooks.struct_size = sizeof hooks;
  hooks.ctx = &ran;
  hooks.after = [](void* ctx, const tn_op*, const tn_value*, uint32_t, tn_tensor* const*, uint32_t,
                   tn_str who) {
    static_cast<std::vector<std::string>*>(ctx)->emplace_back(detail::to_view(who));
  };
  const Tensor narrow = randn({5, 8}), wide = randn({5, 17}), tall = randn({8, 5});
  tn_call_hooks_set(&hooks);
  const Tensor a = softmax(narrow, 1), b = softmax(wide, 1), c = softmax(tall, 0);
  tn_call_hooks_set(nullptr);
  EXPECT_EQ(ran, (std::vector<std::string>{"org.example.short_softmax", "cpu",
                                           "org.example.short_softmax"}));
  const Tensor expected = exp(narrow) / exp(narrow).sum(1, true),
               down = exp(tall) / exp(tall).sum(0, true);
  EXPECT_LT((a - expected).abs().max().item<double>(), 1e-6);
  EXPECT_LT((c - down).abs().max().item<double>(), 1e-6);
}

// ---- The smallest backend trains the classic network ------------------------------------------------------------------------------

std::vector<double> train(Device device, int steps) {
  manual_seed(7);
  const Tensor images = randn({64, 1, 32, 32}),
               labels = matmul(images.flatten(1), randn({1024, 8})).argmax(1);
  nn::Sequential net(nn::Flatten(), nn::Linear(1024, 256), nn::ReLU(), nn::Linear(256, 256),
                     nn::ReLU(), nn::Linear(256, 8));
  net.to(device);
  optim::SGD optimizer(net.parameters(), {.lr = 0.5});
  const Tensor x = images.to(device), y = labels.to(device);
  std::vector<double> losses;
  for (int step = 0; step < steps; ++step) {
    const Tensor loss = cross_entropy(net(x), y);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    losses.push_back(loss.item<double>());
  }
  return losses;
}

void expect_the_same_curve(const char* device) {
  constexpr int kSteps = 12;
  const auto on_cpu = train(Device("cpu"), kSteps), here = train(Device(device), kSteps);
  for (int i = 0; i < kSteps; ++i)
    EXPECT_NEAR(here[static_cast<size_t>(i)], on_cpu[static_cast<size_t>(i)], 1e-3) << "step " << i;
  EXPECT_LT(here.back(), here.front() / 4) << "it learns";
}

TEST_F(Plugins, TheSmallestBackendTrainsWithoutAKernel) {
  EXPECT_EQ(info_of("org.example.smallest").kernels, 0u);
  EXPECT_EQ(provider("matmul", Device("smallest")), "host fallback");
  expect_the_same_curve("smallest");
}

TEST_F(Plugins, AFewKernelsDoMostOfTheWork) {
  for (const char* op : {"matmul", "relu", "relu_backward"})
    EXPECT_EQ(provider(op, Device("products")), "org.example.products");
  EXPECT_EQ(provider("linear", Device("products")), "decomposition");
  expect_the_same_curve("products");
}

TEST_F(Plugins, TheyGoWhenNothingLivesOnThem) {
  for (const char* id :
       {"org.example.smallest", "org.example.products", "org.example.short_softmax"})
    quiesce_plugin(id);
  EXPECT_EQ(explain("softmax", Device("cpu")).find("short_softmax"), std::string::npos);
}

}  // namespace
}  // namespace tenon
