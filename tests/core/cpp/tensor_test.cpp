// The class Tensor: handles, elements, operators, in-place methods, errors.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "observed.hpp"
#include "tenon/tenon.hpp"

namespace tenon {
namespace {

using tenon::test::error_of;
using Floats = std::vector<float>;
Floats floats(const Tensor& x) { return x.to(DType::F32).to_vector<float>(); }

TEST(Tensor, HandlesShareAndMove) {
  Tensor a = tensor({1.f, 2.f});
  const Tensor b = a;
  EXPECT_EQ(a.get(), b.get());
  const Tensor c = std::move(a);
  EXPECT_EQ(c.get(), b.get());
  Tensor d = Tensor::share(c.get());
  tn_tensor* raw = d.take();
  EXPECT_FALSE(d.defined());
  EXPECT_EQ(Tensor::adopt(raw).get(), c.get());
  Tensor& same = d;
  d = same;  // assigning an undefined tensor to itself must do nothing
  EXPECT_FALSE(d.defined());
}

TEST(Tensor, UndefinedIsAnErrorNotACrash) {
  const Tensor none;
  EXPECT_NE(error_of([&] { none.shape(); }), "");
  EXPECT_NE(error_of([&] { none.item<float>(); }), "");
  EXPECT_NE(error_of([&] { none + 1; }).find("add"), std::string::npos);
  EXPECT_NE(error_of([&] { none.backward(); }), "");
  EXPECT_NE(error_of([&] { none[0]; }), "");
  EXPECT_NE(error_of([&] { concat({tensor(1.f), none}); }), "");
}

TEST(Tensor, Elements) {
  const Tensor x = tensor({{1.f, 2.f}, {3.f, 4.f}});
  EXPECT_EQ(x.data<float>()[3], 4);
  EXPECT_NE(error_of([&] { x.data<double>(); }).find("f32"), std::string::npos);
  EXPECT_NE(error_of([&] { x.to_vector<int>(); }).find("cast"), std::string::npos);
  EXPECT_EQ(x.t().to_vector<float>(), (Floats{1, 3, 2, 4}));
  EXPECT_EQ(tensor(2.75).item<float>(), 2.75f);
  EXPECT_EQ(tensor(2.75).item<int>(), 2);
  EXPECT_EQ(tensor(F16(1.5f)).item<double>(), 1.5);
  EXPECT_NE(error_of([&] { x.item<float>(); }).find("4 elements"), std::string::npos);
  EXPECT_NE(error_of([&] { tensor(std::complex<float>(1, 2)).item<float>(); }), "");
  EXPECT_EQ(x.nbytes(), 16u);
  EXPECT_EQ(x.shape(-1), 2);
  EXPECT_NE(error_of([&] { x.shape(2); }).find("rank 2"), std::string::npos);
}

TEST(Tensor, OperatorsTakeNumbersOnEitherSide) {
  const Tensor x = tensor({1.f, 2.f, 4.f});
  EXPECT_EQ(floats(x + 1), (Floats{2, 3, 5}));
  EXPECT_EQ(floats(1 - x), (Floats{0, -1, -3}));
  EXPECT_EQ(floats(x * x), (Floats{1, 4, 16}));
  EXPECT_EQ(floats(4 / x), (Floats{4, 2, 1}));
  EXPECT_EQ(floats(x % 3), (Floats{1, 2, 1}));
  EXPECT_EQ(floats(-x), (Floats{-1, -2, -4}));
  EXPECT_EQ(floats(pow(2, x)), (Floats{2, 4, 16}));
  EXPECT_EQ((x * 2).dtype(), DType::F32);
  EXPECT_EQ((tensor({1, 2}) * 2).dtype(), DType::I32);
  const Tensor n = tensor({6, 3});
  EXPECT_EQ((n & 5).to_vector<int>(), (std::vector<int>{4, 1}));
  EXPECT_EQ((n | 1).to_vector<int>(), (std::vector<int>{7, 3}));
  EXPECT_EQ((n ^ 2).to_vector<int>(), (std::vector<int>{4, 1}));
  EXPECT_EQ((~n).to_vector<int>(), (std::vector<int>{-7, -4}));
  EXPECT_EQ((n << 1).to_vector<int>(), (std::vector<int>{12, 6}));
  EXPECT_EQ((n >> 1).to_vector<int>(), (std::vector<int>{3, 1}));
}

TEST(Tensor, Comparisons) {
  const Tensor x = tensor({1.f, 2.f, 3.f});
  using Bools = std::vector<bool>;
  EXPECT_EQ((x < 2).to_vector<bool>(), (Bools{true, false, false}));
  EXPECT_EQ((x <= 2).to_vector<bool>(), (Bools{true, true, false}));
  EXPECT_EQ((2 < x).to_vector<bool>(), (Bools{false, false, true}));
  EXPECT_EQ((x >= 2).to_vector<bool>(), (Bools{false, true, true}));
  EXPECT_EQ((x == 2).to_vector<bool>(), (Bools{false, true, false}));
  EXPECT_EQ((x != x).to_vector<bool>(), (Bools{false, false, false}));
  EXPECT_EQ((~(x > 2)).to_vector<bool>(), (Bools{true, true, false}));
}

TEST(Tensor, InPlace) {
  Tensor x = tensor({1.f, 2.f});
  const Tensor same = x;
  x += 1;
  x *= x;
  EXPECT_EQ(floats(same), (Floats{4, 9}));
  x.sub_(1).div_(2);
  EXPECT_EQ(floats(same), (Floats{1.5, 4}));
  x.clamp_({}, 2).fill_(3).zero_();
  EXPECT_EQ(floats(same), (Floats{0, 0}));
  x.copy_(tensor(7));
  EXPECT_EQ(floats(same), (Floats{7, 7}));
  x.masked_fill_(tensor({true, false}), -1);
  EXPECT_EQ(floats(same), (Floats{-1, 7}));
  x.relu_();
  EXPECT_EQ(floats(same), (Floats{0, 7}));
  EXPECT_NE(error_of([&] { x += tensor({1.f, 2.f, 3.f}); }), "");
  Tensor integers = tensor({1, 2});
  EXPECT_NE(error_of([&] { integers += 0.5; }), "");
  x.uniform_(2, 3);
  for (float value : floats(x)) EXPECT_TRUE(value >= 2 && value < 3);
}

TEST(Tensor, ViewsAndShapes) {
  const Tensor x = arange(12).reshape({3, 4});
  EXPECT_TRUE(x.view({2, 6}).shares_storage(x));
  EXPECT_NE(error_of([&] { x.t().view({12}); }).find("view"), std::string::npos);
  EXPECT_EQ(x.t().reshape({12})[1].item<int>(), 4);
  EXPECT_EQ(x.mt().shape(0), 4);
  EXPECT_EQ(narrow(x, 1, -2, 2).to_vector<int64_t>(), (std::vector<int64_t>{2, 3, 6, 7, 10, 11}));
  EXPECT_NE(error_of([&] { x.narrow(1, 3, 2); }), "");
  const auto parts = split(x, 3, 1);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[1].shape(1), 1);
  EXPECT_EQ(chunk(x, 2).size(), 2u);
  EXPECT_EQ(unbind(x).size(), 3u);
  EXPECT_EQ(x.flatten().ndim(), 1);
  EXPECT_EQ(x.unsqueeze(0).squeeze(0).ndim(), 2);
  EXPECT_EQ(x.sum({0}).to_vector<int64_t>(), (std::vector<int64_t>{12, 15, 18, 21}));
  EXPECT_EQ(x.sum().item<int>(), 66);
  EXPECT_EQ(x.sum(1, true).shape(1), 1);
  EXPECT_EQ(x.max().item<int>(), 11);
  EXPECT_EQ(x.argmax(1).to_vector<int64_t>(), (std::vector<int64_t>{3, 3, 3}));
}

TEST(Tensor, FunctionsOfLists) {
  const Tensor x = tensor({1.f, 2.f}), y = tensor({3.f, 4.f});
  EXPECT_EQ(floats(concat({x, y})), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(stack({x, y}, 1).to_vector<float>(), (Floats{1, 3, 2, 4}));
  EXPECT_EQ(floats(where(x > 1, x, 0)), (Floats{0, 2}));
  EXPECT_EQ(einsum("i,i->", {x, y}).item<float>(), 11);
  const auto [values, indices] = topk(tensor({3.f, 9.f, 5.f}), 2);
  EXPECT_EQ(floats(values), (Floats{9, 5}));
  EXPECT_EQ(indices.to_vector<int64_t>(), (std::vector<int64_t>{1, 2}));
}

TEST(Tensor, OpsAreMethods) {
  const Tensor x = tensor({{3.f, 9.f, 5.f}, {1.f, 2.f, 4.f}});
  const auto [values, indices] = x.topk(2);
  EXPECT_EQ(floats(values), (Floats{9, 5, 4, 2}));
  EXPECT_EQ(indices.to_vector<int64_t>(), (std::vector<int64_t>{1, 2, 2, 1}));
  EXPECT_EQ(floats(x.sort(1, true).values), (Floats{9, 5, 3, 4, 2, 1}));
  EXPECT_EQ(floats(x.add(1).sub(x).mul(4).div(x)), floats(4 / x));
  EXPECT_EQ(floats(x.masked_select(x > 4)), (Floats{9, 5}));
  EXPECT_EQ(floats(x.tril()), (Floats{3, 0, 0, 1, 2, 0}));
  EXPECT_FLOAT_EQ(x[0].std().item<float>(), x[0].var().sqrt().item<float>());
  EXPECT_TRUE(x.less(x + 1).all().item<bool>());
  EXPECT_EQ(floats(x.lerp(x + 2, 0.5)), floats(x + 1));
}

TEST(Tensor, OpsThatWriteIntoTheirTensorHaveAnUnderscore) {
  Tensor x = tensor({4.f, 9.f, 16.f});
  const Tensor same = x;
  x.sqrt_().add_(1).pow_(2);
  EXPECT_EQ(floats(same), (Floats{9, 16, 25}));
  x.scatter_add_(0, tensor<int64_t>({0, 0, 2}), tensor({1.f, 2.f, 3.f}));
  EXPECT_EQ(floats(same), (Floats{12, 16, 28}));
  x.addcmul_(x, x, -1).clamp_(-200, 0);
  EXPECT_EQ(floats(same), (Floats{-132, -200, -200}));
  Tensor w = tensor({1.f, 2.f}).requires_grad_();
  Tensor y = w * 3;
  y.exp_();
  y.sum().backward();
  EXPECT_FLOAT_EQ(w.grad()[0].item<float>(), 3 * std::exp(3.f));
}

TEST(Tensor, ItemConvertsAsCastDoes) {
  EXPECT_EQ(tensor(1e20f).item<int32_t>(), INT32_MAX);
  EXPECT_EQ(tensor(-1.f).item<uint8_t>(), 0);
  EXPECT_EQ(tensor(NAN).item<int64_t>(), 0);
  EXPECT_EQ(tensor(2.5).item<std::complex<float>>(), std::complex<float>(2.5f));
  EXPECT_NE(error_of([] { tensor(std::complex<float>(1, 2)).item<float>(); }).find("[item]"),
            std::string::npos);
}

TEST(Tensor, CloseWithinTolerance) {
  const Tensor x = tensor({1.f, 1e-9f, INFINITY, NAN, -INFINITY});
  const Tensor y = tensor({1.000001f, 0.f, INFINITY, NAN, INFINITY}).requires_grad_();
  EXPECT_EQ(isclose(x, y).to_vector<bool>(), (std::vector<bool>{true, true, true, false, false}));
  EXPECT_EQ(x.isclose(y, 0, 1e-8, true).to_vector<bool>(),
            (std::vector<bool>{false, true, true, true, false}));
  EXPECT_TRUE(allclose(zeros({2, 3}), tensor(1e-9f)));
  EXPECT_TRUE(allclose(tensor({100, -7}), tensor({101, -7}), 0, 1));
  EXPECT_FALSE(allclose(tensor({true}), tensor({false})));
  EXPECT_TRUE(allclose(tensor(std::complex<float>(1, 2)), tensor(std::complex<float>(1, 2))));
  EXPECT_NE(error_of([] { allclose(tensor({1}), tensor({1.f})); }).find("i32 and f32"),
            std::string::npos);
  EXPECT_NE(error_of([] { allclose(tensor({1.f}), tensor({1.f}), -1); }).find("negative"),
            std::string::npos);
  EXPECT_NE(error_of([] { allclose(tensor({1.f, 2.f}), tensor({1.f, 2.f, 3.f})); }), "");
}

TEST(Tensor, DevicesAndDtypes) {
  const Tensor x = tensor({1.f});
  EXPECT_EQ(x.device(), Device("cpu"));
  EXPECT_EQ(x.device().id(), "cpu:0");
  EXPECT_EQ(x.to(Device("cpu")).get() != nullptr, true);
  EXPECT_NE(error_of([] { Device("nonesuch"); }).find("nonesuch"), std::string::npos);
  EXPECT_NE(error_of([] { Device().info(); }), "");
  EXPECT_GT(Device("cpu").info().memory_total, 0u);
  const uint64_t before = Device("cpu").memory().used;
  const Tensor big = empty({1 << 20});
  EXPECT_GE(Device("cpu").memory().used, before + (4u << 20));
  std::string why;
  EXPECT_TRUE(best_device(&why).defined());
  EXPECT_NE(why, "");
  EXPECT_FALSE(devices().empty());
  EXPECT_EQ(find_dtype("float32"), DType::F32);
  EXPECT_EQ(promote(DType::I32, DType::F16), DType::F16);
  std::ostringstream text;
  text << x << x.dtype() << x.device();
  EXPECT_EQ(text.str(), "[1.]f32cpu:0");
}

}  // namespace
}  // namespace tenon
