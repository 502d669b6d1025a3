// Losses, compared with sums written out in double precision.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tenon/tenon.hpp"

namespace {

using tenon::DType;
using tenon::Tensor;
using Values = std::vector<double>;
using Shape = std::vector<int64_t>;

Values random(size_t n, double low, double high, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  Values values(n);
  for (double& value : values) value = uniform(engine);
  return values;
}

struct CrossEntropy {
  int64_t n = 1, classes = 1, places = 1;  // logits are (n, classes, places)
  Values logits = {}, weight = {};         // empty: no weight
  std::vector<int64_t> target = {};        // classes, or
  Values probabilities = {};               // (n, classes, places)
  int64_t ignore = -100;
  double smoothing = 0;

  double log_prob(int64_t i, int64_t c, int64_t s) const {
    double total = 0;
    for (int64_t k = 0; k < classes; ++k) total += std::exp(at(logits, i, k, s));
    return at(logits, i, c, s) - std::log(total);
  }
  double at(const Values& v, int64_t i, int64_t c, int64_t s) const {
    return v[(i * classes + c) * places + s];
  }
  double w(int64_t c) const { return weight.empty() ? 1 : weight[c]; }

  // PyTorch's definition, one target at a time.
  Values losses(double& divisor) const {
    Values out;
    divisor = 0;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t s = 0; s < places; ++s) {
        double loss = 0;
        if (!probabilities.empty()) {
          for (int64_t c = 0; c < classes; ++c)
            loss -= w(c) * log_prob(i, c, s) *
                    ((1 - smoothing) * at(probabilities, i, c, s) + smoothing / classes);
          divisor += 1;
        } else if (const int64_t t = target[i * places + s]; t != ignore) {
          loss = -(1 - smoothing) * w(t) * log_prob(i, t, s);
          for (int64_t c = 0; c < classes; ++c)
            loss -= smoothing / classes * w(c) * log_prob(i, c, s);
          divisor += w(t);
        }
        out.push_back(loss);
      }
    return out;
  }

  void check(const Shape& logits_shape, const Shape& target_shape) const {
    const Tensor x = tenon::tensor(logits, logits_shape);
    const Tensor t = probabilities.empty() ? tenon::tensor(target, target_shape)
                                           : tenon::tensor(probabilities, logits_shape);
    const Tensor weights = weight.empty() ? Tensor() : tenon::tensor(weight);
    double divisor = 0, total = 0;
    const Values each = losses(divisor);
    for (const double loss : each) total += loss;
    const auto loss = [&](const char* how) {
      return tenon::cross_entropy(x, t, weights, how, ignore, smoothing);
    };
    const Tensor none = loss("none");
    EXPECT_EQ(Shape(none.shape().begin(), none.shape().end()), target_shape);
    const auto found = none.to_vector<double>();
    for (size_t i = 0; i < each.size(); ++i) EXPECT_NEAR(found[i], each[i], 1e-12) << i;
    EXPECT_NEAR(loss("sum").item<double>(), total, 1e-12);
    EXPECT_NEAR(loss("mean").item<double>(), total / divisor, 1e-12);
  }
};

TEST(CrossEntropy, Classes) {
  for (const double smoothing : {0.0, 0.1, 1.0})
    for (const bool weighted : {false, true}) {
      CrossEntropy c{.n = 4,
                     .classes = 3,
                     .logits = random(12, -3, 3, 1),
                     .target = {0, 2, 1, 2},
                     .smoothing = smoothing};
      if (weighted) c.weight = {0.5, 2, 1.25};
      c.check({4, 3}, {4});
      c.ignore = 2;
      c.check({4, 3}, {4});
    }
}

// Halves are read as they are; the loss is computed and returned in f32.
TEST(CrossEntropy, OfHalvesIsF32) {
  const Tensor x = tenon::tensor(random(12, -3, 3, 5), {4, 3}),
               t = tenon::tensor(std::vector<int64_t>{0, 2, 1, 2});
  for (const DType dtype : {DType::F16, DType::BF16}) {
    const Tensor half = x.to(dtype).requires_grad_();
    const Tensor whole = half.detach().to(DType::F64).requires_grad_();
    const Tensor loss = tenon::cross_entropy(half, t), want = tenon::cross_entropy(whole, t);
    EXPECT_EQ(loss.dtype(), DType::F32);
    EXPECT_NEAR(loss.item<double>(), want.item<double>(), 1e-6);
    loss.backward(), want.backward();
    EXPECT_EQ(half.grad().dtype(), dtype);
    const auto got = half.grad().to(DType::F64).to_vector<double>(),
               g = whole.grad().to_vector<double>();
    for (size_t i = 0; i < g.size(); ++i)
      EXPECT_NEAR(got[i], g[i], (dtype == DType::F16 ? 0x1p-11 : 0x1p-8) * std::abs(g[i]) + 1e-7)
          << i;
  }
}

