// Hooks, custom functions, checkpoints, anomaly mode, and ops that a plugin defines.
#include "support.hpp"

namespace tenon::testing {
namespace {

// ---- Hooks -------------------------------------------------------------------------------------

TEST(Hooks, SeeTheCompleteGradientOnce) {
  Tensor x = leaf({1, 2});
  const Tensor y = x * 2;
  std::vector<Values> seen;
  const auto watch = [&](const Tensor& g) {
    seen.push_back(values(g));
    return Tensor();
  };
  y.sum();  // another use, through which no gradient arrives
  Tensor(y).register_hook(watch);
  x.register_hook(watch);
  (y * 3 + y + x).sum().backward();
  EXPECT_EQ(seen, (std::vector<Values>{{4, 4}, {9, 9}}));
}

TEST(Hooks, MayReplaceTheGradient) {
  Tensor x = leaf({1, 2});
  Tensor y = x * 2;
  y.register_hook([](const Tensor& g) { return g * 10; });
  y.register_hook([](const Tensor& g) { return g + 1; });
  x.register_hook([](const Tensor& g) { return -g; });
  y.sum().backward({}, true);
  EXPECT_EQ(grad_of(x), (Values{-22, -22}));
  EXPECT_EQ(values(gradient(y.sum(), x)), (Values{-22, -22})) << "gradient() runs them as well";
}

TEST(Hooks, BelongToTheirResult) {
  Tensor x = leaf({3, 1, 2});
  auto [top, index] = topk(x, 2);
  int calls = 0;
  top.register_hook([&](const Tensor& g) {
    ++calls;
    return g * 2;
  });
  top.sum().backward();
  EXPECT_EQ(grad_of(x), (Values{2, 0, 2}));
  EXPECT_EQ(calls, 1);
}

TEST(Hooks, AreRemovedById) {
  Tensor x = leaf({1});
  Tensor y = x * 2;
  int calls = 0;
  const auto count = [&](const Tensor&) {
    ++calls;
    return Tensor();
  };
  const uint64_t on_leaf = x.register_hook(count), on_result = y.register_hook(count);
  y.remove_hook(on_result);
  x.remove_hook(on_leaf);
  y.sum().backward();
  EXPECT_EQ(calls, 0);
  EXPECT_ERROR(x.remove_hook(on_leaf), "[remove_hook]", "no hook");
}

TEST(Hooks, MayRemoveThemselvesAndAddOthers) {
  Tensor x = leaf({1});
  uint64_t id = 0;
  int calls = 0;
  id = x.register_hook([&](const Tensor&) {
    x.remove_hook(id);
    x.register_hook([&](const Tensor&) {
      calls += 10;
      return Tensor();
    });
    ++calls;
    return Tensor();
  });
  (x * 2).sum().backward();
  (x * 2).sum().backward();
  EXPECT_EQ(calls, 11);
}

TEST(Hooks, MayRunBackwardThemselves) {
  Tensor x = leaf({1}), inner = leaf({5});
  Tensor y = x * 2;
  y.register_hook([&](const Tensor& g) {
    EnableGrad enable;
    (inner * inner).sum().backward();
    return g;
  });
  y.sum().backward();
  EXPECT_EQ(grad_of(x), (Values{2}));
  EXPECT_EQ(grad_of(inner), (Values{10}));
}

TEST(Hooks, Errors) {
  Tensor x = leaf({1, 2});
  EXPECT_ERROR(tensor({1.f}).register_hook([](const Tensor& g) { return g; }), "[hook]",
               "requires no gradient");
  EXPECT_ERROR(detail::check(tn_tensor_add_hook(x.get(), nullptr, nullptr, nullptr, nullptr)),
               "[tn_tensor_add_hook]");
  Tensor y = x * 2;
  y.register_hook([](const Tensor&) { return zeros({3}); });
  EXPECT_ERROR(y.sum().backward(), "[mul]", "from a hook", "(3,)", "(2,)");
  x.register_hook([](const Tensor&) -> Tensor { throw Error(TN_CANCELLED, "[mine] stopped"); });
  EXPECT_ERROR((x * 1).sum().backward(), "[mine] stopped");
}

TEST(Hooks, LeavesOfALargeGraphAreReadyEarly) {
  std::vector<Tensor> weights;
  std::vector<int> order;
  Tensor y = tensor({1.f});
  const auto step = [&](int i) { y = y * weights[static_cast<size_t>(i)]; };
  for (int i = 0; i < 200; ++i) weights.push_back(leaf({1}));
  for (int i = 0; i < 200; ++i) step(i);
  y = tensor({1.f});
  for (int i = 0; i < 200; ++i) step(i);
  bool early = true;
  int seen = 0;
  weights[199].register_hook([&](const Tensor&) {
    early = early && seen == 0;
    return Tensor();
  });
  weights[0].register_hook([&](const Tensor&) {
    ++seen;
    return Tensor();
  });
  y.sum().backward();
  EXPECT_EQ(seen, 1);
  EXPECT_TRUE(early) << "the last layer's gradient is complete before the first layer's";
}

// ---- Custom functions --------------------------------------------------------------------------

struct Cube : Function<Cube> {
  static constexpr std::string_view name = "cube";
  Tensor forward(const Tensor& x) {
    save({x});
    return x * x * x;
  }
  Tensor backward(const Tensor& g) { return g * 3 * saved(0) * saved(0); }
};

TEST(Functions, HaveGradientsOfGradients) {
  Tensor x = leaf({1, 2});
  const Tensor y = Cube::apply(x);
  EXPECT_EQ(y.grad_fn_name(), "cube");
  const Tensor first = gradient(y.sum(), x, {.create_graph = true});
  EXPECT_EQ(values(first), (Values{3, 12}));
  EXPECT_EQ(values(gradient(first.sum(), x)), (Values{6, 12}));
}

struct Split : Function<Split> {
  std::vector<Tensor> forward(const Tensor& x, const Tensor& y) { return {x + y, x * 2}; }
  std::vector<Tensor> backward(const std::vector<Tensor>& g) {
    Tensor gx, gy;
    if (g[0].defined()) gx = gy = g[0];
    if (g[1].defined()) gx = gx.defined() ? gx + g[1] * 2 : g[1] * 2;
    return {gx, gy};
  }
};

TEST(Functions, MayHaveSeveralInputsAndResults) {
  Tensor x = leaf({1, 2}), y = leaf({1, 1});
  auto results = Split::apply(x, y);
  (results[1] * 5).sum().backward({}, true);
  EXPECT_EQ(grad_of(x), (Values{10, 10}));
  EXPECT_FALSE(y.grad().defined());
  (results[0] + results[1]).sum().backward();
  EXPECT_EQ(grad_of(x), (Values{13, 13}));
  EXPECT_EQ(grad_of(y), (Values{1, 1}));
}

TEST(Functions, GradientsAreFittedToTheirInput) {
  Tensor x = leaf({1});
  Lambda wide{[](const Tensor&) { return tensor({1.0, 2.0, 3.0}); }};
  const Tensor y = zeros({3});
  wide.record(x, y);
  y.sum().backward();
  EXPECT_EQ(grad_of(x), (Values{6}));
}

TEST(Functions, Errors) {
  Tensor x = leaf({1, 2});
  Lambda wrong{[](const Tensor&) { return zeros({5}); }};
  const Tensor y = x.detach();
  wrong.record(x, y, "wrong");
  EXPECT_ERROR(y.sum().backward({}, true), "[wrong]", "input 0", "(5,)", "(2,)");
  EXPECT_ERROR(wrong.record(x, y, "twice"), "[twice] output 0 already has a history");
  EXPECT_EQ(*wrong.destroyed, 1) << "destroyed on error, too";
  wrong.record(tensor({1.f}), zeros({1}));
  EXPECT_EQ(*wrong.destroyed, 2) << "no input requires a gradient";
  EXPECT_ERROR(detail::check(tn_function_record(nullptr, nullptr, 0, nullptr, 0)),
               "[tn_function_record] 'function'");
  const Tensor once = Cube::apply(x);
  once.sum().backward();
  EXPECT_ERROR(once.sum().backward(), "[cube]", "retain_graph");
}

TEST(Functions, HaveNoMoreOutputsThanANodeTellsApart) {
  Tensor x = leaf({1});
  const Tensor y = x.detach();
  const std::vector<tn_tensor*> outputs(70'000, y.get());
  tn_function function{};
  function.struct_size = sizeof function;
  function.name = detail::to_str("many");
  function.backward = [](void*, tn_tensor* const*, uint32_t, tn_tensor**, uint32_t) -> tn_status* {
    return nullptr;
  };
  tn_tensor* const inputs[] = {x.get()};
  EXPECT_ERROR(detail::check(tn_function_record(&function, inputs, 1, outputs.data(),
                                                static_cast<uint32_t>(outputs.size()))),
               "[many] 70000 outputs; at most 60000 are possible");
}

TEST(Functions, CheckpointsComputeTheSame) {
  Tensor x = leaf({0.5f, 1}), w = leaf({2, 3});
  const auto body = [&](const Tensor& t) { return exp(t * w) * t; };
  body(x).sum().backward();
  const Values gx = grad_of(x), gw = grad_of(w);
  x.zero_grad(), w.zero_grad();
  checkpoint(body, x, {w}).sum().backward();
  EXPECT_EQ(grad_of(x), gx);
  EXPECT_EQ(grad_of(w), gw);
}

TEST(Functions, NestedCheckpointsRunBackwardInsideBackward) {
  Tensor x = leaf({0.5f, 1});
  const auto inner = [](const Tensor& t) { return t * t; };
  const auto outer = [&](const Tensor& t) { return checkpoint(inner, checkpoint(inner, t)); };
  checkpoint(outer, x).sum().backward();
  EXPECT_EQ(grad_of(x), (Values{0.5f, 4}));
}

// ---- Anomaly mode ------------------------------------------------------------------------------

TEST(AnomalyMode, NamesTheOpWhoseGradientIsNaN) {
  Tensor x = leaf({0, 1});
  const Tensor y = (sqrt(x) * 0).sum();  // 0·∞ at 0
  y.backward({}, true);
  EXPECT_TRUE(std::isnan(grad_of(x)[0]));
  Anomaly guard;
  EXPECT_ERROR(y.backward(), "[sqrt] its gradient is NaN", "shape (2,)");
}

TEST(AnomalyMode, IsQuietWhereAllIsWell) {
  Tensor x = leaf({4, 1});
  Anomaly guard;
  sqrt(x).sum().backward();
  EXPECT_EQ(grad_of(x), (Values{0.25f, 0.5f}));
  EXPECT_ERROR((x * 1).backward(tensor({NAN, 1.f})), "[backward]", "NaN");
}

// ---- Ops of plugins ----------------------------------------------------------------------------

tn_tensor* call_op(std::string_view name, std::vector<tn_value> args) {
  const tn_op* op = tn_op_find({name.data(), name.size()});
  tn_tensor* out = nullptr;
  detail::check(tn_op_call(op, args.data(), static_cast<uint32_t>(args.size()), &out, 1));
  return out;
}

class ForeignOps : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { load_plugin(std::getenv("TENON_TEST_PLUGIN")); }
  static Tensor scaled_square(const Tensor& x, double scale) {
    return Tensor::adopt(call_op("test.scaled_square", {detail::value(x), detail::value(scale)}));
  }
  static Tensor twice(const Tensor& x) {
    return Tensor::adopt(call_op("test.twice", {detail::value(x)}));
  }
};

TEST_F(ForeignOps, AreDifferentiatedByTheirCallback) {
  Tensor x = leaf({1, 2});
  const Tensor y = scaled_square(x, 5);
  EXPECT_EQ(values(y), (Values{5, 20}));
  EXPECT_EQ(y.grad_fn_name(), "test.scaled_square");
  const Tensor first = gradient(y.sum(), x, {.create_graph = true});
  EXPECT_EQ(values(first), (Values{10, 20}));
  EXPECT_EQ(values(gradient(first.sum(), x)), (Values{10, 10}));
}

TEST_F(ForeignOps, AreDifferentiatedThroughTheirDecomposition) {
  Tensor x = leaf({1, 2});
  const Tensor y = twice(x);
  EXPECT_EQ(values(y), (Values{2, 4}));
  y.sum().backward();
  EXPECT_EQ(grad_of(x), (Values{2, 2}));
}

using Dims = std::vector<int64_t>;
Dims shape_of(const Tensor& x) { return {x.shape().begin(), x.shape().end()}; }
Tensor matrix(DType dtype) { return tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}).to(dtype); }
Tensor energy(const Tensor& x, const Dims& dims, bool keepdim) {
  return call("test.energy", x, dims, keepdim);
}

