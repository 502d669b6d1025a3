// Reductions, compared with sums, products and searches in double precision: dtypes, layouts, dimensions, sizes, NaN, empty tensors.
#include <algorithm>
#include <numeric>
#include <string>

#include "layouts.hpp"
#include "resident.hpp"

namespace {

using namespace reference;
using tenon::DType;
using tenon::Tensor;
using V = std::vector<double>;

double total(const V& v) { return std::accumulate(v.begin(), v.end(), 0.0); }
double product(const V& v) { return std::accumulate(v.begin(), v.end(), 1.0, std::multiplies<>()); }
double mean(const V& v) { return total(v) / static_cast<double>(v.size()); }
double nonzeros(const V& v) {
  return static_cast<double>(std::ranges::count_if(v, [](double x) { return x != 0; }));
}
double variance(const V& v, double correction) {
  double sum = 0;
  for (double x : v) sum += (x - mean(v)) * (x - mean(v));
  return sum / (static_cast<double>(v.size()) - correction);
}
double log_sum_exp(const V& v) {
  double sum = 0;
  for (double x : v) sum += std::exp(x);
  return std::log(sum);
}
double p_norm(const V& v, double p) {
  double sum = p < 0 ? INFINITY : 0;
  for (double x : v) {
    if (std::isinf(p)) {
      sum = p > 0 ? std::max(sum, std::abs(x)) : std::min(sum, std::abs(x));
    } else {
      sum += p == 0 ? x != 0 : std::pow(std::abs(x), p);
    }
  }
  return std::isinf(p) || p == 0 ? sum : std::pow(sum, 1 / p);
}
double position(const V& v, bool most) {
  return static_cast<double>(
      (most ? std::max_element(v.begin(), v.end()) : std::min_element(v.begin(), v.end())) -
      v.begin());
}

const std::vector<std::vector<int64_t>> kDims = {{},     {0},    {1},    {2},
                                                 {0, 1}, {0, 2}, {1, 2}, {-1, 0, 1}};
uint32_t mask_of(const std::vector<int64_t>& dims) {
  uint32_t mask = 0;
  for (int64_t d : dims) mask |= 1u << (d < 0 ? d + 3 : d);
  return dims.empty() ? 7 : mask;
}

class Reduce : public testing::TestWithParam<DType> {};

TEST_P(Reduce, EveryLayoutAndDimension) {
  const DType dtype = GetParam();
  const double tol = 4 * tolerance(dtype);
  for (const auto& [layout, x] : layouts(dtype, 7)) {
    const Array a = array_of(x);
    for (const auto& dims : kDims) {
      for (bool keep : {false, true}) {
        const tenon::OptionalInts d =
            dims.empty() ? tenon::OptionalInts() : tenon::OptionalInts(dims);
        const uint32_t mask = mask_of(dims);
        const std::string what = layout + " mask " + std::to_string(mask);
        const auto want = [&](const Fold& f) { return reduced(a, mask, keep, f); };
        expect_close(tenon::sum(x, d, keep), want(total), 8 * tol, "sum " + what);
        expect_close(tenon::mean(x, d, keep), want(mean), tol, "mean " + what);
        expect_close(tenon::prod(x, d, keep), want(product), 8 * tol, "prod " + what);
        expect_close(tenon::count_nonzero(x, d, keep), want(nonzeros), 0, "nonzeros " + what);
        expect_close(tenon::var(x, d, 1.0, keep), want([](const V& v) { return variance(v, 1); }),
                     tol, "var " + what);
        expect_close(tenon::var(x, d, 0.0, keep), want([](const V& v) { return variance(v, 0); }),
                     tol, "var0 " + what);
        expect_close(tenon::logsumexp(x, d, keep), want(log_sum_exp), tol, "logsumexp " + what);
        expect_close(tenon::max(x, d, keep),
                     want([](const V& v) { return *std::max_element(v.begin(), v.end()); }), 0,
                     "max " + what);
        expect_close(tenon::min(x, d, keep),
                     want([](const V& v) { return *std::min_element(v.begin(), v.end()); }), 0,
                     "min " + what);
        for (double p : {0.0, 1.0, 2.0, 3.0, 0.5, HUGE_VAL, -HUGE_VAL})
          expect_close(tenon::norm(x, p, d, keep), want([p](const V& v) { return p_norm(v, p); }),
                       p == 0.5 ? 400 * tol : 8 * tol, "norm " + std::to_string(p) + " " + what);
        if (dims.size() > 1) continue;
        const std::optional<int64_t> dim =
            dims.empty() ? std::nullopt : std::optional<int64_t>(dims[0]);
        expect_close(tenon::argmax(x, dim, keep),
                     want([](const V& v) { return position(v, true); }), 0, "argmax " + what);
        expect_close(tenon::argmin(x, dim, keep),
                     want([](const V& v) { return position(v, false); }), 0, "argmin " + what);
      }
    }
  }
}
TEST_P(Reduce, NansumOfEveryLayout) {
  for (const auto& [layout, x] : layouts(GetParam(), 13)) {
    const Tensor holes = tenon::where(x > 0.5, NAN, x);
    for (const auto& dims : kDims) {
      const tenon::OptionalInts d =
          dims.empty() ? tenon::OptionalInts() : tenon::OptionalInts(dims);
      const auto present = [](const V& v) {
        V rest;
        std::ranges::copy_if(v, std::back_inserter(rest), [](double e) { return e == e; });
        return total(rest);
      };
      expect_close(tenon::nansum(holes, d), reduced(array_of(holes), mask_of(dims), false, present),
                   32 * tolerance(GetParam()), layout + " mask " + std::to_string(mask_of(dims)));
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Floats, Reduce,
                         testing::Values(DType::F16, DType::BF16, DType::F32, DType::F64));

class ReduceWhole : public testing::TestWithParam<DType> {};

TEST_P(ReduceWhole, SumsWidenAndOrderHolds) {
  const DType dtype = GetParam();
  const bool is_signed = tenon::name_of(dtype)[0] == 'i';
  for (const auto& [layout, x] :
       layouts(dtype, 11, is_signed ? -9 : 0, dtype == DType::Bool ? 1.99 : 9)) {
    const Array a = array_of(x);
    for (const auto& dims : kDims) {
      const tenon::OptionalInts d =
          dims.empty() ? tenon::OptionalInts() : tenon::OptionalInts(dims);
      const uint32_t mask = mask_of(dims);
      const auto want = [&](const Fold& f) { return reduced(a, mask, false, f); };
      const Tensor sum = tenon::sum(x, d);
      EXPECT_EQ(sum.dtype(), tenon::name_of(dtype)[0] == 'u' ? DType::U64 : DType::I64);
      expect_close(sum, want(total), 0, "sum " + layout);
      expect_close(tenon::sum(x, d, false, DType::I32), want(total), 0, "sum as i32 " + layout);
      expect_close(tenon::mean(x, d), want(mean), 1e-6, "mean " + layout);
      expect_close(tenon::count_nonzero(x, d), want(nonzeros), 0, "nonzeros " + layout);
      expect_close(tenon::max(x, d),
                   want([](const V& v) { return *std::max_element(v.begin(), v.end()); }), 0,
                   "max " + layout);
      expect_close(tenon::min(x, d),
                   want([](const V& v) { return *std::min_element(v.begin(), v.end()); }), 0,
                   "min " + layout);
      expect_close(tenon::any(x, d), want([](const V& v) {
                     return std::any_of(v.begin(), v.end(), [](double e) { return e != 0; });
                   }),
                   0, "any " + layout);
      expect_close(tenon::all(x, d), want([](const V& v) {
                     return std::all_of(v.begin(), v.end(), [](double e) { return e != 0; });
                   }),
                   0, "all " + layout);
    }
    expect_close(tenon::argmax(x, 1),
                 reduced(a, 2, false, [](const V& v) { return position(v, true); }), 0,
                 "argmax " + layout);
    expect_close(tenon::argmin(x),
                 reduced(a, 7, false, [](const V& v) { return position(v, false); }), 0,
                 "argmin " + layout);
  }
}
INSTANTIATE_TEST_SUITE_P(Whole, ReduceWhole,
                         testing::Values(DType::Bool, DType::U8, DType::U16, DType::U32, DType::U64,
                                         DType::I8, DType::I16, DType::I32, DType::I64));

// Sizes around the limits of vectors, blocks and pieces; many rows, many columns.
TEST(ReduceSizes, RowsAndColumns) {
  for (const auto& [rows, cols] : std::vector<std::pair<int64_t, int64_t>>{{1, 1},
                                                                           {1, 7},
                                                                           {3, 17},
                                                                           {2, 4095},
                                                                           {2, 4097},
                                                                           {1, 200001},
                                                                           {300, 3},
                                                                           {70000, 3},
                                                                           {1000, 300},
                                                                           {5000, 65},
                                                                           {200, 1000}}) {
    const Tensor x = to_tensor(random_array({rows, cols}, 3), DType::F32);
    const Array a = array_of(x);
    for (int64_t dim : {0, 1}) {
      const std::string what =
          std::to_string(rows) + "x" + std::to_string(cols) + " over " + std::to_string(dim);
      const auto want = [&](const Fold& f) { return reduced(a, 1u << dim, false, f); };
      expect_close(tenon::sum(x, {dim}), want(total), 2e-5, "sum " + what);
      expect_close(tenon::var(x, {dim}, 0.0),
                   want([](const V& v) { return v.size() > 1000 ? 0 : variance(v, 0); }),
                   (dim == 0 ? rows : cols) > 1000 ? 2 : 2e-6, "var " + what);
      expect_close(tenon::max(x, {dim}),
                   want([](const V& v) { return *std::max_element(v.begin(), v.end()); }), 0,
                   "max " + what);
      expect_close(tenon::argmin(x, dim), want([](const V& v) { return position(v, false); }), 0,
                   "argmin " + what);
      expect_close(tenon::norm(x, 2.0, {dim}), want([](const V& v) { return p_norm(v, 2); }), 2e-6,
                   "norm " + what);
      expect_close(tenon::logsumexp(x, {dim}), want(log_sum_exp), 2e-6, "logsumexp " + what);
    }
    expect_close(tenon::sum(x), reduced(a, 3, false, total), 1e-4, "sum of all");
  }
}

// Many large bytes, within one vector or piece and across several, and down columns.
TEST(ReduceSizes, Bytes) {
  for (const int64_t n : {1, 63, 64, 127, 129, 4097, 200001}) {
    const Tensor x = tenon::full({n}, 255, DType::U8);
    EXPECT_EQ(tenon::sum(x).item<uint64_t>(), static_cast<uint64_t>(255 * n)) << n;
    EXPECT_EQ(tenon::count_nonzero(x).item<int64_t>(), n);
    EXPECT_EQ(tenon::sum(x.to(DType::Bool)).item<int64_t>(), n);
    const Tensor columns = tenon::sum(tenon::full({n, 5}, 255, DType::U8), {0});
    expect_close(columns, Array({5}, static_cast<double>(255 * n)), 0, "columns of bytes");
    expect_close(tenon::sum(tenon::full({3, n}, -1, DType::I64), {1}),
                 Array({3}, static_cast<double>(-n)), 0, "rows of i64");
  }
}

// Losses of pairs whose operands have the same layout, and of others.
TEST(Losses, EveryPairOfLayouts) {
  const auto squared = [](double d) { return d * d; };
  const auto smooth = [](double d) { return std::abs(d) < 1 ? d * d / 2 : std::abs(d) - 0.5; };
  for (const DType dtype : {DType::BF16, DType::F32, DType::F64})
    for (const auto& [layout, x] : layouts(dtype, 7))
      for (const auto& [other, target] : layouts(dtype, 9)) {
        const Array a = array_of(x), b = array_of(target);
        std::string what = layout;
        (what += " and ") += other;
        const auto expect = [&](const auto& loss, auto term) {
          Array each = a;
          for (size_t i = 0; i < each.v.size(); ++i) each.v[i] = term(a.v[i] - b.v[i]);
          const double tol = 8 * tolerance(dtype), sum = total(each.v);
          expect_close(loss("none"), each, tol, "each of " + what);
          expect_close(loss("sum"), Array({}, sum), tol * std::max(1.0, sum), "sum of " + what);
          expect_close(loss("mean"), Array({}, mean(each.v)), tol, "mean of " + what);
        };
        expect(
            [&, &x = x, &target = target](const char* r) { return tenon::mse_loss(x, target, r); },
            squared);
        expect([&, &x = x,
                &target = target](const char* r) { return tenon::smooth_l1_loss(x, target, r); },
               smooth);
        expect([&, &x = x,
                &target = target](const char* r) { return tenon::huber_loss(x, target, r); },
               smooth);
      }
}

// A broadcast tensor has many elements but few rows in memory: the states of the reduction's pieces must not grow with the elements.
TEST(ReduceSizes, ABroadcastTensorTakesLittleMemory) {
  const int64_t rows = 1 << 22, width = 1024;
  const Tensor x = tenon::expand(tenon::ones({1, width}), {rows, width});
  tenon::sum(tenon::ones({64, width}), {0});
  testing_ops::most_resident();
  const int64_t before = testing_ops::most_resident();
  const Tensor sums = tenon::sum(x, {0});
  EXPECT_LT(testing_ops::most_resident() - before, 64);
  EXPECT_EQ(tenon::min(sums).item<float>(), static_cast<float>(rows));
  EXPECT_EQ(tenon::max(sums).item<float>(), static_cast<float>(rows));
}

TEST(ReduceAccuracy, LargeMeanAndLongSums) {
  Array a = random_array({100000}, 5, 0, 1);
  for (double& v : a.v) v += 10000;
  const Tensor x = to_tensor(a, DType::F32);
  const Array exact = array_of(x);
  EXPECT_NEAR(tenon::var(x).item<double>(), variance(exact.v, 1), 1e-5);
  EXPECT_NEAR(tenon::sum(x).item<double>() / total(exact.v), 1, 1e-7);
  EXPECT_NEAR(tenon::mean(tenon::full({1000000}, 0.1f)).item<double>(), 0.1, 1e-7);
  EXPECT_NEAR(tenon::norm(tenon::full({100}, 1e30f)).item<double>() / 1e31, 1,
              1e-6);  // squares beyond f32
  EXPECT_EQ(tenon::sum(tenon::full({70000}, 1, DType::F16)).item<double>(),
            INFINITY);  // summed in f32, too large for f16
  EXPECT_EQ(tenon::mean(tenon::full({70000}, 1, DType::F16)).item<double>(), 1);
}

TEST(ReduceEdges, NaNInfinityAndFirstOfEqual) {
  const float nan = NAN, inf = INFINITY;
  const Tensor x = tenon::tensor({1.f, nan, 3.f, nan, 2.f});
  EXPECT_TRUE(std::isnan(tenon::max(x).item<float>()));
  EXPECT_TRUE(std::isnan(tenon::min(x).item<float>()));
  EXPECT_TRUE(std::isnan(tenon::sum(x).item<float>()));
  EXPECT_EQ(tenon::argmax(x).item<int64_t>(), 1);
  EXPECT_EQ(tenon::argmin(x).item<int64_t>(), 1);
  EXPECT_TRUE(std::isnan(tenon::logsumexp(x).item<float>()));
  EXPECT_EQ(tenon::argmax(tenon::tensor({3, 5, 5, 1})).item<int64_t>(), 1);
  EXPECT_EQ(tenon::logsumexp(tenon::tensor({-inf, -inf})).item<float>(), -inf);
  EXPECT_EQ(tenon::logsumexp(tenon::tensor({1.f, inf})).item<float>(), inf);
  EXPECT_NEAR(tenon::logsumexp(tenon::tensor({1000.f, 1000.f})).item<float>(), 1000.6931, 1e-3);
  EXPECT_EQ(tenon::max(tenon::tensor({-inf, -inf})).item<float>(), -inf);
  EXPECT_EQ(tenon::argmax(tenon::tensor({-inf, -inf})).item<int64_t>(), 0);
  const std::vector<uint64_t> large = {UINT64_MAX, 1, UINT64_MAX - 1};
  EXPECT_EQ(tenon::max(tenon::tensor(large)).item<uint64_t>(), UINT64_MAX);
  EXPECT_EQ(tenon::argmin(tenon::tensor(large)).item<int64_t>(), 1);
  EXPECT_EQ(tenon::any(x).item<bool>(), true);
}

TEST(ReduceEdges, EmptyAndRankZero) {
  const Tensor none = tenon::zeros({0}), row = tenon::zeros({3, 0});
  EXPECT_EQ(tenon::sum(none).item<float>(), 0);
  EXPECT_EQ(tenon::prod(none).item<float>(), 1);
  EXPECT_TRUE(std::isnan(tenon::mean(none).item<float>()));
  EXPECT_TRUE(std::isnan(tenon::var(none).item<float>()));
  EXPECT_EQ(tenon::logsumexp(none).item<float>(), -INFINITY);
  EXPECT_EQ(tenon::any(none).item<bool>(), false);
  EXPECT_EQ(tenon::all(none).item<bool>(), true);
  expect_close(tenon::sum(row, {1}), Array({3}, 0), 0, "rows of nothing");
  EXPECT_EQ(tenon::sum(row, {0}).numel(), 0);
  EXPECT_NE(error_of([&] { tenon::max(none); }).find("[max] nothing to reduce"), std::string::npos);
  EXPECT_NE(error_of([&] { tenon::argmin(row, 1); }).find("[argmin]"), std::string::npos);
  EXPECT_EQ(tenon::max(row, {0}).numel(), 0);
  const Tensor one = tenon::tensor(4.f);
  EXPECT_EQ(tenon::sum(one).item<float>(), 4);
  EXPECT_EQ(tenon::var(one, {}, 0.0).item<float>(), 0);
  EXPECT_TRUE(std::isnan(tenon::var(one).item<float>()));
  EXPECT_EQ(tenon::argmax(one).item<int64_t>(), 0);
}

TEST(ReduceComplex, SumsAndNorms) {
  using C = std::complex<float>;
  std::vector<C> v;
  C sum = 0, product = 1;
  double squares = 0;
  for (int i = 0; i < 100; ++i) {
    v.emplace_back(0.1f * static_cast<float>(i % 7), 1 - 0.05f * static_cast<float>(i % 11));
    sum += v.back();
    product *= v.back();
    squares += std::norm(v.back());
  }
  const Tensor x = tenon::tensor(v);
  EXPECT_LT(std::abs(tenon::sum(x).to_vector<C>()[0] - sum), 1e-3);
  EXPECT_LT(std::abs(tenon::prod(x).to_vector<C>()[0] - product), 1e-4 * std::abs(product) + 1e-12);
  EXPECT_LT(std::abs(tenon::mean(x.reshape({25, 4}), {{0, 1}}).to_vector<C>()[0] - sum / 100.f),
            1e-5);
  EXPECT_NEAR(tenon::norm(x).item<float>(), std::sqrt(squares), 1e-4);
  const std::vector<C> columns = tenon::sum(x.reshape({20, 5}), {0}).to_vector<C>();
  C first = 0;
  for (size_t i = 0; i < 100; i += 5) first += v[i];
  EXPECT_LT(std::abs(columns[0] - first), 1e-4);
}

TEST(Scan, SumsAndProductsAlongEveryDimension) {
  for (DType dtype : {DType::F32, DType::F64, DType::I32, DType::BF16}) {
    for (const auto& [layout, x] : layouts(dtype, 13)) {
      const Array a = array_of(x);
      for (int64_t dim = 0; dim < 3; ++dim) {
        Array sums(a.shape), products(a.shape);
        const int64_t step = dim == 0 ? 30 : dim == 1 ? 6 : 1;
        for (int64_t i = 0; i < 120; ++i) {
          const bool first = i / step % a.shape[static_cast<size_t>(dim)] == 0;
          sums[i] = a[i] + (first ? 0 : sums[i - step]);
          products[i] = a[i] * (first ? 1 : products[i - step]);
        }
        const double tol = dtype == DType::I32 ? 0 : 4 * tolerance(dtype);
        expect_close(tenon::cumsum(x, dim), sums, tol, "cumsum " + layout);
        expect_close(tenon::cumprod(x, dim), products, tol, "cumprod " + layout);
      }
    }
  }
  EXPECT_EQ(tenon::cumsum(tenon::zeros({2, 0}), 1).numel(), 0);
}

}  // namespace
