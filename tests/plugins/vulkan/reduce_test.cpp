// Reductions and ops along rows, at sizes that span workgroups, chunks and passes, compared with sums in double precision.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "../cpu/ops.hpp"
#include "device.hpp"

using namespace testing_ops;
using test_vulkan::gpu;
using test_vulkan::hash;
using test_vulkan::to_gpu;

namespace {

// Nothing may run on the host unnoticed.
const bool kDenied = (tn_fallback_set(TN_FALLBACK_DENY), true);

using V = std::vector<float>;

// A hash of the position, so that rounding errors do not repeat.
V values(int64_t n, float scale = 1) {
  V v(static_cast<size_t>(n));
  for (uint32_t i = 0; i < v.size(); ++i)
    v[i] = (static_cast<float>(hash(i) >> 8) / 8388608.0f - 1.0f) * scale;
  return v;
}

struct Layout {
  const char* name;
  int64_t rows, columns;
  bool along_rows;  // what is reduced: each row, or each column
};
void PrintTo(const Layout& l, std::ostream* out) { *out << l.name; }

const Layout kLayouts[] = {
    {"One", 1, 1, true},
    {"Few", 3, 5, true},
    {"GroupMinus", 2, 255, true},
    {"GroupPlus", 2, 257, true},
    {"Block", 7, 1023, true},
    {"BlockPlus", 5, 1025, true},
    {"Chunks", 3, 70001, true},
    {"Million", 1, (1 << 20) + 1, true},
    {"Most", 1, 1 << 22, true},
    {"ManyShort", 70000, 3, true},
    {"ManyGroups", 300001, 1, true},
    {"Columns", 1000, 33, false},
    {"FewColumns", 100003, 3, false},
    {"WideColumns", 5, 70001, false},
    {"TallColumns", 4099, 257, false},
    {"FoursOfColumns", 1003, 36, false},
    {"ManyFours", 517, 2052, false},
};

class Fold : public testing::TestWithParam<Layout> {
 protected:
  void SetUp() override {
    const Layout& l = GetParam();
    x = values(l.rows * l.columns);
    device = to_gpu(tenon::tensor(x, {l.rows, l.columns}));
    results = l.along_rows ? l.rows : l.columns;
    count = l.along_rows ? l.columns : l.rows;
    dims = {l.along_rows ? 1 : 0};
  }
  double at(int64_t result, int64_t i) const {
    const Layout& l = GetParam();
    return static_cast<double>(
        x[static_cast<size_t>(l.along_rows ? result * l.columns + i : i * l.columns + result)]);
  }
  template <class Fn>
  void expect(const Tensor& got, double tolerance, Fn wanted) const {
    const V y = got.to_vector<float>();
    ASSERT_EQ(y.size(), static_cast<size_t>(results));
    for (int64_t r = 0; r < results; r += std::max<int64_t>(1, results / 97)) {
      const double want = wanted(r);
      ASSERT_NEAR(static_cast<double>(y[static_cast<size_t>(r)]), want,
                  tolerance * std::max(1.0, std::abs(want)))
          << "result " << r;
    }
  }