TEST_F(ForeignOps, OfTheReducingFormGetALoopOverWhatDimsName) {
  const Tensor x = matrix(DType::F64);
  EXPECT_EQ(call("test.energy", x).item<double>(), 91);
  EXPECT_EQ(energy(x, {1}, false).to_vector<double>(), (std::vector<double>{14, 77}));
  const Tensor columns = energy(x, {-2}, true);
  EXPECT_EQ(shape_of(columns), (Dims{1, 3}));
  EXPECT_EQ(columns.to_vector<double>(), (std::vector<double>{17, 29, 45}));
  EXPECT_EQ(energy(x.t(), {0}, false).to_vector<double>(), (std::vector<double>{14, 77}));
  EXPECT_ERROR(energy(x, {2}, false), "[test.energy]", "dim 2 out of range");
}

TEST_F(ForeignOps, ThatMakeFractionsTakeIntegersAsF32) {
  const Tensor sum = call("test.energy", matrix(DType::I16));
  EXPECT_EQ(sum.dtype(), DType::F32);
  EXPECT_EQ(sum.item<float>(), 91);
}

TEST_F(ForeignOps, OfTheElementwiseFormBroadcastPromoteAndTakeNumbers) {
  const Tensor x = matrix(DType::F32);
  EXPECT_EQ(call("test.above", x, 2.5).to_vector<bool>(),
            (std::vector<bool>{false, false, true, true, true, true}));
  const Tensor rows = call("test.above", x, tensor({5, 1, 3}).to(DType::I32));
  EXPECT_EQ(shape_of(rows), (Dims{2, 3}));
  EXPECT_EQ(rows.dtype(), DType::Bool);
  EXPECT_EQ(rows.to_vector<bool>(), (std::vector<bool>{false, true, false, false, true, true}));
  EXPECT_EQ(shape_of(call("test.above", x.t(), x.t())), (Dims{3, 2}));
  EXPECT_ERROR(call("test.above", x, matrix(DType::F32).t()), "[test.above]", "do not broadcast");
}

