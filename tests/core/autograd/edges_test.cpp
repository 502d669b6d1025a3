// Gradients where functions have corners, ties and zeros. Expected values are PyTorch 2.15's unless a comment says otherwise.
#include <functional>
#include <limits>

#include "support.hpp"

namespace tenon::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
using Doubles = std::vector<double>;

// The gradient of the sum of fn(x).
Doubles slope(const std::function<Tensor(const Tensor&)>& fn, const Doubles& at,
              OptionalInts shape = {}) {
  Tensor x = tensor(at, shape);
  x.requires_grad_();
  return gradient(sum(fn(x)), x).to_vector<double>();
}

std::vector<Doubles> slopes(const std::function<Tensor(const Tensor&, const Tensor&)>& fn,
                            const Doubles& a, const Doubles& b) {
  Tensor x = tensor(a), y = tensor(b);
  x.requires_grad_();
  y.requires_grad_();
  std::vector<Doubles> out;
  for (const Tensor& g : gradient({sum(fn(x, y))}, {x, y}, {}, {.allow_unused = true}))
    out.push_back(g.defined() ? g.to_vector<double>() : Doubles(a.size(), 0.0));
  return out;
}

void expect_near(const Doubles& found, const Doubles& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(expected[i]))
      EXPECT_TRUE(std::isnan(found[i])) << i << ": " << found[i];
    else if (std::isinf(expected[i]))
      EXPECT_EQ(found[i], expected[i]) << i;
    else
      EXPECT_NEAR(found[i], expected[i], 1e-12) << i;
  }
}

TEST(Edges, Corners) {
  expect_near(slope([](const Tensor& x) { return abs(x); }, {0, -1, 2}), {0, -1, 1});
  expect_near(slope([](const Tensor& x) { return relu(x); }, {0, -1, 1}), {0, 0, 1});
  expect_near(slope([](const Tensor& x) { return leaky_relu(x, 0.1); }, {0, -1, 1}), {0.1, 0.1, 1});
  expect_near(slope([](const Tensor& x) { return clamp(x, 0, 1); }, {-1, 0, 0.5, 1, 2}),
              {0, 0, 1, 0, 0});
  expect_near(slope([](const Tensor& x) { return hardsigmoid(x); }, {-3, 0, 3}), {0, 1.0 / 6, 0});
  expect_near(slope([](const Tensor& x) { return sqrt(x); }, {0, 4}), {kInf, 0.25});
  expect_near(slope(
                  [](const Tensor& x) {
                    return l1_loss(x, tensor({1.0, 1.0}));
                  },
                  {1, 2}),
              {0, 0.5});
  expect_near(slope(
                  [](const Tensor& x) {
                    return smooth_l1_loss(x, tensor({1.0, 1.0}));
                  },
                  {1, 3}),
              {0, 0.5});
}

TEST(Edges, FarOut) {
  expect_near(slope([](const Tensor& x) { return elu(x); }, {0, 1000}), {1, 1});
  expect_near(slope([](const Tensor& x) { return softplus(x); }, {0, 30, -800}), {0.5, 1, 0});
  expect_near(slope([](const Tensor& x) { return log_sigmoid(x); }, {-800, 0, 800}), {1, 0.5, 0});
  expect_near(slope([](const Tensor& x) { return silu(x); }, {-800, 0, 800}), {0, 0.5, 1});
  expect_near(slope([](const Tensor& x) { return gelu(x); }, {-800, 0, 800}), {0, 0.5, 1});
  const auto sums = slopes([](const Tensor& x, const Tensor& y) { return logaddexp(x, y); },
                           {1000, -kInf}, {0, 0});
  expect_near(sums[0], {1, 0});
  expect_near(sums[1], {0, 1});
  // PyTorch gives NaN for a row of −∞; here the gradient is 0.
  expect_near(slope([](const Tensor& x) { return logsumexp(x, 0); }, {-kInf, -kInf}), {0, 0});
  expect_near(slope([](const Tensor& x) { return logsumexp(x, 0); }, {-kInf, 0}), {0, 1});
}

TEST(Edges, Ties) {
  const auto larger =
      slopes([](const Tensor& x, const Tensor& y) { return maximum(x, y); }, {1, 2, 3}, {1, 3, 2});
  expect_near(larger[0], {0.5, 0, 1});
  expect_near(larger[1], {0.5, 1, 0});
  expect_near(slope([](const Tensor& x) { return max(x); }, {3, 1, 3}), {0.5, 0, 0.5});
  const double third = 1.0 / 3;
  expect_near(slope([](const Tensor& x) { return min(x, 1); }, {1, 1, 2, 3, 3, 3}, {2, 3}),
              {0.5, 0.5, 0, third, third, third});
}

