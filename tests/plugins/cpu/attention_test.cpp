// attention at sizes that the conformance suite does not use.
#include "reference.hpp"

namespace {

using namespace reference;
using tenon::Tensor;

// With a loop over heads, these would take minutes.
TEST(Attention, WithoutTokensAnyNumberOfHeadsCostsNothing) {
  const Shape shape{int64_t{1} << 31, 2, 0, 3};
  Tensor x = tenon::zeros(shape);
  x.requires_grad_();
  tenon::attention(x, x, x).y.sum().backward();
  EXPECT_EQ(shape_of(x.grad()), shape);
}

}  // namespace