// The contents of a row that does not count change nothing; a row without finite sums has no loss.
TEST(CrossEntropy, RowsThatAreNotFinite) {
  const double inf = INFINITY;
  const Tensor x =
      tenon::tensor(Values{1, 2, NAN, inf, -inf, -inf, inf, 0}, Shape{4, 2}).requires_grad_();
  const Tensor t = tenon::tensor(std::vector<int64_t>{0, -100, 0, 1});
  const Tensor each = tenon::cross_entropy(x, t, {}, "none");
  const auto found = each.to_vector<double>();
  EXPECT_NEAR(found[0], std::log(std::exp(1.) + std::exp(2.)) - 1, 1e-15);
  EXPECT_EQ(found[1], 0);
  EXPECT_TRUE(std::isnan(found[2]) && std::isnan(found[3]));
  tenon::sum(each).backward();
  const auto g = x.grad().to_vector<double>();
  EXPECT_EQ(g[2], 0);
  EXPECT_EQ(g[3], 0);
}

// Gradients that arrive at the logarithm of the sum, and second gradients, compared with differences.
TEST(CrossEntropy, GradientsOfTheSumAndSecondOnes) {
  const Values start = random(6, -2, 2, 8), a = random(2, -1, 1, 9), b = random(2, -1, 1, 10);
  const Tensor t = tenon::tensor(std::vector<int64_t>{2, 0}),
               weight = tenon::tensor({0.5, 2., 1.5});
  std::string reduction;
  const auto value = [&](const Tensor& x) {
    const auto rows = tenon::softmax_cross_entropy(x, t, weight, reduction);
    return tenon::sum(rows.loss * rows.lse * tenon::tensor(a) +
                      tenon::square(rows.lse) * tenon::tensor(b));
  };
  const auto gradient = [&](const Values& at, bool second) {
    const Tensor x = tenon::tensor(at, {2, 3}).requires_grad_();
    Tensor y = value(x);
    if (second)
      y = tenon::sum(tenon::square(tenon::gradient({y}, {x}, {}, {.create_graph = true})[0]));
    y.backward();
    return x.grad().to_vector<double>();
  };
  const auto of = [&](const Values& at, bool second) {
    if (!second) return value(tenon::tensor(at, {2, 3})).item<double>();
    double total = 0;
    for (const double g : gradient(at, false)) total += g * g;
    return total;
  };
  for (const char* each : {"none", "sum", "mean"})
    for (const bool second : {false, true}) {
      reduction = each;
      const Values found = gradient(start, second);
      for (size_t i = 0; i < start.size(); ++i) {
        Values up = start, down = start;
        up[i] += 1e-5, down[i] -= 1e-5;
        EXPECT_NEAR(found[i], (of(up, second) - of(down, second)) / 2e-5, 1e-8)
            << reduction << second << i;
      }
    }
}

TEST(CrossEntropy, ClassesOfPlaces) {
  for (const double smoothing : {0.0, 0.2}) {
    CrossEntropy c{.n = 2,
                   .classes = 3,
                   .places = 4,
                   .logits = random(24, -3, 3, 2),
                   .weight = {1, 2, 0.5},
                   .target = {0, 1, 2, 2, 1, 1, 0, 2},
                   .ignore = 1,
                   .smoothing = smoothing};
    c.check({2, 3, 4}, {2, 4});
    c.check({2, 3, 2, 2}, {2, 2, 2});
  }
  CrossEntropy one{.classes = 5, .logits = random(5, -3, 3, 3), .target = {3}};
  one.check({5}, {});
}

TEST(CrossEntropy, Probabilities) {
  for (const double smoothing : {0.0, 0.3})
    for (const bool weighted : {false, true}) {
      CrossEntropy c{.n = 2,
                     .classes = 3,
                     .places = 2,
                     .logits = random(12, -3, 3, 4),
                     .probabilities = random(12, 0, 1, 5),
                     .smoothing = smoothing};
      if (weighted) c.weight = {0.5, 2, 1.25};
      c.check({2, 3, 2}, {2, 2});
    }
}

