// Ops with a `dim` treat an operand of rank 0 as one of shape (1,), whose only dimension is 0, or -1. The fuzzer (tests/fuzz/) tests the
// same with guard pages around every operand.
#include <gtest/gtest.h>

#include "tenon/tenon.hpp"

namespace {

using tenon::Tensor;

Tensor number(double value) { return tenon::tensor(value); }
Tensor zero_index() { return tenon::tensor(int64_t{0}); }
Tensor zero_indices(int64_t n) {
  return tenon::tensor(std::vector<int64_t>(static_cast<size_t>(n), 0));
}

void expect_number(const Tensor& x, double wanted) {
  ASSERT_EQ(x.ndim(), 0);
  EXPECT_EQ(x.item<double>(), wanted);
}

class Rank0 : public testing::TestWithParam<int64_t> {};

TEST_P(Rank0, GatherReadsTheOneElement) {
  const int64_t dim = GetParam();
  expect_number(gather(number(5), dim, zero_index()), 5);
  const Tensor many = gather(number(5), dim, zero_indices(3));
  ASSERT_EQ(many.ndim(), 1);
  EXPECT_EQ(many.numel(), 3);
  EXPECT_EQ(many.to_vector<double>(), std::vector<double>(3, 5));
  EXPECT_EQ(gather(number(5), dim, zero_indices(0)).numel(), 0);
}

TEST_P(Rank0, ScatterWritesIt) {
  const int64_t dim = GetParam();
  expect_number(scatter(number(5), dim, zero_index(), number(7)), 7);
  expect_number(scatter(number(5), dim, zero_indices(1), number(7)), 7);
  expect_number(scatter_add(number(5), dim, zero_index(), number(7)), 12);
  expect_number(scatter_add(number(5), dim, zero_indices(3), number(7)), 26);
  expect_number(scatter_add(number(5), dim, zero_indices(0), number(7)), 5);
}

TEST_P(Rank0, IndicesSelectAndAdd) {
  const int64_t dim = GetParam();
  expect_number(index_select(number(5), dim, zero_index()), 5);
  expect_number(index_select(number(5), dim, zero_indices(1)), 5);
  EXPECT_THROW(index_select(number(5), dim, zero_indices(2)), tenon::Error);
  expect_number(index_add(number(5), dim, zero_indices(1), number(7)), 12);
}

TEST_P(Rank0, OthersAlongADimension) {
  const int64_t dim = GetParam();
  expect_number(roll(number(5), {3}, {dim}), 5);
  expect_number(cumsum(number(5), dim), 5);
  expect_number(softmax(number(5), dim), 1);
  EXPECT_EQ(argmax(number(5), dim).item<int64_t>(), 0);
  // Where there is nothing to slice, there is no place to put a slice.
  EXPECT_THROW(slice_scatter(number(5), number(7), dim), tenon::Error);
  EXPECT_THROW(slice(number(5), dim, 0, 1), tenon::Error);
}

TEST_P(Rank0, GradientsFlow) {
  const int64_t dim = GetParam();
  Tensor x = number(5), src = number(7);
  x.requires_grad_();
  src.requires_grad_();
  scatter_add(x, dim, zero_index(), src).backward();
  expect_number(x.grad(), 1);
  expect_number(src.grad(), 1);
  Tensor y = number(5);
  y.requires_grad_();
  sum(gather(y, dim, zero_indices(3))).backward();
  expect_number(y.grad(), 3);
  Tensor z = number(5);
  z.requires_grad_();
  index_select(z, dim, zero_indices(1)).backward();
  expect_number(z.grad(), 1);
}

TEST_P(Rank0, IntoAResultThatIsThere) {
  const Tensor x = number(5), index = zero_index(), src = number(7);
  tn_value args[4] = {{TN_VALUE_TENSOR, 0, {}},
                      {TN_VALUE_INT, 0, {}},
                      {TN_VALUE_TENSOR, 0, {}},
                      {TN_VALUE_TENSOR, 0, {}}};
  args[0].as.tensor = x.get();
  args[1].as.i = GetParam();
  args[2].as.tensor = index.get();
  args[3].as.tensor = src.get();
  tn_tensor* onto = x.get();
  const tn_str name{"scatter_add", 11};
  tenon::detail::check(tn_op_call_into(tn_op_find(name), args, 4, &onto, 1));
  expect_number(x, 12);
}

INSTANTIATE_TEST_SUITE_P(Dims, Rank0, testing::Values(0, -1));

TEST(Rank0Bounds, OtherDimensionsAreRefused) {
  for (const int64_t dim : {1, -2, 16, -17})
    EXPECT_THROW(gather(number(5), dim, zero_index()), tenon::Error) << dim;
}

}  // namespace
