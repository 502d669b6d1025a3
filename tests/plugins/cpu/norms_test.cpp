// softmax, normalisations and nll_loss, forward and backward, compared with formulas in double precision.
#include "layouts.hpp"

namespace {

using namespace reference;
using tenon::DType;
using tenon::Tensor;

// Treats x as rows along `dim`: calls f(offset, step, n) for each row.
template <class F>
void for_rows(const Shape& shape, size_t dim, F&& f) {
  int64_t step = 1;
  for (size_t d = dim + 1; d < shape.size(); ++d) step *= shape[d];
  const int64_t n = shape[dim], total = count(shape);
  for (int64_t i = 0; i < total; ++i)
    if (i / step % n == 0) f(i, step, n);
}

class Rows : public testing::TestWithParam<DType> {};

TEST_P(Rows, SoftmaxAndBackward) {
  const DType dtype = GetParam();
  for (const auto& [layout, x] : layouts(dtype, 21, -8, 8)) {
    const Array a = array_of(x);
    const Tensor gt = to_tensor(random_array(a.shape, 22), dtype);
    const Array g = array_of(gt);
    for (size_t dim = 0; dim < 3; ++dim) {
      Array soft(a.shape), logs(a.shape), back(a.shape), log_back(a.shape);
      const auto d = static_cast<int64_t>(dim);
      const Tensor ys = tenon::softmax(x, d), yl = tenon::log_softmax(x, d - 3);
      const Array s = array_of(ys), l = array_of(yl);
      for_rows(a.shape, dim, [&](int64_t at, int64_t step, int64_t n) {
        double sum = 0, dot = 0, gs = 0;
        for (int64_t i = 0; i < n; ++i) {
          sum += std::exp(a[at + i * step]);
          dot += g[at + i * step] * s[at + i * step];
          gs += g[at + i * step];
        }
        for (int64_t i = 0; i < n; ++i) {
          const int64_t k = at + i * step;
          soft[k] = std::exp(a[k]) / sum;
          logs[k] = a[k] - std::log(sum);
          back[k] = s[k] * (g[k] - dot);
          log_back[k] = g[k] - std::exp(l[k]) * gs;
        }
      });
      const double tol = 2 * tolerance(dtype);
      expect_close(ys, soft, tol, "softmax " + layout);
      expect_close(yl, logs, tol, "log_softmax " + layout);
      expect_close(tenon::softmax_backward(gt, ys, d), back, 2 * tol, "softmax_backward " + layout);
      expect_close(tenon::log_softmax_backward(gt, yl, d), log_back, 4 * tol,
                   "log_softmax_backward " + layout);
    }
  }
}

// Statistics over the last `inner` elements; gamma and beta have that size.
struct Normed {
  Array y, mean, rstd, gx, gw, gb;
};
Normed normalize(const Array& x, const Array& g, int64_t inner, const Array& w, const Array& b,
                 double eps, bool rms) {
  const int64_t rows = inner == 0 ? 0 : count(x.shape) / inner;
  Normed r{Array(x.shape), Array({rows}),  Array({rows}),
           Array(x.shape), Array({inner}), Array({inner})};
  for (int64_t i = 0; i < rows; ++i) {
    double mean = 0, square = 0, sum = 0, dot = 0;
    for (int64_t j = 0; j < inner; ++j)
      mean += rms ? 0 : x[i * inner + j] / static_cast<double>(inner);
    for (int64_t j = 0; j < inner; ++j)
      square += std::pow(x[i * inner + j] - mean, 2) / static_cast<double>(inner);
    const double rstd = 1 / std::sqrt(square + eps);
    r.mean[i] = mean;
    r.rstd[i] = rstd;
    for (int64_t j = 0; j < inner; ++j) {
      const int64_t k = i * inner + j;
      const double hat = (x[k] - mean) * rstd;
      r.y[k] = hat * w[j] + b[j];
      sum += rms ? 0 : g[k] * w[j] / static_cast<double>(inner);
      dot += g[k] * w[j] * hat / static_cast<double>(inner);
      r.gw[j] += g[k] * hat;
      r.gb[j] += g[k];
    }
    for (int64_t j = 0; j < inner; ++j) {
      const int64_t k = i * inner + j;
      r.gx[k] = rstd * (g[k] * w[j] - sum - (x[k] - mean) * rstd * dot);
    }
  }
  return r;
}

TEST_P(Rows, LayerAndRmsNorm) {
  const DType dtype = GetParam(), stat = dtype == DType::F64 ? DType::F64 : DType::F32;
  const double tol = 4 * tolerance(dtype);
  for (const Shape& shape :
       std::vector<Shape>{{4, 5, 6}, {3, 17}, {2, 1000}, {200, 33}, {1, 9000}, {7, 1}}) {
    for (size_t dims = 1; dims < shape.size(); ++dims) {
      const Shape norm(shape.end() - static_cast<int64_t>(dims), shape.end());
      const Tensor x = to_tensor(random_array(shape, 31), dtype),
                   g = to_tensor(random_array(shape, 32), dtype);
      const Tensor w = to_tensor(random_array(norm, 33), stat),
                   b = to_tensor(random_array(norm, 34), stat);
      const Array one(norm, 1), zero(norm, 0), aw = array_of(w), ab = array_of(b);
      const std::string what = std::to_string(shape[0]) + "…" + std::to_string(count(norm));
      const double rows = static_cast<double>(count(shape)) / static_cast<double>(count(norm));
      for (bool affine : {true, false}) {
        const Array& rw = affine ? aw : one;
        const Array& rb = affine ? ab : zero;
        Normed want = normalize(array_of(x), array_of(g), count(norm), rw, rb, 1e-5, false);
        const auto got = tenon::layer_norm(x, norm, affine ? w : Tensor(), affine ? b : Tensor());
        expect_close(got.y, want.y, tol, "y " + what);
        want.mean.shape = want.rstd.shape = shape_of(got.mean);
        expect_close(got.mean, want.mean, 1e-5, "mean " + what);
        expect_close(got.rstd, want.rstd, count(norm) == 1 ? 1 : 1e-5, "rstd " + what);
        const auto back =
            tenon::layer_norm_backward(g, x, got.mean, got.rstd, affine ? w : Tensor(), norm);
        want.gw.shape = want.gb.shape = norm;
        if (count(norm) > 1) expect_close(back.gx, want.gx, 2 * tol, "gx " + what);
        expect_close(back.gweight, want.gw, 4e-6 * (8 + rows), "gweight " + what);
        expect_close(back.gbias, want.gb, 4e-6 * (8 + rows), "gbias " + what);

        Normed rms = normalize(array_of(x), array_of(g), count(norm), rw, zero, 1e-5, true);
        const auto rms_got = tenon::rms_norm(x, norm, affine ? w : Tensor());
        expect_close(rms_got.y, rms.y, tol, "rms y " + what);
        const auto rms_back =
            tenon::rms_norm_backward(g, x, rms_got.rstd, affine ? w : Tensor(), norm);
        rms.gw.shape = norm;
        if (count(norm) > 1) expect_close(rms_back.gx, rms.gx, 2 * tol, "rms gx " + what);
        expect_close(rms_back.gweight, rms.gw, 4e-6 * (8 + rows), "rms gweight " + what);
      }
    }
  }
}

// x (N, C, S) with its channels grouped: (n, group) rows for group_norm, one row for each channel for batch_norm.
void check_channels(DType dtype, const Shape& shape, int64_t groups, bool batch, bool training,
                    bool affine) {
  const DType stat = dtype == DType::F64 ? DType::F64 : DType::F32;
  const Tensor x = to_tensor(random_array(shape, 41), dtype),
               g = to_tensor(random_array(shape, 42), dtype);
  const int64_t n = shape[0], c = shape[1], s = count(shape) / std::max<int64_t>(1, n * c);
  const Tensor w = affine ? to_tensor(random_array({c}, 43), stat) : Tensor(),
               b = affine ? to_tensor(random_array({c}, 44), stat) : Tensor();
  const Tensor rm = to_tensor(random_array({c}, 45), stat),
               rv = to_tensor(random_array({c}, 46, 0.5, 2), stat);
  const Array ax = array_of(x), ag = array_of(g), aw = affine ? array_of(w) : Array({c}, 1),
              ab = affine ? array_of(b) : Array({c}, 0);
  const Array am = array_of(rm), av = array_of(rv);
  const int64_t sets = batch ? c : n * groups;
  const auto set_of = [&](int64_t i) { return batch ? i / s % c : i / (s * c / groups); };
  std::vector<double> mean(static_cast<size_t>(sets)), var(mean), size(mean), sum(mean), dot(mean);
  for (int64_t i = 0; i < count(shape); ++i) size[static_cast<size_t>(set_of(i))] += 1;
  for (int64_t i = 0; i < count(shape); ++i)
    mean[static_cast<size_t>(set_of(i))] += ax[i] / size[static_cast<size_t>(set_of(i))];
  for (int64_t i = 0; i < count(shape); ++i) {
    const auto k = static_cast<size_t>(set_of(i));
    var[k] += (ax[i] - mean[k]) * (ax[i] - mean[k]) / size[k];
  }
  if (batch && !training) mean = am.v, var = av.v;
  Array y(shape), gx(shape), gw({c}), gb({c});
  const auto hat = [&](int64_t i) {
    const auto k = static_cast<size_t>(set_of(i));
    return (ax[i] - mean[k]) / std::sqrt(var[k] + 1e-5);
  };
  for (int64_t i = 0; i < count(shape); ++i) {
    const int64_t ch = i / s % c;
    const auto k = static_cast<size_t>(set_of(i));
    y[i] = hat(i) * aw[ch] + ab[ch];
    gw[ch] += ag[i] * hat(i);
    gb[ch] += ag[i];
    sum[k] += ag[i] * aw[ch] / size[k];
    dot[k] += ag[i] * aw[ch] * hat(i) / size[k];
  }
  for (int64_t i = 0; i < count(shape); ++i) {
    const auto k = static_cast<size_t>(set_of(i));
    const double own = ag[i] * aw[i / s % c],
                 rest = batch && !training ? 0 : sum[k] + hat(i) * dot[k];
    gx[i] = (own - rest) / std::sqrt(var[k] + 1e-5);
  }
  const double tol = 8 * tolerance(dtype),
               wide = 4e-6 * (20 + static_cast<double>(count(shape)) / static_cast<double>(c));
  const std::string what = std::string(batch ? "batch " : "group ") + std::to_string(n) + " " +
                           std::to_string(c) + " " + std::to_string(s);
  if (batch) {
    const auto got =
        tenon::batch_norm(x, w, b, training ? Tensor() : rm, training ? Tensor() : rv, training);
    expect_close(got.y, y, tol, "y " + what);
    const auto back = tenon::batch_norm_backward(g, x, got.mean, got.rstd, w, training);
    expect_close(back.gx, gx, 2 * tol, "gx " + what);
    expect_close(back.gweight, gw, wide, "gweight " + what);
    expect_close(back.gbias, gb, wide, "gbias " + what);
  } else {
    const auto got = tenon::group_norm(x, groups, w, b);
    expect_close(got.y, y, tol, "y " + what);
    const auto back = tenon::group_norm_backward(g, x, got.mean, got.rstd, w, groups);
    expect_close(back.gx, gx, 2 * tol, "gx " + what);
    expect_close(back.gweight, gw, wide, "gweight " + what);
    expect_close(back.gbias, gb, wide, "gbias " + what);
  }
}

TEST_P(Rows, BatchAndGroupNorm) {
  for (const Shape& shape : std::vector<Shape>{
           {4, 6, 5, 5}, {64, 10}, {3, 4, 2}, {200, 4, 3}, {2, 4, 40, 60}, {5, 1, 30}, {3, 300}}) {
    for (bool affine : {true, false}) {
      for (bool training : {true, false})
        check_channels(GetParam(), shape, 1, true, training, affine);
      if (count(shape) / shape[0] == shape[1] && shape[1] < 20) continue;
      for (int64_t groups : {int64_t{1}, shape[1] % 2 == 0 ? int64_t{2} : shape[1]})
        check_channels(GetParam(), shape, groups, false, true, affine);
    }
  }
}

TEST_P(Rows, NllLoss) {
  const DType dtype = GetParam();
  for (const Shape& shape : std::vector<Shape>{{7, 5}, {3, 4, 2, 3}, {6}}) {
    const Tensor x = to_tensor(random_array(shape, 51, -4, 0), dtype);
    const Array a = array_of(x);
    const size_t channel = shape.size() == 1 ? 0 : 1;
    const int64_t c = shape[channel], s = shape.size() < 3 ? 1 : count(shape) / shape[0] / c;
    Shape outer = shape;
    outer.erase(outer.begin() + static_cast<int64_t>(channel));
    std::vector<int64_t> target;
    for (int64_t i = 0; i < count(outer); ++i)
      target.push_back(i % 3 == 2 && !outer.empty() ? -100 : i * 7 % c);
    const Tensor t = tenon::tensor(target, outer),
                 w = to_tensor(random_array({c}, 52, 0.5, 2), dtype);
    for (bool weighted : {false, true}) {
      const Array aw = weighted ? array_of(w) : Array({c}, 1);
      Array each(outer), back(shape), back_each(shape);
      double loss = 0, total = 0;
      const auto place = [&](int64_t i) {
        return (i / s * c + target[static_cast<size_t>(i)]) * s + i % s;
      };
      for (int64_t i = 0; i < count(outer); ++i) {
        if (target[static_cast<size_t>(i)] < 0) continue;
        each[i] = -aw[target[static_cast<size_t>(i)]] * a[place(i)];
        loss += each[i];
        total += aw[target[static_cast<size_t>(i)]];
      }
      for (int64_t i = 0; i < count(outer); ++i) {
        if (target[static_cast<size_t>(i)] < 0) continue;
        back[place(i)] = -aw[target[static_cast<size_t>(i)]] / total;
        back_each[place(i)] = back[place(i)] * total;
      }
      const Tensor weight = weighted ? w : Tensor();
      const double tol = 4 * tolerance(dtype);
      expect_close(tenon::nll_loss(x, t, weight, "none").loss, each, tol, "none");
      expect_close(tenon::nll_loss(x, t, weight, "sum").loss, Array({}, loss), tol, "sum");
      const auto mean = tenon::nll_loss(x, t, weight, "mean");
      expect_close(mean.loss, Array({}, loss / total), tol, "mean");
      expect_close(mean.total_weight, Array({}, total), tol, "total");
      const Tensor one = tenon::ones({}, dtype), ones = tenon::ones(outer, dtype);
      expect_close(tenon::nll_loss_backward(one, x, t, weight, mean.total_weight, "mean"), back,
                   tol, "backward mean");
      expect_close(tenon::nll_loss_backward(one, x, t, weight, mean.total_weight, "sum"), back_each,
                   tol, "backward sum");
      expect_close(tenon::nll_loss_backward(ones, x, t, weight, mean.total_weight, "none"),
                   back_each, tol, "backward none");
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Floats, Rows,
                         testing::Values(DType::F16, DType::BF16, DType::F32, DType::F64));

TEST(Softmax, LongRowsAndExtremes) {
  for (int64_t n : {1, 15, 16, 17, 4096, 4097, 300000}) {
    const Tensor x = to_tensor(random_array({2, n}, 61, -5, 5), DType::F32);
    const Array a = array_of(x);
    Array want({2, n}), logs({2, n});
    for_rows(a.shape, 1, [&](int64_t at, int64_t, int64_t) {
      double sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += std::exp(a[at + i]);
      for (int64_t i = 0; i < n; ++i) {
        want[at + i] = std::exp(a[at + i]) / sum;
        logs[at + i] = a[at + i] - std::log(sum);
      }
    });
    expect_close(tenon::softmax(x, 1), want, 1e-6, "softmax " + std::to_string(n));
    expect_close(tenon::log_softmax(x, 1), logs, 4e-6, "log_softmax " + std::to_string(n));
  }
  const float inf = INFINITY;
  expect_close(tenon::softmax(tenon::tensor({1000.f, 1000.f, -inf, -1000.f}), 0),
               array_of(tenon::tensor({0.5f, 0.5f, 0.f, 0.f})), 1e-7, "large");
  for (const float x : tenon::softmax(tenon::tensor({1.f, NAN, 2.f}), 0).to_vector<float>())
    EXPECT_TRUE(std::isnan(x));
  EXPECT_EQ(tenon::softmax(tenon::zeros({3, 0}), 1).numel(), 0);
  EXPECT_NE(error_of([] {
              tenon::softmax(tenon::zeros({2, 3}), 3);
            }).find("[softmax] dim 3 out of range"),
            std::string::npos);
}

TEST(NllLoss, RefusesBadTargets) {
  const Tensor x = tenon::zeros({3, 4});
  EXPECT_NE(error_of([&] {
              tenon::nll_loss(x, tenon::tensor({0, 4, 1}));
            }).find("[nll_loss] target 4 at position 1"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              tenon::nll_loss(x, tenon::tensor({0, 1}));
            }).find("[nll_loss] target has shape (2"),
            std::string::npos);
  EXPECT_TRUE(std::isnan(tenon::nll_loss(x, tenon::tensor({-100, -100, -100})).loss.item<float>()));
}

}  // namespace