TEST(CrossEntropy, AllIgnoredIsNan) {
  const Tensor x = tenon::tensor(random(6, -1, 1, 6), {2, 3});
  EXPECT_TRUE(
      std::isnan(tenon::cross_entropy(x, tenon::tensor({int64_t{1}, int64_t{1}}), {}, "mean", 1)
                     .item<double>()));
}

TEST(CrossEntropy, ExtremeLogitsStayFinite) {
  const Tensor x = tenon::tensor({{1e4, -1e4, 0.0}});
  EXPECT_DOUBLE_EQ(tenon::cross_entropy(x, tenon::tensor({int64_t{1}})).item<double>(), 2e4);
}

TEST(Losses, AgreeWithTheirDefinitions) {
  const size_t n = 7;
  const Values x = random(n, -3, 3, 1), t = random(n, 0.05, 0.95, 2), p = random(n, 0.05, 0.95, 3),
               w = random(n, 0.5, 2, 4);
  const Tensor tx = tenon::tensor(x), tt = tenon::tensor(t), tp = tenon::tensor(p),
               tw = tenon::tensor(w);
  const auto compare = [&](const char* what, auto loss, auto each) {
    double total = 0;
    const auto found = loss("none").template to_vector<double>();
    for (size_t i = 0; i < n; ++i) {
      EXPECT_NEAR(found[i], each(i), 1e-12) << what << " at " << i;
      total += each(i);
    }
    EXPECT_NEAR(loss("sum").template item<double>(), total, 1e-12) << what;
    EXPECT_NEAR(loss("mean").template item<double>(), total / n, 1e-12) << what;
  };
  compare(
      "mse", [&](const char* r) { return tenon::mse_loss(tx, tt, r); },
      [&](size_t i) { return (x[i] - t[i]) * (x[i] - t[i]); });
  compare(
      "l1", [&](const char* r) { return tenon::l1_loss(tx, tt, r); },
      [&](size_t i) { return std::abs(x[i] - t[i]); });
  compare(
      "smooth_l1", [&](const char* r) { return tenon::smooth_l1_loss(tx, tt, r, 1.5); },
      [&](size_t i) {
        const double d = std::abs(x[i] - t[i]);
        return d < 1.5 ? 0.5 * d * d / 1.5 : d - 0.75;
      });
  compare(
      "huber", [&](const char* r) { return tenon::huber_loss(tx, tt, r, 1.5); },
      [&](size_t i) {
        const double d = std::abs(x[i] - t[i]);
        return d < 1.5 ? 0.5 * d * d : 1.5 * (d - 0.75);
      });
  compare(
      "bce", [&](const char* r) { return tenon::bce_loss(tp, tt, tw, r); },
      [&](size_t i) { return -w[i] * (t[i] * std::log(p[i]) + (1 - t[i]) * std::log(1 - p[i])); });
  compare(
      "bce_with_logits",
      [&](const char* r) { return tenon::bce_with_logits_loss(tx, tt, tw, tp, r); },
      [&](size_t i) {
        const double s = 1 / (1 + std::exp(-x[i]));
        return -w[i] * (p[i] * t[i] * std::log(s) + (1 - t[i]) * std::log(1 - s));
      });
  compare(
      "kl_div", [&](const char* r) { return tenon::kl_div_loss(tx, tt, r); },
      [&](size_t i) { return t[i] * (std::log(t[i]) - x[i]); });
  compare(
      "kl_div of logarithms", [&](const char* r) { return tenon::kl_div_loss(tx, tt, r, true); },
      [&](size_t i) { return std::exp(t[i]) * (t[i] - x[i]); });
}

// Longer than the stretch that a kernel sums at once, and not a multiple of it.
TEST(Losses, OfPairsAreReducedInAnyLayout) {
  constexpr int64_t kRows = 379, kColumns = 367;
  const Values x = random(kRows * kColumns, -3, 3, 1), t = random(kRows * kColumns, -3, 3, 2);
  double squares = 0, bent = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double d = std::abs(x[i] - t[i]);
    squares += d * d;
    bent += d < 2 ? 0.25 * d * d : d - 1;
  }
  const Tensor tx = tenon::tensor(x, {kRows, kColumns}), tt = tenon::tensor(t, {kRows, kColumns});
  const Tensor turned = tx.t().contiguous().t();
  for (const auto& [a, b] : {std::pair(tx, tt), std::pair(tx.t(), tt.t()), std::pair(turned, tt)}) {
    EXPECT_NEAR(tenon::mse_loss(a, b, "sum").item<double>(), squares, 1e-8 * squares);
    EXPECT_NEAR(tenon::smooth_l1_loss(a, b, "sum", 2).item<double>(), bent, 1e-8 * bent);
    EXPECT_NEAR(tenon::huber_loss(a, b, "sum", 2).item<double>(), 2 * bent, 1e-8 * bent);
    const Tensor f = a.to(tenon::DType::F32), g = b.to(tenon::DType::F32);
    EXPECT_NEAR(tenon::mse_loss(f, g).item<float>(), squares / (kRows * kColumns), 1e-5);
  }
}

