// backward() and gradient(): which gradients arrive where, and what is refused.
#include <functional>

#include "support.hpp"

namespace tenon::testing {
namespace {

TEST(Backward, ProductAndSum) {
  Tensor x = leaf({1, 2, 3}), w = leaf({4, 5, 6});
  (x * w).sum().backward();
  EXPECT_EQ(grad_of(x), (Values{4, 5, 6}));
  EXPECT_EQ(grad_of(w), (Values{1, 2, 3}));
}

TEST(Backward, LeavesAccumulateOverRuns) {
  Tensor x = leaf({1, 2});
  (x * 3).sum().backward();
  const Tensor held = x.grad();
  (x * x).sum().backward();
  EXPECT_EQ(grad_of(x), (Values{5, 7}));
  EXPECT_EQ(values(held), (Values{5, 7})) << "the gradient stays the tensor that was handed out";
  x.zero_grad();
  EXPECT_FALSE(x.grad().defined());
}

TEST(Backward, EveryUseOfATensorCounts) {
  Tensor x = leaf({2});
  const Tensor y = x * x;      // 2x
  const Tensor z = y * y + y;  // (2y + 1)·2x
  (z + z + x).sum().backward();
  EXPECT_EQ(grad_of(x), (Values{2 * (2 * 4 + 1) * 2 * 2 + 1}));
}

TEST(Backward, ManyGradientsOfOneTensorAreSummed) {
  Tensor x = leaf({1, 1});
  const Tensor y = x * 2;
  std::vector<Tensor> terms;
  Tensor sum = y;
  for (int i = 1; i < 10; ++i) sum = sum + y * i;
  sum.sum().backward();
  EXPECT_EQ(grad_of(x), (Values{92, 92}));
}

TEST(Backward, SumsOverBroadcastDimensions) {
  Tensor row = leaf({1, 2, 3}), column = tensor({{10.f}, {20.f}}).requires_grad_(),
         scalar = tensor(2.f).requires_grad_();
  (row * column * scalar).sum().backward();
  EXPECT_EQ(grad_of(row), (Values{60, 60, 60}));
  EXPECT_EQ(grad_of(column), (Values{12, 12}));
  EXPECT_EQ(column.grad().shape().size(), 2u);
  EXPECT_EQ(grad_of(scalar), (Values{180}));
  EXPECT_EQ(scalar.grad().ndim(), 0);
}

TEST(Backward, GradientsHaveTheDtypeOfTheirTensor) {
  Tensor x = leaf({1, 2});
  Tensor y = tensor({3.0, 4.0}).requires_grad_();
  (x * y).sum().backward();
  EXPECT_EQ(x.grad().dtype(), DType::F32);
  EXPECT_EQ(y.grad().dtype(), DType::F64);
  EXPECT_EQ(grad_of(x), (Values{3, 4}));
  Tensor h = leaf({1, 2}).detach().to(DType::F16).requires_grad_();
  (h.to(DType::F32) * x.detach()).sum().backward();
  EXPECT_EQ(h.grad().dtype(), DType::F16);
}

TEST(Backward, ARealTensorTakesTheRealPart) {
  using C = std::complex<float>;
  Tensor x = leaf({1, 2});
  const Tensor z = tensor({C{3, 4}, C{5, 6}});
  const Tensor y = x * z;
  ASSERT_EQ(y.dtype(), DType::C64);
  y.backward(tensor({C{1, 0}, C{0, 1}}));
  // conj(z)·g: 3−4i and (5−6i)·i = 6+5i
  EXPECT_EQ(grad_of(x), (Values{3, 6}));
}

TEST(Backward, ComplexGradientsAreConjugated) {
  using C = std::complex<float>;
  Tensor z = tensor({C{1, 2}}).requires_grad_();
  (z * z).backward(tensor({C{1, 0}}));
  EXPECT_EQ(z.grad().to_vector<C>(), (std::vector<C>{{2, -4}}));
}

TEST(Backward, SeveralOutputsAtOnce) {
  Tensor x = leaf({1, 2});
  const Tensor a = x * 2, b = (x * x).sum();
  backward({a, b, b}, {tensor({1.f, 10.f}), Tensor(), Tensor()});
  EXPECT_EQ(grad_of(x), (Values{2 + 4, 20 + 8}));
}

TEST(Backward, AnOutputMayBeALeaf) {
  Tensor x = tensor(3.f).requires_grad_();
  x.backward();
  EXPECT_EQ(grad_of(x), (Values{1}));
}

TEST(Backward, OnlyOneOfSeveralResultsIsUsed) {
  Tensor x = leaf({3, 1, 2});
  auto [sorted, order] = sort(x, 0);
  EXPECT_TRUE(sorted.requires_grad());
  EXPECT_FALSE(order.requires_grad());
  (sorted * tensor({1.f, 10.f, 100.f})).sum().backward();
  EXPECT_EQ(grad_of(x), (Values{100, 1, 10}));
}

TEST(Backward, IntegerResultsHaveNoHistory) {
  const Tensor x = leaf({1.5f, 2.5f});
  EXPECT_FALSE(x.to(DType::I32).requires_grad());
  EXPECT_FALSE((x > 2).requires_grad());
  EXPECT_TRUE(x.to(DType::F64).requires_grad());
}

TEST(Backward, ZeroGradientsReachTheLeaf) {
  for (const auto& step : std::vector<std::function<Tensor(const Tensor&)>>{
           [](const Tensor& x) { return sign(x); }, [](const Tensor& x) { return floor(x); },
           [](const Tensor& x) { return pow(x, 0); },
           [](const Tensor& x) { return floor_divide(x, 3); }}) {
    Tensor x = leaf({1, -2});
    step(x).sum().backward();
    EXPECT_EQ(grad_of(x), (Values{0, 0}));
  }
}

TEST(Backward, TheLeafDoesNotShareTheGivenGradient) {
  Tensor x = leaf({1, 2});
  Tensor given = tensor({5.f, 6.f});
  (x + 1).backward(given);
  given.zero_();
  EXPECT_EQ(grad_of(x), (Values{5, 6}));
  Tensor a = leaf({1, 2}), b = leaf({1, 2});
  (a + b).sum().backward();
  a.grad().mul_(3);
  EXPECT_EQ(grad_of(b), (Values{1, 1}));
}

TEST(Backward, Errors) {
  const Tensor x = leaf({1, 2});
  EXPECT_ERROR(x.detach().sum().backward(), "[backward]", "output 0", "requires no gradient");
  EXPECT_ERROR((x * 2).backward(), "[backward]", "shape (2,)", "gradient must be given");
  EXPECT_ERROR((x * 2).backward(tensor({1.f})), "[backward]", "f32(1,)@cpu", "f32(2,)@cpu");
  EXPECT_ERROR((x * 2).backward(tensor({1.0, 1.0})), "[backward]", "f64(2,)@cpu");
  const Tensor z = x.detach().to(DType::C64).requires_grad_();
  EXPECT_ERROR(z.sum().backward(), "[backward]", "complex");
  EXPECT_ERROR(detail::check(tn_backward(nullptr, 1, nullptr, 0)), "[tn_backward]", "'outputs'");
  tn_tensor* const none[] = {nullptr};
  EXPECT_ERROR(detail::check(tn_backward(none, 1, nullptr, 0)), "[backward]", "null handle");
  EXPECT_EQ(tn_backward(nullptr, 0, nullptr, 0), nullptr);
}

TEST(Backward, ASecondRunNeedsTheGraph) {
  Tensor x = leaf({1, 2});
  const Tensor y = (x * x).sum();
  y.backward({}, true);
  y.backward();
  EXPECT_EQ(grad_of(x), (Values{4, 8}));
  EXPECT_ERROR(y.backward(), "[mul]", "freed", "retain_graph");
  const Tensor linear = (x + 1).sum();
  linear.backward();
  linear.backward();  // nothing was saved, so nothing is missing
  EXPECT_EQ(grad_of(x), (Values{6, 10}));
}

TEST(Backward, AFailedRunLeavesNothingBehind) {
  Tensor x = leaf({1, 2});
  const Tensor y = x * 2;
  Lambda fails{[](const Tensor&) -> Tensor { throw Error(TN_CANCELLED, "[lambda] no"); }};
  const Tensor z = y.detach();
  fails.record(y, z);
  EXPECT_ERROR((z * 1).sum().backward(), "[lambda] no");
  EXPECT_TRUE(is_grad_enabled());
  (x * 2).sum().backward();
  EXPECT_EQ(grad_of(x), (Values{2, 2}));
}

// ---- gradient() --------------------------------------------------------------------------------

TEST(Gradient, OfLeavesAndIntermediateTensors) {
  Tensor x = leaf({1, 2});
  const Tensor y = x * x, z = (y * 3).sum();
  const auto found = gradient({z}, {x, y, z, x});
  EXPECT_EQ(values(found[0]), (Values{6, 12}));
  EXPECT_EQ(values(found[1]), (Values{3, 3}));
  EXPECT_EQ(values(found[2]), (Values{1}));
  EXPECT_EQ(values(found[3]), (Values{6, 12}));
  EXPECT_FALSE(x.grad().defined());
}

TEST(Gradient, ComputesOnlyWhatIsAsked) {
  Tensor x = leaf({1, 2}), w = leaf({3, 4});
  int calls = 0;
  Lambda counted{[&](const Tensor& g) {
    ++calls;
    return g;
  }};
  const Tensor deep = w.detach();
  counted.record(w, deep);
  const Tensor z = (x * deep).sum();
  EXPECT_EQ(values(gradient(z, x, {.retain_graph = true})), (Values{3, 4}));
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(values(gradient(z, deep, {.retain_graph = true})), (Values{1, 2}));
  EXPECT_EQ(calls, 0) << "the node of an input that was asked for need not run";
  EXPECT_EQ(values(gradient(z, w)), (Values{1, 2}));
  EXPECT_EQ(calls, 1);
}

TEST(Gradient, UnusedInputs) {
  Tensor x = leaf({1}), other = leaf({1});
  const Tensor y = (x * 2).sum();
  EXPECT_ERROR(gradient({y}, {x, other}, {}, {.retain_graph = true}), "[gradient]", "input 1",
               "allow_unused");
  const auto found = gradient({y}, {x, other}, {}, {.allow_unused = true});
  EXPECT_EQ(values(found[0]), (Values{2}));
  EXPECT_FALSE(found[1].defined());
  EXPECT_ERROR(gradient(y, tensor({1.f})), "[gradient]", "input 0 requires no gradient");
}

TEST(Gradient, OldInputsOfLargeGraphs) {
  Tensor x = leaf({1}), late = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 1000; ++i) y = y + late;
  EXPECT_EQ(values(gradient(y.sum(), x)), (Values{1}));
  EXPECT_EQ(values(gradient(y.sum(), late)), (Values{1000}));
}

TEST(Gradient, OfGradients) {
  Tensor x = leaf({2, 3});
  const Tensor y = (x * x * x).sum();
  const Tensor first = gradient(y, x, {.create_graph = true});
  EXPECT_EQ(values(first), (Values{12, 27}));
  const Tensor second = gradient(first.sum(), x, {.create_graph = true});
  EXPECT_EQ(values(second), (Values{12, 18}));
  EXPECT_EQ(values(gradient(second.sum(), x)), (Values{6, 6}));
}

TEST(Gradient, OfGradientsThroughSavedResults) {
  Tensor x = leaf({0.5f, 1});
  const Tensor y = exp(x);  // saves its result
  const Tensor first = gradient(y.sum(), x, {.create_graph = true});
  const auto second = values(gradient((first * first).sum(), x));
  EXPECT_NEAR(second[0], 2 * std::exp(1.f), 1e-4);
  EXPECT_NEAR(second[1], 2 * std::exp(2.f), 1e-4);
}

TEST(Gradient, OfGradientsAccumulateInLeaves) {
  Tensor x = leaf({3});
  (x * x * x).sum().backward({}, false, true);
  const Tensor first = x.grad();
  EXPECT_TRUE(first.requires_grad());
  x.zero_grad();
  first.sum().backward();
  EXPECT_EQ(grad_of(x), (Values{18}));
}

TEST(Gradient, OfAGivenGradient) {
  Tensor x = leaf({1, 2}), g = leaf({3, 4});
  const auto found = gradient({x * x}, {x}, {g}, {.create_graph = true});
  EXPECT_EQ(values(gradient(found[0].sum(), g)), (Values{2, 4}))
      << "linear in the gradient that was given";
}

// ---- Leaves and modes --------------------------------------------------------------------------

TEST(Leaves, WhoIsOne) {
  Tensor x = tensor({1.f, 2.f});
  EXPECT_TRUE(x.is_leaf());
  EXPECT_FALSE(x.requires_grad());
  x.requires_grad_();
  EXPECT_TRUE(x.is_leaf());
  const Tensor y = x * 2;
  EXPECT_FALSE(y.is_leaf());
  EXPECT_TRUE(y.requires_grad());
  EXPECT_EQ(y.grad_fn_name(), "mul");
  EXPECT_EQ(x.grad_fn_name(), "");
  EXPECT_FALSE(y.grad().defined());
  Tensor cut = y.detach();
  EXPECT_TRUE(cut.is_leaf());
  EXPECT_FALSE(cut.requires_grad());
  EXPECT_TRUE(cut.shares_storage(y));
  x.requires_grad_(false);
  EXPECT_FALSE((x * 2).requires_grad());
}

TEST(Leaves, Errors) {
  Tensor x = leaf({1, 2});
  Tensor y = x * 2;
  EXPECT_ERROR(tensor({1, 2}).requires_grad_(), "[requires_grad]", "i32");
  EXPECT_ERROR(y.requires_grad_(false), "[requires_grad]", "'mul'", "detach");
  y.set_grad(tensor({1.f, 2.f}));  // backward does not read it
  EXPECT_EQ(y.grad().to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_ERROR(x.set_grad(tensor({1.f})), "[set_grad]", "f32(1,)", "f32(2,)");
  EXPECT_ERROR(x.set_grad(tensor({1.0, 2.0})), "[set_grad]", "f64");
  EXPECT_ERROR(x.set_grad(x), "[set_grad]");
  EXPECT_EQ(tn_tensor_requires_grad(nullptr), 0u);
  EXPECT_EQ(tn_tensor_grad(nullptr), nullptr);
  EXPECT_ERROR(detail::check(tn_tensor_set_requires_grad(nullptr, 1)),
               "[tn_tensor_set_requires_grad]");
  EXPECT_ERROR(detail::check(tn_tensor_set_grad(nullptr, nullptr)), "[tn_tensor_set_grad]");
  EXPECT_ERROR(detail::check(tn_tensor_detach(x.get(), nullptr)), "[tn_tensor_detach]");
}

TEST(Leaves, AGradientMayBeGiven) {
  Tensor x = leaf({1, 2});
  x.set_grad(tensor({10.f, 20.f}));
  (x * 3).sum().backward();
  EXPECT_EQ(grad_of(x), (Values{13, 23}));
}

TEST(Modes, NothingIsRecordedWithoutGrad) {
  const Tensor x = leaf({1, 2});
  {
    NoGrad guard;
    EXPECT_FALSE(is_grad_enabled());
    EXPECT_FALSE((x * 2).requires_grad());
    {
      EnableGrad inner;
      EXPECT_TRUE((x * 2).requires_grad());
    }
    EXPECT_FALSE((x * 2).requires_grad());
  }
  EXPECT_TRUE((x * 2).requires_grad());
}

TEST(Modes, OnlyKnownBitsAreSet) {
  const uint32_t before = tn_mode_set(~0u);
  EXPECT_EQ(tn_mode_get(), TN_MODE_GRAD | TN_MODE_INFERENCE | TN_MODE_ANOMALY);
  tn_mode_set(before);
  EXPECT_EQ(tn_mode_get(), before);
}

TEST(Modes, InferenceTensorsJoinNoGraph) {
  const Tensor x = leaf({1, 2});
  Tensor made;
  {
    InferenceMode guard;
    made = x * 2;
    EXPECT_FALSE(made.requires_grad());
    made.add_(1);
  }
  EXPECT_ERROR(x * made, "[mul]", "inference mode", "clone");
  EXPECT_ERROR(made.mul_(x), "[mul]", "inference mode");
  EXPECT_ERROR(made.requires_grad_(), "[requires_grad]", "inference mode");
  EXPECT_TRUE((x + made).requires_grad()) << "nothing of it is saved";
  EXPECT_TRUE((x * made.clone()).requires_grad());
}

}  // namespace
}  // namespace tenon::testing