TEST(Edges, Norms) {
  const auto of = [](double p) { return [p](const Tensor& x) { return norm(x, p); }; };
  expect_near(slope(of(2), {0, 0}), {0, 0});
  expect_near(slope(of(1), {0, -2}), {0, -1});
  expect_near(slope(of(3), {0, 0}), {0, 0});
  expect_near(slope(of(0.5), {0, 4}), {0, 1});
  expect_near(slope(of(kInf), {2, -2, 1}), {0.5, -0.5, 0});
  expect_near(slope(of(kInf), {0, 0}), {0, 0});
  expect_near(slope(of(0), {0, 4}), {0, 0});
}

TEST(Edges, Powers) {
  const auto to = [](double p) { return [p](const Tensor& x) { return pow(x, p); }; };
  expect_near(slope(to(2), {0, -1}), {0, -2});
  expect_near(slope(to(1), {0, -1}), {1, 1});
  expect_near(slope(to(0.5), {0, 4}), {kInf, 0.25});
  expect_near(slope(to(3), {0, -2}), {0, 12});
  const auto both = slopes([](const Tensor& x, const Tensor& y) { return pow(x, y); },
                           {0, 0, 0, 2, -2}, {0, 1, 2, 0, 2});
  expect_near(both[0], {0, 1, 0, 0, -4});
  expect_near(both[1], {0, 0, 0, std::log(2.0), kNan});
  expect_near(slope([](const Tensor& y) { return pow(0.0, y); }, {0, 1, 2}), {0, 0, 0});
}

TEST(Edges, ProductsWithZeros) {
  expect_near(slope([](const Tensor& x) { return prod(x); }, {0, 2, 3}), {6, 0, 0});
  expect_near(slope([](const Tensor& x) { return prod(x); }, {0, 0, 3}), {0, 0, 0});
  expect_near(slope([](const Tensor& x) { return cumprod(x, 0); }, {2, 0, 3, 0, 4}),
              {1, 8, 0, 0, 0});
}

// d²(x₀x₁x₂)/dxᵢdxⱼ is the third factor, even if two factors are 0.
TEST(Edges, SecondGradientOfAProduct) {
  Tensor x = tensor({0.0, 0.0, 3.0});
  x.requires_grad_();
  const Tensor first = gradient(prod(x), x, {.create_graph = true});
  expect_near(gradient(first.select(0, 0), x).to_vector<double>(), {0, 3, 0});
}

TEST(Edges, Spread) {
  expect_near(slope([](const Tensor& x) { return tenon::std(x); }, {1, 1, 1}), {0, 0, 0});
  expect_near(slope([](const Tensor& x) { return var(x); }, {1}), {kNan});
}

TEST(Edges, Pairs) {
  // PyTorch gives NaN for the gradient of hypot at 0.
  const auto sides =
      slopes([](const Tensor& x, const Tensor& y) { return hypot(x, y); }, {0, 3}, {0, 4});
  expect_near(sides[0], {0, 0.6});
  expect_near(sides[1], {0, 0.8});
  const auto angle = slopes([](const Tensor& y, const Tensor& x) { return atan2(y, x); }, {0}, {0});
  expect_near(angle[0], {0});
  expect_near(angle[1], {0});
  expect_near(
      slopes([](const Tensor& x, const Tensor& y) { return copysign(x, y); }, {0, -3}, {1, 4})[0],
      {0, -1});
}

// A gradient has the dtype of its argument, whatever dtype the op computed in.
TEST(Edges, Dtypes) {
  Tensor half = tensor({1.f, 2.f}).to(DType::BF16).detach(), wide = tensor({3.0, 4.0});
  half.requires_grad_();
  wide.requires_grad_();
  const auto grads = gradient({sum(half * wide + half * 2.5)}, {half, wide});
  EXPECT_EQ(grads[0].dtype(), DType::BF16);
  EXPECT_EQ(grads[1].dtype(), DType::F64);
  Tensor real = tensor({1.0, 2.0}),
         complex = tensor({std::complex(0.0, 1.0), std::complex(2.0, -1.0)});
  real.requires_grad_();
  const Tensor g = gradient(sum(tenon::real(real * complex)), real);
  EXPECT_EQ(g.dtype(), DType::F64);
  expect_near(g.to_vector<double>(), {0, 2});
}

}  // namespace
}  // namespace tenon::testing
