// Writing in place: versions, the histories of views and their bases, and what is refused.
#include "support.hpp"

namespace tenon::testing {
namespace {

TEST(InPlace, TheHistoryGoesOn) {
  Tensor x = leaf({1, 2});
  Tensor y = x * 3;
  const uint32_t version = y.version();
  y.mul_(x);  // 3x², whose gradient needs the old 3x
  EXPECT_GT(y.version(), version);
  EXPECT_EQ(y.grad_fn_name(), "mul");
  y.sum().backward();
  EXPECT_EQ(grad_of(x), (Values{6, 12})) << "what was overwritten was kept";
  x.zero_grad();
  y = x * 3;
  y.add_(x);
  y.mul_(2);
  y.sum().backward();
  EXPECT_EQ(grad_of(x), (Values{8, 8}));
}

TEST(InPlace, APlainTensorGetsAHistory) {
  Tensor x = leaf({1, 2});
  Tensor y = tensor({10.f, 20.f});
  y.add_(x * x);
  EXPECT_TRUE(y.requires_grad());
  EXPECT_FALSE(y.is_leaf());
  y.sum().backward();
  EXPECT_EQ(grad_of(x), (Values{2, 4}));
}

TEST(InPlace, OverwritingLeavesTheTensorInItsGraph) {
  Tensor x = leaf({1, 2});
  Tensor y = x * 2;
  y.zero_();
  EXPECT_TRUE(y.requires_grad());
  EXPECT_FALSE(y.is_leaf());
  (y * x).sum().backward();
  EXPECT_EQ(grad_of(x), (Values{0, 0}));
  {
    const NoGrad no_grad;
    y.fill_(7);
  }
  EXPECT_TRUE(y.requires_grad()) << "what is not recorded changes no history";
  y = x * 2;
  y.copy_(x * x);
  y.sum().backward();
  EXPECT_EQ(grad_of(x), (Values{2, 4}));
}

TEST(InPlace, SavedTensorsAreWatched) {
  Tensor x = leaf({1, 2}), w = tensor({3.f, 4.f});
  const Tensor y = (x * w).sum();
  const uint32_t saved_at = w.version();
  w.add_(1);
  w.add_(1);
  EXPECT_ERROR(y.backward(),
               "[mul] a tensor needed for the gradient was changed in place after it was saved",
               "version " + std::to_string(saved_at + 2), "saved at " + std::to_string(saved_at));
  const Tensor e = exp(x);
  e.detach().zero_();
  EXPECT_ERROR(e.sum().backward(), "[exp]", "changed in place");
  Tensor unsaved = x * 2;
  unsaved.mul_(3);  // a product with a number saves nothing
  unsaved.sum().backward();
  EXPECT_EQ(grad_of(x), (Values{6, 6}));
}

TEST(InPlace, OpsMadeOfOthers) {
  Tensor x = leaf({1, 2});
  Tensor y = x * 2;
  const tn_value args[] = {detail::value(y), detail::value(x), detail::value(x)};
  tn_tensor* const outs[] = {y.get()};
  detail::check(
      tn_op_call_into(tn_op_find({"lerp", 4}), args, 3, outs, 1));  // 2x + x·(x − 2x) = 2x − x²
  EXPECT_EQ(values(y), (Values{1, 0}));
  y.sum().backward();
  EXPECT_EQ(grad_of(x), (Values{0, -2}));
  x.zero_grad();
  y = x * 2;
  y.masked_fill_(tensor({true, false}), 7.f);
  y.sum().backward();
  EXPECT_EQ(grad_of(x), (Values{0, 2}));
}

TEST(InPlace, OverwritingThroughAViewDropsGradients) {
  Tensor x = leaf({1, 2, 3});
  Tensor y = x * 1;
  Tensor head = y.slice(0, 0, 2);
  head.mul_(y.slice(0, 1, 3));
  EXPECT_ERROR(y.sum().backward(), "[mul]", "changed in place");
}

TEST(InPlace, ResultsOfInPlaceOpsAreSavedAfterwards) {
  Tensor x = leaf({-1, 2});
  Tensor y = x * 1;
  y.relu_();
  (y * 5).sum().backward();
  EXPECT_EQ(grad_of(x), (Values{0, 5}));
}

TEST(InPlace, LeavesAreRefused) {
  Tensor x = leaf({1, 2});
  EXPECT_ERROR(x.add_(1), "[add] a leaf that requires a gradient");
  EXPECT_ERROR(x.slice(0, 0, 1).zero_(), "a view of a leaf that requires a gradient");
  {
    NoGrad guard;
    x.add_(1);
    x.slice(0, 0, 1).zero_();
  }
  EXPECT_EQ(values(x), (Values{0, 3}));
  EXPECT_TRUE(x.is_leaf());
  (x * x).sum().backward();
  EXPECT_EQ(grad_of(x), (Values{0, 6}));
}

TEST(InPlace, OverlappingElementsAreRefused) {
  Tensor x = tensor({1.f}).expand({3});
  EXPECT_ERROR(x.add_(1), "[add]", "share memory");
}

// ---- Views -------------------------------------------------------------------------------------

TEST(Views, GradientsReachTheBase) {
  Tensor x = tensor({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}}).requires_grad_();
  const Tensor w = tensor({1.f, 10.f});
  (x.t().slice(0, 1, 3) * w).sum().backward();
  EXPECT_EQ(grad_of(x), (Values{0, 1, 1, 0, 10, 10}));
  EXPECT_TRUE(x.grad().is_contiguous());
  x.zero_grad();
  x.flip({1}).select(1, 0).reshape({2, 1}).expand({2, 4}).sum().backward();
  EXPECT_EQ(grad_of(x), (Values{0, 0, 4, 0, 0, 4}));
}

TEST(Views, AWriteToAViewReachesTheBase) {
  Tensor x = leaf({1, 2, 3, 4});
  Tensor y = x * 2;  // 2, 4, 6, 8
  Tensor middle = y.slice(0, 1, 3);
  middle.mul_(10);  // 2, 40, 60, 8
  EXPECT_EQ(values(y), (Values{2, 40, 60, 8}));
  (y * tensor({1.f, 2.f, 3.f, 4.f})).sum().backward();
  EXPECT_EQ(grad_of(x), (Values{2, 40, 60, 8}));
}

TEST(Views, AWriteToAViewKeepsItsOwnHistory) {
  Tensor x = leaf({1, 2, 3, 4}), w = leaf({5, 6});
  Tensor y = x * 1;
  Tensor middle = y.slice(0, 1, 3);
  middle.copy_(w * 2);
  (middle * 3).sum().backward({}, true);
  EXPECT_EQ(grad_of(w), (Values{6, 6}));
  EXPECT_FALSE(x.grad().defined() && grad_of(x) != (Values{0, 0, 0, 0}));
  w.zero_grad(), x.zero_grad();
  y.sum().backward();
  EXPECT_EQ(grad_of(w), (Values{2, 2}));
  EXPECT_EQ(grad_of(x), (Values{1, 0, 0, 1}));
}

TEST(Views, AWriteToTheBaseReachesItsViews) {
  Tensor x = leaf({1, 2, 3, 4});
  Tensor y = x * 1;
  const Tensor first = y.slice(0, 0, 2), reversed = y.flip({0}),
               wide = y.reshape({4, 1}).expand({4, 3});
  y.mul_(5);
  EXPECT_EQ(values(first), (Values{5, 10}));
  EXPECT_EQ(values(gradient((first * tensor({1.f, 2.f})).sum(), x, {.retain_graph = true})),
            (Values{5, 10, 0, 0}));
  EXPECT_EQ(
      values(gradient((reversed * tensor({1.f, 2.f, 3.f, 4.f})).sum(), x, {.retain_graph = true})),
      (Values{20, 15, 10, 5}));
  EXPECT_EQ(values(gradient(wide.sum(), x)), (Values{15, 15, 15, 15}));
}

TEST(Views, ViewsSeeEachOthersWrites) {
  Tensor x = leaf({1, 2, 3, 4});
  Tensor y = x * 1;
  Tensor head = y.slice(0, 0, 3);
  const Tensor tail = y.slice(0, 1, 4);
  head.mul_(10);
  EXPECT_EQ(values(gradient(tail.sum(), x)), (Values{0, 10, 10, 1}));
}

TEST(Views, FillingAPlainTensorRowByRow) {
  Tensor x = leaf({1, 2, 3});
  Tensor out = zeros({3, 2});
  for (int64_t i = 0; i < 3; ++i) {
    Tensor row = out.select(0, i);
    row.copy_((x.slice(0, i, i + 1) * static_cast<float>(i + 1)).expand({2}));
  }
  EXPECT_TRUE(out.requires_grad());
  EXPECT_EQ(values(out), (Values{1, 1, 4, 4, 9, 9}));
  out.sum().backward();
  EXPECT_EQ(grad_of(x), (Values{2, 4, 6}));
}

TEST(Views, PlainViewsOfAPlainBaseFollowIt) {
  Tensor x = leaf({1, 2});
  Tensor y = zeros({2, 2});
  const Tensor column = y.select(1, 0);
  EXPECT_FALSE(column.requires_grad());
  y.add_(x.unsqueeze(1) * 3);
  EXPECT_TRUE(column.requires_grad());
  EXPECT_FALSE(column.is_leaf());
  column.sum().backward();
  EXPECT_EQ(grad_of(x), (Values{3, 3}));
  y.zero_();
  EXPECT_TRUE(column.requires_grad());
  EXPECT_EQ(values(gradient(column.sum(), x)), (Values{0, 0}));
}

TEST(Views, WritingConstantsToAViewCutsItsGradient) {
  Tensor x = leaf({1, 2, 3});
  Tensor y = x * 2;
  y.slice(0, 0, 1).fill_(7);
  y.sum().backward();
  EXPECT_EQ(grad_of(x), (Values{0, 2, 2}));
}

TEST(Views, OfABaseThatIsNotRowMajor) {
  Tensor x = leaf({1, 2});
  Values memory{1, 2, 3, 4, 5, 6};
  Tensor base = from_blob(memory.data(), DType::F32, {2, 2}, {1, 3});  // 1 4 / 2 5
  Tensor row = base.select(0, 1);
  row.mul_(x);  // the second row, times x
  EXPECT_EQ(values(base), (Values{1, 4, 2, 10}));
  const Tensor column = base.select(1, 1);
  EXPECT_EQ(
      values(gradient((base * tensor({{1.f, 2.f}, {3.f, 4.f}})).sum(), x, {.retain_graph = true})),
      (Values{3 * 2, 4 * 5}));
  base.mul_(10);
  EXPECT_EQ(values(gradient(column.sum(), x)), (Values{0, 50}));
}

TEST(Views, SecondGradientsGoThrough) {
  Tensor x = leaf({1, 2, 3});
  Tensor y = x * x;
  y.slice(0, 0, 2).mul_(3);                                                 // 3x², 3x², x²
  const Tensor first = gradient((y * y).sum(), x, {.create_graph = true});  // 36x³, 36x³, 4x³
  EXPECT_EQ(values(first), (Values{36, 288, 108}));
  EXPECT_EQ(values(gradient(first.sum(), x)), (Values{108, 432, 108}));
}

TEST(Views, MadeWithoutRecordingCannotBeWrittenWithIt) {
  Tensor x = leaf({1, 2});
  Tensor y = zeros({2, 2}), row;
  {
    NoGrad guard;
    row = y.select(0, 0);
  }
  EXPECT_ERROR(row.add_(x), "[add]", "made with recording off");
  row.add_(1);  // not recorded, so it is allowed
  Tensor only;
  {
    NoGrad guard;
    only = zeros({2, 2}).select(0, 0);
  }
  only.add_(x);  // nothing else sees these elements
  EXPECT_TRUE(only.requires_grad());
}

TEST(Views, DetachedAliasesShareVersions) {
  Tensor x = leaf({1, 2});
  const Tensor y = x * 2;
  Tensor cut = y.detach();
  const Tensor z = (y * y).sum();
  cut.add_(1);
  EXPECT_EQ(y.version(), cut.version());
  EXPECT_ERROR(z.backward(), "[mul]", "changed in place");
}

TEST(Views, AViewMayBecomeALeaf) {
  Tensor base = zeros({4});
  Tensor part = base.slice(0, 0, 2);
  part.requires_grad_();
  EXPECT_TRUE(part.is_leaf());
  (part * 3).sum().backward();
  EXPECT_EQ(grad_of(part), (Values{3, 3}));
  EXPECT_FALSE(base.requires_grad());
}

TEST(Views, IndexedAssignment) {
  Tensor x = leaf({1, 2});
  Tensor y = zeros({3, 2});
  y[1] = x * 4;
  Tensor column = y[{Slice(), 0}];
  column *= 2;
  EXPECT_EQ(values(y), (Values{0, 0, 8, 8, 0, 0}));
  y.sum().backward();
  EXPECT_EQ(grad_of(x), (Values{8, 4}));
}

}  // namespace
}  // namespace tenon::testing
