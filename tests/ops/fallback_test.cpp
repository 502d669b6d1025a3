// Decompositions, which a backend without a kernel runs, give the same results as the CPU's kernels.
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>

#include "dispatch/frame.hpp"
#include "tenon/tenon.hpp"

namespace {

using tenon::Tensor;
using Shape = std::vector<int64_t>;

// Repeats every call of an op through its decomposition, if it has one, and compares.
class Watch {
 public:
  Watch() {
    hooks_.struct_size = sizeof(hooks_);
    hooks_.ctx = this;
    hooks_.after = [](void* ctx, const tn_op* op, const tn_value* args, uint32_t nargs,
                      tn_tensor* const* outs, uint32_t nouts,
                      tn_str) { static_cast<Watch*>(ctx)->compare(*op, args, nargs, outs, nouts); };
    tn_call_hooks_set(&hooks_);
  }
  ~Watch() { tn_call_hooks_set(nullptr); }
  std::set<std::string> seen;

 private:
  void compare(const tn_op& op, const tn_value* args, uint32_t nargs, tn_tensor* const* outs,
               uint32_t nouts) {
    if (op.decompose == nullptr || op.kind != tenon::core::OpKind::Kernel) return;
    tn_call_hooks_set(nullptr);
    seen.insert(std::string(op.name()));
    tenon::core::Frame frame(op, args, nargs);
    op.rule(frame);
    tn_tensor* results[tenon::core::kMaxResults] = {};
    op.decompose(frame, results);
    for (uint32_t k = 0; k < nouts; ++k)
      expect_close(Tensor::adopt(results[k]), Tensor::share(outs[k]),
                   std::string(op.name()) + " result " + std::to_string(k));
    tn_call_hooks_set(&hooks_);
  }

  static void expect_close(const Tensor& found, const Tensor& expected, const std::string& what) {
    ASSERT_TRUE(std::ranges::equal(found.shape(), expected.shape())) << what;
    ASSERT_EQ(found.dtype(), expected.dtype()) << what;
    const auto a = found.to(tenon::DType::F64).to_vector<double>(),
               b = expected.to(tenon::DType::F64).to_vector<double>();
    const double tolerance = expected.dtype() == tenon::DType::F64   ? 1e-12
                             : expected.dtype() == tenon::DType::F32 ? 1e-5
                                                                     : 2e-2;
    for (size_t i = 0; i < a.size(); ++i) {
      if ((std::isnan(a[i]) && std::isnan(b[i])) || a[i] == b[i]) continue;
      ASSERT_NEAR(a[i], b[i], tolerance * std::max(1.0, std::abs(b[i]))) << what << " at " << i;
    }
  }

