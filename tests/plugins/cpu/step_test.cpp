// Optimizer steps, compared with the formulas written out in f64.
#include <functional>
#include <numeric>

#include "ops.hpp"

using namespace testing_ops;

namespace {

// Parameters of several sizes: one is long enough for threads, one is transposed, one is empty.
std::vector<Tensor> make(DType dtype, float scale, float shift) {
  std::vector<Tensor> list;
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{7}, {3, 5}, {40000}, {0, 2}, {}}) {
    std::vector<float> values(static_cast<size_t>(
        std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>())));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = scale * (static_cast<float>(i * 7 % 101) / 50 - 1) + shift;
    list.push_back(tenon::tensor(values, shape, dtype));
  }
  list.push_back(tenon::transpose(tenon::clone(list[1]), 0, 1));
  return list;
}
std::vector<std::vector<double>> numbers(const std::vector<Tensor>& list) {
  std::vector<std::vector<double>> all;
  for (const Tensor& x : list) all.push_back(tenon::cast(x, DType::F64).to_vector<double>());
  return all;
}

// step(p, g, s0, s1, s2) changes all but g. The results of an op over the lists are compared with it.
template <class Run, class Step>
void check(DType dtype, double tolerance, int states, Run run, Step step) {
  std::vector<Tensor> params = make(dtype, 1, 0.1f), grads = make(dtype, 0.5f, -0.2f), state[3];
  for (int s = 0; s < states; ++s) state[s] = make(dtype, 0.1f, 1 + static_cast<float>(s));
  // Gradients in another layout.
  grads.back() =
      tenon::tensor(tenon::cast(grads.back(), DType::F32).to_vector<float>(), {5, 3}, dtype);
  auto p = numbers(params);
  const auto g = numbers(grads);
  std::vector<std::vector<double>> s[3];
  for (int k = 0; k < 3; ++k) s[k] = k < states ? numbers(state[k]) : p;
  run(params, grads, state);
  for (size_t k = 0; k < p.size(); ++k)
    for (size_t i = 0; i < p[k].size(); ++i)
      step(p[k][i], g[k][i], s[0][k][i], s[1][k][i], s[2][k][i]);
  const auto expect = [&](const std::vector<std::vector<double>>& wanted,
                          const std::vector<Tensor>& got) {
    const auto values = numbers(got);
    for (size_t k = 0; k < wanted.size(); ++k)
      for (size_t i = 0; i < wanted[k].size(); ++i)
        ASSERT_NEAR(values[k][i], wanted[k][i], tolerance) << k << " " << i;
  };
  expect(p, params);
  for (int k = 0; k < states; ++k) expect(s[k], state[k]);
}

class Steps : public testing::TestWithParam<std::pair<DType, double>> {};

TEST_P(Steps, Sgd) {
  const auto [dtype, tolerance] = GetParam();
  check(
      dtype, tolerance, 0,
      [](auto& p, auto& g, auto&) { tenon::sgd_step(p, g, {}, 0.1, 0, 0, 0.01); },
      [](double& p, double g, double&, double&, double&) { p -= 0.1 * (g + 0.01 * p); });
  for (bool nesterov : {false, true})
    for (bool first : {false, true})
      check(
          dtype, tolerance, 1,
          [&](auto& p, auto& g, auto& s) {
            tenon::sgd_step(p, g, s[0], 0.1, 0.9, 0.3, 0.01, nesterov, first);
          },
          [&](double& p, double g, double& m, double&, double&) {
            g += 0.01 * p;
            m = first ? g : 0.9 * m + 0.7 * g;
            p -= 0.1 * (nesterov ? g + 0.9 * m : m);
          });
}

TEST_P(Steps, Adam) {
  const auto [dtype, tolerance] = GetParam();
  for (bool decoupled : {false, true})
    for (bool amsgrad : {false, true})
      check(
          dtype, tolerance, amsgrad ? 3 : 2,
          [&](auto& p, auto& g, auto& s) {
            tenon::adam_step(p, g, s[0], s[1], amsgrad ? s[2] : std::vector<Tensor>(), 3, 0.01, 0.9,
                             0.99, 1e-6, 0.1, decoupled);
          },
          [&](double& p, double g, double& m, double& v, double& most) {
            if (decoupled)
              p *= 1 - 0.01 * 0.1;
            else
              g += 0.1 * p;
            m = 0.9 * m + 0.1 * g;
            v = 0.99 * v + 0.01 * g * g;
            most = std::max(most, v);
            const double root = std::sqrt((amsgrad ? most : v) / (1 - std::pow(0.99, 3)));
            p -= 0.01 / (1 - std::pow(0.9, 3)) * m / (root + 1e-6);
          });
}