TEST_F(ForeignOps, MayNotContradictTheirForm) {
  EXPECT_ERROR(call("test.liar", matrix(DType::F32)), "[test.liar]",
               "() where the op's form says (2, 3)");
  EXPECT_ERROR(call("test.liar", 1.5), "[test.liar]", "'x' must be a tensor");
}

TEST_F(ForeignOps, MayHaveEightResults) {
  Tensor x = leaf({1, 2});
  const std::vector<Tensor> results = Op("test.eight").many(8, x);
  for (size_t k = 0; k < 8; ++k)
    EXPECT_EQ(values(results[k]),
              (Values{static_cast<float>(k + 1), static_cast<float>(2 * (k + 1))}));
  (results[1] + results[7]).sum().backward();
  EXPECT_EQ(grad_of(x), (Values{10, 10}));
}

TEST_F(ForeignOps, MayGiveOneTensorTwiceOrAnArgument) {
  Tensor x = leaf({1, 2});
  const std::vector<Tensor> results = Op("test.given").many(2, x);
  EXPECT_EQ(x.grad_fn_name(), "") << "the argument stays a leaf";
  EXPECT_TRUE(tn_tensor_shares_storage(results[0].get(), x.get()));
  (results[0] * 2 + results[1] * 5).sum().backward();
  EXPECT_EQ(grad_of(x), (Values{7, 7}));
}

TEST_F(ForeignOps, WriteToArgumentsAsTheyAre) {
  const Tensor x = zeros({1});
  const uint32_t version = tn_tensor_version(x.get());
  call("test.counted", x);
  EXPECT_EQ(tn_tensor_version(x.get()), version + 1);
  call("test.counted_with", x, 1);
  EXPECT_EQ(values(x), (Values{2}));
  EXPECT_ERROR(call("test.counted_with", x, zeros({1}, DType::F64)), "[test.counted_with]",
               "'x' is written to and must be f64, but is f32");
  EXPECT_ERROR(call("test.counted_with", 1, x), "[test.counted_with]", "'x'", "must be a tensor");
  EXPECT_ERROR(call("test.counted", x.expand({3})), "[test.counted]", "share memory");
  EXPECT_EQ(values(x), (Values{2}));
}

TEST_F(ForeignOps, ReportErrorsOfTheirCallback) {
  Tensor x = leaf({1, 2});
  const Tensor y = scaled_square(x, -1);
  EXPECT_ERROR(y.sum().backward(), "[test.scaled_square]", "scale is negative");
}

}  // namespace
}  // namespace tenon::testing