  tn_call_hooks hooks_{};
};

Tensor random(const Shape& shape, unsigned seed, double low = -2, double high = 2) {
  int64_t n = 1;
  for (const int64_t size : shape) n *= size;
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<double> values(static_cast<size_t>(n));
  for (double& value : values) value = uniform(engine);
  return tenon::tensor(values, shape);
}

void elementwise(tenon::DType dtype) {
  const Tensor x = random({3, 5}, 1).to(dtype), g = random({3, 5}, 2).to(dtype),
               p = random({3, 5}, 3, 0.5, 2).to(dtype);
  square(x), reciprocal(p), rsqrt(p);
  gelu_backward(g, x), gelu_backward(g, x, "tanh"), silu_backward(g, x), relu_backward(g, relu(x));
  sigmoid_backward(g, sigmoid(x)), tanh_backward(g, tanh(x));
  tril(x), triu(x, 1), tril(x, -1), triu(x, -2);
}

void reductions(tenon::DType dtype) {
  const Tensor x = random({3, 4, 5}, 4).to(dtype), g = random({3, 4, 5}, 5).to(dtype);
  for (const Shape& dims : {Shape{0}, Shape{1, 2}, Shape{0, -1}}) {
    mean(x, dims), var(x, dims), var(x, dims, 0.0, true), logsumexp(x, dims), mean(x, dims, true),
        logsumexp(x, dims, true);
  }
  mean(x), var(x), logsumexp(x);
  for (const int64_t dim : {0, 1, -1}) {
    const Tensor soft = softmax(x, dim), log_soft = log_softmax(x, dim);
    softmax_backward(g, soft, dim), log_softmax_backward(g, log_soft, dim);
  }
  const Tensor rows = reshape(x, {12, 5}), classes = tenon::arange(0, 12) % 5;
  for (const char* reduction : {"none", "sum", "mean"}) {
    const auto entropy = softmax_cross_entropy(rows, classes, {}, reduction, 3);
    softmax_cross_entropy_backward(entropy.loss, rows, classes, entropy.counted, entropy.lse);
  }
  const Tensor low = full({2, 3}, -INFINITY, dtype);
  logsumexp(low, 1);
}

void normalisations(tenon::DType dtype) {
  const auto stat = dtype == tenon::DType::F64 ? dtype : tenon::DType::F32;
  const Tensor x = random({4, 6, 5}, 6).to(dtype), g = random({4, 6, 5}, 7).to(dtype);
  const Tensor w = random({6, 5}, 8).to(stat), b = random({6, 5}, 9).to(stat),
               wc = random({6}, 10).to(stat), bc = random({6}, 11).to(stat),
               v = random({6}, 12, 0.5, 2).to(stat);
  for (const bool affine : {true, false}) {
    const Tensor weight = affine ? w : Tensor(), bias = affine ? b : Tensor(),
                 cw = affine ? wc : Tensor(), cb = affine ? bc : Tensor();
    const auto low = layer_norm(x, {6, 5}, w.to(dtype), b.to(dtype));
    layer_norm_backward(g, x, low.mean, low.rstd, w.to(dtype), {6, 5});
    const auto layer = layer_norm(x, {6, 5}, weight, bias);
    layer_norm_backward(g, x, layer.mean, layer.rstd, weight, {6, 5});
    const auto rms = rms_norm(x, {6, 5}, weight);
    rms_norm_backward(g, x, rms.rstd, weight, {6, 5});
    const auto group = group_norm(x, 3, cw, cb);
    group_norm_backward(g, x, group.mean, group.rstd, cw, 3);
    for (const bool training : {true, false}) {
      const auto batch = batch_norm(x, cw, cb, bc, v, training);
      batch_norm_backward(g, x, batch.mean, batch.rstd, cw, training);
    }
  }
}

TEST(Fallback, EqualsKernels) {
  Watch watch;
  for (const auto dtype : {tenon::DType::F64, tenon::DType::F32, tenon::DType::BF16}) {
    elementwise(dtype);
    reductions(dtype);
    normalisations(dtype);
  }
  for (const char* name : {"square",
                           "reciprocal",
                           "rsqrt",
                           "gelu_backward",
                           "silu_backward",
                           "relu_backward",
                           "sigmoid_backward",
                           "tanh_backward",
                           "tril",
                           "triu",
                           "mean",
                           "var",
                           "logsumexp",
                           "softmax",
                           "log_softmax",
                           "softmax_backward",
                           "log_softmax_backward",
                           "softmax_cross_entropy",
                           "softmax_cross_entropy_backward",
                           "layer_norm",
                           "layer_norm_backward",
                           "rms_norm",
                           "rms_norm_backward",
                           "group_norm",
                           "group_norm_backward",
                           "batch_norm",
                           "batch_norm_backward"})
    EXPECT_TRUE(watch.seen.contains(name)) << name;
}

TEST(Fallback, ProductsAndPools) {
  Watch watch;
  const Tensor x = random({2, 3, 5, 6}, 1), w = random({4, 6}, 2), b = random({4}, 3);
  for (const char* activation : {"none", "relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh"})
    linear(x, w, b, activation), linear(x, w, {}, activation);
  adaptive_avg_pool(x, {3, 4}), adaptive_avg_pool(x, {1}), adaptive_avg_pool(x, {7, 9});
  adaptive_avg_pool_backward(random({2, 3, 3, 4}, 4), {2, 3, 5, 6});
  const auto g_of = [](const Tensor& y) {
    return random(Shape(y.shape().begin(), y.shape().end()), 5);
  };
  for (const bool up : {false, true})
    for (const bool count : {false, true}) {
      const Tensor y = avg_pool(x, {3, 2}, {2, 1}, {1, 1}, up, count);
      avg_pool_backward(g_of(y), x.shape(), {3, 2}, {2, 1}, {1, 1}, up, count);
    }
  const auto pooled = max_pool(x, {3}, {2}, {1});
  max_pool_backward(g_of(pooled.values), pooled.indices, x.shape());
  for (const char* name : {"linear", "adaptive_avg_pool", "adaptive_avg_pool_backward",
                           "avg_pool_backward", "max_pool_backward"})
    EXPECT_TRUE(watch.seen.contains(name)) << name;
}

TEST(Fallback, IndexingAndLosses) {
  Watch watch;
  const Tensor x = random({4, 6}, 1);
  slice_scatter(x, random({4, 3}, 2), 1, 0, 6, 2),
      slice_scatter(x.t(), random({6, 2}, 3), -1, 1, 3);
  as_strided_scatter(x, random({2, 3}, 4), {2, 3}, {7, 2}, 1),
      as_strided_scatter(x.t(), random({3}, 4), {3}, {5});
  embedding(x, tenon::tensor({{3, 0}, {1, 1}}));
  const Tensor target = tenon::tensor({5, 0, 2, 5}), weight = random({6}, 5, 0.5, 2);
  for (const char* how : {"none", "mean", "sum"})
    for (const Tensor& w : {weight, Tensor()}) {
      const auto loss = nll_loss(x, target, w, how, 2);
      nll_loss_backward(full_like(loss.loss, 0.7), x, target, w, loss.total_weight, how, 2);
    }
  for (const char* name :
       {"slice_scatter", "as_strided_scatter", "embedding", "nll_loss", "nll_loss_backward"})
    EXPECT_TRUE(watch.seen.contains(name)) << name;
}

}  // namespace