TEST_P(Steps, RmsProp) {
  const auto [dtype, tolerance] = GetParam();
  for (bool centered : {false, true})
    for (double momentum : {0.0, 0.9})
      check(
          dtype, tolerance, 3,
          [&](auto& p, auto& g, auto& s) {
            // A mean that keeps the variance positive.
            for (Tensor& x : s[1]) x *= 0.1;
            for (Tensor& x : s[1]) x *= centered ? 1.0 : 10.0;
            tenon::rmsprop_step(p, g, s[0], centered ? s[1] : std::vector<Tensor>(),
                                momentum != 0 ? s[2] : std::vector<Tensor>(), 0.01, 0.9, 1e-6, 0.1,
                                momentum);
            for (Tensor& x : s[1]) x *= centered ? 10.0 : 1.0;
          },
          [&](double& p, double g, double& v, double& mean, double& m) {
            g += 0.1 * p;
            v = 0.9 * v + 0.1 * g * g;
            double variance = v;
            if (centered) {
              double a = mean * 0.1;
              a = 0.9 * a + 0.1 * g;
              variance -= a * a;
              mean = a * 10;
            }
            double change = g / (std::sqrt(variance) + 1e-6);
            if (momentum != 0) change = m = momentum * m + change;
            p -= 0.01 * change;
          });
}

TEST_P(Steps, Adagrad) {
  const auto [dtype, tolerance] = GetParam();
  check(
      dtype, tolerance, 1,
      [](auto& p, auto& g, auto& s) { tenon::adagrad_step(p, g, s[0], 4, 0.1, 0.5, 1e-6, 0.1); },
      [](double& p, double g, double& sum, double&, double&) {
        g += 0.1 * p;
        sum += g * g;
        p -= 0.1 / (1 + 3 * 0.5) * g / (std::sqrt(sum) + 1e-6);
      });
}

INSTANTIATE_TEST_SUITE_P(Types, Steps,
                         testing::Values(std::pair(DType::F64, 1e-12), std::pair(DType::F32, 5e-6),
                                         std::pair(DType::F16, 2e-2),
                                         std::pair(DType::BF16, 1e-1)));

TEST(Multi, NormAndScale) {
  std::vector<Tensor> list = make(DType::F32, 1, 0.3f);
  double sum = 0, squares = 0, cubes = 0, largest = 0;
  for (const auto& values : numbers(list))
    for (double v : values) {
      sum += std::abs(v);
      squares += v * v;
      cubes += std::pow(std::abs(v), 3);
      largest = std::max(largest, std::abs(v));
    }
  EXPECT_NEAR(tenon::multi_norm(list).item<float>(), std::sqrt(squares), 1e-4 * std::sqrt(squares));
  EXPECT_NEAR(tenon::multi_norm(list, 1).item<float>(), sum, 1e-5 * sum);
  EXPECT_NEAR(tenon::multi_norm(list, 3).item<float>(), std::cbrt(cubes), 1e-5 * std::cbrt(cubes));
  EXPECT_NEAR(tenon::multi_norm(list, HUGE_VAL).item<float>(), largest, 1e-6);
  const auto before = numbers(list);
  tenon::multi_scale(list, tenon::tensor(0.5f));
  const auto after = numbers(list);
  for (size_t k = 0; k < before.size(); ++k)
    for (size_t i = 0; i < before[k].size(); ++i) ASSERT_EQ(after[k][i], 0.5 * before[k][i]);
  list.push_back(tenon::tensor({NAN}));
  EXPECT_TRUE(std::isnan(tenon::multi_norm(list, HUGE_VAL).item<float>()));
}

TEST(Multi, ListsMustMatch) {
  const std::vector<Tensor> params = {tenon::tensor({1.f, 2.f})}, grads = {tenon::tensor({1.f})};
  EXPECT_THROW(tenon::sgd_step(params, grads, {}, 0.1), tenon::Error);
  EXPECT_THROW(tenon::sgd_step(params, {}, {}, 0.1), tenon::Error);
  EXPECT_THROW(tenon::sgd_step(params, params, {}, 0.1, 0.9), tenon::Error);
  EXPECT_THROW(tenon::adam_step(params, params, params, params, {}, 0, 0.1), tenon::Error);
}

}  // namespace