  V x;
  Tensor device;
  int64_t results = 0, count = 0;
  std::vector<int64_t> dims;
};

TEST_P(Fold, Sum) {
  const auto sum = [&](int64_t r) {
    double total = 0;
    for (int64_t i = 0; i < count; ++i) total += at(r, i);
    return total;
  };
  expect(tenon::sum(device, dims), 1e-5, sum);
  expect(tenon::mean(device, dims), 1e-6,
         [&](int64_t r) { return sum(r) / static_cast<double>(count); });
  EXPECT_EQ(tenon::sum(device, dims).to_vector<float>(),
            tenon::sum(device, dims).to_vector<float>());
}

TEST_P(Fold, Extremum) {
  const std::vector<int64_t> most = tenon::argmax(device, dims[0]).to_vector<int64_t>(),
                             least = tenon::argmin(device, dims[0]).to_vector<int64_t>();
  const V max = tenon::max(device, dims).to_vector<float>(),
          min = tenon::min(device, dims).to_vector<float>();
  for (int64_t r = 0; r < results; r += std::max<int64_t>(1, results / 97)) {
    int64_t high = 0, low = 0;
    for (int64_t i = 1; i < count; ++i) {
      if (at(r, i) > at(r, high)) high = i;
      if (at(r, i) < at(r, low)) low = i;
    }
    const auto k = static_cast<size_t>(r);
    ASSERT_EQ(most[k], high) << "result " << r;
    ASSERT_EQ(least[k], low) << "result " << r;
    ASSERT_EQ(static_cast<double>(max[k]), at(r, high));
    ASSERT_EQ(static_cast<double>(min[k]), at(r, low));
  }
}

TEST_P(Fold, Moments) {
  // A mean that is large compared with the spread costs no accuracy.
  const Tensor shifted = device + 1000.0;
  const V y = shifted.to_vector<float>();
  const Layout& l = GetParam();
  if (count < 2) {
    for (const float v : tenon::var(shifted, dims).to_vector<float>()) ASSERT_TRUE(std::isnan(v));
    return;
  }
  expect(tenon::var(shifted, dims), 1e-4, [&](int64_t r) {
    double mean = 0, total = 0;
    const auto value = [&](int64_t i) {
      return static_cast<double>(
          y[static_cast<size_t>(l.along_rows ? r * l.columns + i : i * l.columns + r)]);
    };
    for (int64_t i = 0; i < count; ++i) mean += value(i) / static_cast<double>(count);
    for (int64_t i = 0; i < count; ++i) total += (value(i) - mean) * (value(i) - mean);
    return total / static_cast<double>(count - 1);
  });
}

TEST_P(Fold, LogsumexpAndNorms) {
  expect(tenon::logsumexp(device, dims), 1e-6, [&](int64_t r) {
    double total = 0;
    for (int64_t i = 0; i < count; ++i) total += std::exp(at(r, i));
    return std::log(total);
  });
  for (const double p : {1.0, 2.0, 3.0, -1.0}) {
    expect(tenon::norm(device, p, dims), 2e-5, [&](int64_t r) {
      double total = 0;
      for (int64_t i = 0; i < count; ++i) total += std::pow(std::abs(at(r, i)), p);
      return std::pow(total, 1 / p);
    });
  }
}

TEST_P(Fold, Integers) {
  const Tensor whole = to_gpu(tenon::cast(device.to("cpu") * 1e6, tenon::DType::I32));
  const std::vector<int32_t> v = whole.to_vector<int32_t>();
  const std::vector<int64_t> sums = tenon::sum(whole, dims).to_vector<int64_t>();
  const Layout& l = GetParam();
  for (int64_t r = 0; r < results; r += std::max<int64_t>(1, results / 97)) {
    int64_t total = 0;
    for (int64_t i = 0; i < count; ++i)
      total += v[static_cast<size_t>(l.along_rows ? r * l.columns + i : i * l.columns + r)];
    ASSERT_EQ(sums[static_cast<size_t>(r)], total) << "result " << r;
  }
}

TEST_P(Fold, Softmax) {
  const Layout& l = GetParam();
  const Tensor y = tenon::softmax(device * 5.0, dims[0]),
               logs = tenon::log_softmax(device * 5.0, dims[0]);
  const Tensor g = to_gpu(tenon::tensor(values(l.rows * l.columns, 3), {l.rows, l.columns}));
  const V soft = y.to_vector<float>(), log_soft = logs.to_vector<float>(),
          grad = g.to_vector<float>();
  const V back = tenon::softmax_backward(g, y, dims[0]).to_vector<float>();
  const V log_back = tenon::log_softmax_backward(g, logs, dims[0]).to_vector<float>();
  for (int64_t r = 0; r < results; r += std::max<int64_t>(1, results / 23)) {
    const auto place = [&](int64_t i) {
      return static_cast<size_t>(l.along_rows ? r * l.columns + i : i * l.columns + r);
    };
    double total = 0, dot = 0, sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      total += std::exp(static_cast<double>(x[place(i)] * 5.0f));
      dot += static_cast<double>(grad[place(i)]) * static_cast<double>(soft[place(i)]);
      sum += static_cast<double>(grad[place(i)]);
    }
    for (int64_t i = 0; i < count; i += std::max<int64_t>(1, count / 1013)) {
      const double log_p = static_cast<double>(x[place(i)] * 5.0f) - std::log(total),
                   p = std::exp(log_p);
      const double gi = static_cast<double>(grad[place(i)]);
      ASSERT_NEAR(static_cast<double>(soft[place(i)]), p, 2e-6 * p + 1e-12)
          << "result " << r << " element " << i;
      ASSERT_NEAR(static_cast<double>(log_soft[place(i)]), log_p,
                  3e-6 * std::max(1.0, std::abs(log_p)));
      ASSERT_NEAR(static_cast<double>(back[place(i)]), p * (gi - dot), 3e-5 * p + 1e-9);
      ASSERT_NEAR(static_cast<double>(log_back[place(i)]), gi - p * sum,
                  1e-5 * std::max(1.0, std::abs(sum)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Fold, testing::ValuesIn(kLayouts),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Reduce, OddStrides) {
  const V v = values(2 * 3 * 40 * 50);
  const Tensor host = tenon::tensor(v, {6, 40, 50});
  const auto views = [](const Tensor& t) {
    return std::vector<Tensor>{tenon::flip(t, {0, 2}), tenon::permute(t, {2, 0, 1}),
                               tenon::slice(t, 2, 1, 48, 3),
                               tenon::expand(tenon::slice(t, 1, 7, 8), {6, 33, 50})};
  };
  const std::vector<Tensor> wanted = views(host), got = views(to_gpu(host));
  for (size_t k = 0; k < wanted.size(); ++k) {
    for (const std::vector<int64_t>& dims :
         std::vector<std::vector<int64_t>>{{0}, {1}, {2}, {0, 2}, {0, 1, 2}}) {
      const V a = tenon::sum(got[k], dims).to_vector<float>(),
              b = tenon::sum(wanted[k], dims).to_vector<float>();
      ASSERT_EQ(a.size(), b.size());
      for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-3f) << "view " << k;
    }
    EXPECT_EQ(tenon::argmax(got[k]).to_vector<int64_t>(),
              tenon::argmax(wanted[k]).to_vector<int64_t>())
        << "view " << k;
  }
}

// Of equal elements the first is reported, wherever they are; NaN wins.
TEST(Reduce, TiesAndNan) {
  V v(1 << 20, 1.0f);
  v[70007] = v[70008] = v[900000] = 2.0f;
  const auto first = [&] {
    return tenon::argmax(to_gpu(tenon::tensor(v, {1 << 20}))).to_vector<int64_t>()[0];
  };
  EXPECT_EQ(first(), 70007);
  v[800001] = v[800000] = NAN;
  EXPECT_EQ(first(), 800000);
  EXPECT_TRUE(std::isnan(tenon::max(to_gpu(tenon::tensor(v, {1 << 20}))).to_vector<float>()[0]));
}

// Squares and powers that f32 cannot represent.
TEST(Reduce, NormsNearTheEdges) {
  for (const double scale : {1e25, 1e-25, 1.0}) {
    const Tensor x =
        to_gpu(tenon::tensor(V{static_cast<float>(3 * scale), static_cast<float>(-4 * scale), 0}));
    EXPECT_NEAR(static_cast<double>(tenon::norm(x, 2).to_vector<float>()[0]) / scale, 5.0, 1e-5);
    EXPECT_NEAR(static_cast<double>(tenon::norm(x, 3).to_vector<float>()[0]) / scale,
                std::cbrt(91.0), 1e-5);
  }
  const Tensor none = to_gpu(tenon::tensor(V{}, {0}));
  EXPECT_EQ(tenon::norm(none, 3).to_vector<float>()[0], 0.0f);
  const Tensor edges = to_gpu(tenon::tensor(V{1, INFINITY, 2}));
  EXPECT_TRUE(std::isinf(tenon::norm(edges, 2).to_vector<float>()[0]));
  EXPECT_TRUE(std::isinf(tenon::norm(edges, 3).to_vector<float>()[0]));
  EXPECT_EQ(tenon::norm(to_gpu(tenon::tensor(V{1, 0, 2})), -2).to_vector<float>()[0], 0.0f);
}

}  // namespace
