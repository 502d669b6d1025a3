// Indexing, compared with what NumPy gives for the same expression.
#include <gtest/gtest.h>

#include "observed.hpp"
#include "tenon/tenon.hpp"

namespace tenon {
namespace {

using tenon::test::error_of;
using Ints = std::vector<int64_t>;
Ints shape_of(const Tensor& x) { return {x.shape().begin(), x.shape().end()}; }
Ints values(const Tensor& x) { return x.to_vector<int64_t>(); }
Tensor grid() { return arange(24).reshape({2, 3, 4}); }

TEST(Index, IntegersAndSlicesAreViews) {
  const Tensor x = grid();
  EXPECT_EQ(shape_of(x[0]), (Ints{3, 4}));
  EXPECT_TRUE(x[0].shares_storage(x));
  EXPECT_EQ((x[{1, 2, 3}].item<int>()), 23);
  EXPECT_EQ((x[{-1, -1, -1}].item<int>()), 23);
  EXPECT_EQ((values(x[{0, Slice(1, 3), 2}])), (Ints{6, 10}));
  EXPECT_EQ((values(x[{0, 0, Slice(None, None, 2)}])), (Ints{0, 2}));
  EXPECT_EQ((values(x[{0, 0, Slice(-2, None)}])), (Ints{2, 3}));
  EXPECT_EQ((values(x[{0, 0, Slice(2)}])), (Ints{0, 1}));
  EXPECT_EQ((shape_of(x[{Slice(), Slice(5, 2)}])), (Ints{2, 0, 4}));
  EXPECT_EQ((values(x[{Ellipsis, 0}])), (Ints{0, 4, 8, 12, 16, 20}));
  EXPECT_EQ((shape_of(x[{None, Ellipsis, None}])), (Ints{1, 2, 3, 4, 1}));
  EXPECT_EQ((shape_of(x[{Slice(), NewAxis, 0}])), (Ints{2, 1, 4}));
  EXPECT_EQ(shape_of(x[Ellipsis]), (Ints{2, 3, 4}));
}

TEST(Index, Errors) {
  const Tensor x = grid();
  EXPECT_NE(error_of([&] { x[{0, 0, 0, 0}]; }).find("rank 3"), std::string::npos);
  EXPECT_NE(error_of([&] { x[{Ellipsis, Ellipsis}]; }).find("Ellipsis"), std::string::npos);
  EXPECT_NE(error_of([&] { x[5]; }), "");
  EXPECT_NE(error_of([&] { x[tensor({true, false, true})]; }).find("mask"), std::string::npos);
  EXPECT_NE(error_of([&] { x[tensor({0, 7})].sum().item<int>(); }), "");
}

TEST(Index, TensorsPick) {
  const Tensor x = grid();
  EXPECT_EQ(shape_of(x[tensor({1, 0, 1})]), (Ints{3, 3, 4}));
  EXPECT_EQ((values(x[{tensor({0, 1}), tensor({2, 0}), tensor({3, 1})}])), (Ints{11, 13}));
  EXPECT_EQ((values(x[{0, tensor({2, 0}), 1}])), (Ints{9, 1}));
  EXPECT_EQ((shape_of(x[{Slice(), tensor({{0, 1}, {2, 2}}), Slice(0, 1)}])), (Ints{2, 2, 2, 1}));
  EXPECT_EQ(values(x[x > 20]), (Ints{21, 22, 23}));
  EXPECT_EQ((shape_of(x[{Slice(), tensor({true, false, true})}])), (Ints{2, 2, 4}));
  EXPECT_EQ((values(x[{1, x[1] % 5 == 0}])), (Ints{15, 20}));
  EXPECT_EQ((shape_of(x[{tensor({0, 1}), Slice(), tensor({0, 1})}])), (Ints{2, 3}));
}

TEST(Index, AssigningWritesIntoTheTensor) {
  Tensor x = grid();
  x[{Slice(), 0}] = 100;
  EXPECT_EQ((values(x[{1, 0}])), (Ints{100, 100, 100, 100}));
  x[{0, Slice(1, 3), 2}] = tensor({-1, -2});
  EXPECT_EQ((x[{0, 2, 2}].item<int>()), -2);
  x[{1, 1}] = x[{1, 2}];
  EXPECT_EQ((values(x[{1, 1}])), (Ints{20, 21, 22, 23}));
  x[{1, 1, 1}] += tensor(5);
  EXPECT_EQ((x[{1, 1, 1}].item<int>()), 26);
  x[x >= 100] = 0;
  EXPECT_EQ(x.max().item<int>(), 26);
  x[tensor({1})] = 7;
  EXPECT_EQ((x[{1, 2, 3}].item<int>()), 7);
  x[{1, tensor({0, 2})}] *= tensor(2);
  EXPECT_EQ((values(x[{1, Slice(), 0}])), (Ints{14, 7, 14}));
}

TEST(Index, PutAccumulates) {
  Tensor x = zeros({4}, DType::I64);
  x.index_put_({tensor({1, 1, 3})}, tensor({5, 6, 7}, DType::I64), true);
  EXPECT_EQ(values(x), (Ints{0, 11, 0, 7}));
}

TEST(Index, GradientsGoThrough) {
  const Tensor x = tensor({{1.f, 2.f}, {3.f, 4.f}}).requires_grad_();
  x[{0, Slice()}].sum().backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{1, 1, 0, 0}));
  x[tensor({1, 1})].sum().backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{1, 1, 2, 2}));
  Tensor y = x * 1;
  y[{0, 0}] = 5;
  Tensor(x).zero_grad();
  (y * y).sum().backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{0, 4, 6, 8}));
}

TEST(Index, NumbersAreAddedToWhatAnIndexNames) {
  const Tensor x = tensor({{1.f, 2.f}, {3.f, 4.f}});
  x[{Slice(), tensor<int64_t>({1})}] += 10;
  x[0] *= 2;
  x[{1, 0}] -= 0.5;
  x[x > 13] /= 2;
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{2, 12, 2.5, 7}));
}

}  // namespace
}  // namespace tenon