TEST(Losses, PairGradientsHaveTheOperandsShapes) {
  const Values x = random(6, -3, 3, 1), t = random(3, -3, 3, 2);
  const Tensor gaps = tenon::tensor(x, {2, 3}) - tenon::tensor(t);
  const auto expect = [&](auto loss, const Tensor& wanted) {
    const Tensor a = tenon::tensor(x, {2, 3}).requires_grad_();
    const Tensor b = tenon::tensor(t).requires_grad_();
    loss(a, b).backward();
    EXPECT_LT(tenon::max(tenon::abs(a.grad() - wanted)).item<double>(), 1e-14);
    EXPECT_LT(tenon::max(tenon::abs(b.grad() + tenon::sum(wanted, 0))).item<double>(), 1e-14);
  };
  for (const std::string reduction : {"mean", "sum"}) {
    const double share = reduction == "mean" ? 6 : 1;
    const Tensor held = tenon::clamp(gaps, -0.5, 0.5) / share;
    expect([&](auto a, auto b) { return tenon::mse_loss(a, b, reduction); }, gaps * (2 / share));
    expect([&](auto a, auto b) { return tenon::huber_loss(a, b, reduction, 0.5); }, held);
    expect([&](auto a, auto b) { return tenon::smooth_l1_loss(a, b, reduction, 0.5); }, held * 2);
    expect([&](auto a, auto b) { return tenon::smooth_l1_loss(a, b, reduction, 0.0); },
           tenon::sign(gaps) / share);
  }
}

TEST(Losses, EdgesStayFinite) {
  const Tensor ends = tenon::tensor({0.0, 1.0, 0.0, 1.0}),
               target = tenon::tensor({0.0, 1.0, 1.0, 0.0});
  EXPECT_EQ(tenon::bce_loss(ends, target, {}, "none").to_vector<double>(),
            (Values{0, 0, 100, 100}));
  const Tensor leaf = ends.clone().requires_grad_();
  tenon::bce_loss(leaf, target, {}, "sum").backward();
  EXPECT_EQ(leaf.grad().to_vector<double>(), (Values{0, 0, -1e12, 1e12}));
  const Tensor far = tenon::tensor({800.0, -800.0, 800.0, -800.0});
  EXPECT_EQ(tenon::bce_with_logits_loss(far, target, {}, {}, "none").to_vector<double>(),
            (Values{800, 800, 0, 0}));
  EXPECT_EQ(tenon::kl_div_loss(tenon::tensor({-1.0}), tenon::tensor({0.0}), "none").item<double>(),
            0);
}

TEST(Losses, RefuseBadArguments) {
  const auto message = [](auto call) {
    try {
      call();
    } catch (const tenon::Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const Tensor x = tenon::tensor(random(6, -1, 1, 1), {2, 3}),
               t = tenon::tensor({int64_t{0}, int64_t{1}});
  EXPECT_EQ(message([&] { tenon::mse_loss(x, x, "max"); }),
            "[mse_loss] reduction must be none, mean or sum, got \"max\"");
  EXPECT_EQ(message([&] { tenon::smooth_l1_loss(x, x, "mean", -1); }),
            "[smooth_l1_loss] beta must not be negative, got -1");
  EXPECT_EQ(message([&] { tenon::huber_loss(x, x, "mean", 0); }),
            "[huber_loss] delta must be positive, got 0");
  EXPECT_EQ(message([&] { tenon::cross_entropy(x, t, {}, "mean", -100, 1.5); }),
            "[cross_entropy] smoothing must be between 0 and 1, got 1.5");
  EXPECT_EQ(message([&] { tenon::cross_entropy(x, x.t().contiguous()); }),
            "[cross_entropy] probabilities have shape (3, 2), logits (2, 3)");
}

}  // namespace
