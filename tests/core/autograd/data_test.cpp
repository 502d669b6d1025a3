// tn_tensor_set_data: giving a tensor other elements.
#include <gtest/gtest.h>

#include <vector>

#include "support.hpp"

namespace tenon {
namespace {

using Values = std::vector<double>;

Tensor numbers(int64_t n, double first, DType dtype = DType::F32) {
  return (arange(0, n) + first).to(dtype);
}

Values values(const Tensor& x) { return x.detach().to(DType::F64).to_vector<double>(); }

struct Sizes : ::testing::TestWithParam<int64_t> {
  const int64_t n = GetParam();
};
INSTANTIATE_TEST_SUITE_P(InsideTheHeaderAndNot, Sizes, ::testing::Values(4, 1000));

TEST_P(Sizes, AllHoldersSeeThem) {
  Tensor x = numbers(n, 0), same = x;
  for (const DType dtype : {DType::F64, DType::F32, DType::F64}) {
    const Values wanted = values(numbers(n, 5, dtype));
    x.set_data(numbers(n, 5, dtype));
    EXPECT_EQ(same.dtype(), dtype);
    EXPECT_EQ(values(same), wanted);
    EXPECT_EQ(values(same * 1), wanted);
  }
  x.set_data(x);
  EXPECT_EQ(values(x), values(numbers(n, 5)));
  Tensor both = numbers(2 * n, 1).reshape({n, 2});
  x.set_data(both.select(1, 1));  // strides and offset change, too
  EXPECT_FALSE(x.is_contiguous());
  EXPECT_EQ(x[1].item<double>(), 4);
  both.fill_(7);
  EXPECT_EQ(x[1].item<double>(), 7);
}

TEST_P(Sizes, ViewsKeepTheOldElements) {
  for (const bool view_goes_first : {false, true}) {
    Tensor x = numbers(n, 0), view = x.narrow(0, 1, 2);
    x.set_data(numbers(n, 50));
    EXPECT_EQ(values(view), (Values{1, 2}));
    view.fill_(3);
    EXPECT_EQ(x[1].item<double>(), 51);
    (view_goes_first ? view : x) = Tensor();
    const Tensor other = view_goes_first ? x : view;
    EXPECT_EQ(other[1].item<double>(), view_goes_first ? 51 : 3);
  }
}

// A view of a tensor that got other elements has a history of its own.
TEST_P(Sizes, WritesToOldViewsDoNotReachTheTensor) {
  Tensor x = numbers(n, 0), view = x.narrow(0, 1, 2);
  x.set_data(numbers(n, 50));
  const Tensor w = tensor({2., 3.}).to(DType::F32).requires_grad_();
  view.copy_(w);
  EXPECT_TRUE(view.requires_grad());
  EXPECT_FALSE(x.requires_grad());
}

TEST_P(Sizes, WrappedMemoryIsGivenBackOnce) {
  std::vector<float> memory(static_cast<size_t>(n), 1.f);
  int released = 0;
  tn_tensor* made = nullptr;
  detail::check(tn_tensor_wrap_host(
      memory.data(), TN_DTYPE_F32, 1, &n, nullptr, [](void* count) { ++*static_cast<int*>(count); },
      &released, &made));
  Tensor x = Tensor::adopt(made);
  x.set_data(numbers(n, 0));
  EXPECT_EQ(released, 1);
  x = Tensor();
  EXPECT_EQ(released, 1);
}

TEST_P(Sizes, TrackedStoragesKnowThem) {
  Tensor x = numbers(n, 0);
  const Tensor data = numbers(n, 5) * 1;
  detail::check(tn_storage_track(data.get()));
  x.set_data(data);
  detail::check(tn_storage_release(data.get()));
  EXPECT_EQ(tn_tensor_data(x.get()), nullptr);
  x.set_data(numbers(n, 9));
  EXPECT_EQ(x[0].item<double>(), 9);
}

TEST(SetData, ANewDtypeDropsTheGradient) {
  Tensor x = numbers(3, 1).requires_grad_();
  int seen = 0;
  x.register_hook([&](const Tensor&) {
    ++seen;
    return Tensor();
  });
  const Tensor before = sum(x * x);
  x.set_data(numbers(3, 2));  // of the same shape and dtype: it stays the same leaf
  before.backward({}, true);
  EXPECT_EQ(values(x.grad()), (Values{2, 4, 6}));  // from the elements that it had before
  x.set_data(numbers(3, 2, DType::F64));
  EXPECT_TRUE(x.requires_grad());
  EXPECT_FALSE(x.grad().defined());
  before.backward();
  EXPECT_FALSE(x.grad().defined());
  seen = 0;
  sum(x * x).backward();
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(x.grad().dtype(), DType::F64);
  EXPECT_EQ(values(x.grad()), (Values{4, 6, 8}));
}

TEST(SetData, Mistakes) {
  Tensor x = numbers(3, 1).requires_grad_();
  const Tensor data = numbers(3, 2);
  const auto refusal = [](Tensor to, const Tensor& of) {
    return testing::error_of([&] { to.set_data(of); });
  };
  EXPECT_EQ(
      refusal(x * 2, data),
      "[set_data] f32(3,)@cpu:0 is the result of an op: only a leaf that is no view takes other "
      "elements; detach() it");
  EXPECT_NE(refusal(numbers(4, 1).narrow(0, 0, 3), data).find("is a view"), std::string::npos);
  EXPECT_EQ(refusal(x, numbers(4, 1)),
            "[set_data] the elements are f32(4,)@cpu:0, expected shape (3,)");
  EXPECT_EQ(refusal(x, arange(0, 3)),
            "[set_data] elements of dtype i64 have no gradient, which f32(3,)@cpu:0 requires");
  EXPECT_EQ(values(x), (Values{1, 2, 3}));
}

}  // namespace
}  // namespace tenon
