// Lengths and distances of vectors.
#ifndef TENON_NN_DISTANCE_HPP
#define TENON_NN_DISTANCE_HPP

#include "tenon/nn/detail/check.hpp"
#include "tenon/nn/module_of.hpp"

namespace tenon::nn {

namespace functional {
// x₁ · x₂ / (|x₁| |x₂|) along a dimension; each length counts as at least eps.
inline Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t dim = 1,
                                double eps = 1e-8) {
  const auto unit = [&](const Tensor& x) { return x / x.norm(2, dim, true).clamp(eps); };
  return (unit(x1) * unit(x2)).sum(dim);
}
// The p-norm of x₁ - x₂ + eps along the last dimension.
inline Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p = 2, double eps = 1e-6,
                                bool keepdim = false) {
  return (x1 - x2 + eps).norm(p, -1, keepdim);
}
// The p-norm distances of all pairs of rows of x (n, d): n (n - 1) / 2 of them.
inline Tensor pdist(const Tensor& x, double p = 2) {
  if (x.ndim() != 2 || !is_floating(x.dtype()))
    nn::detail::refuse("pdist", "needs a floating matrix, not " + std::string(name_of(x.dtype())) +
                                    " of rank " + std::to_string(x.ndim()));
  const int64_t n = x.shape(0);
  const Tensor row = arange(0, n, 1, DType::I64, x.device());
  const Tensor above = (row.unsqueeze(1) < row).nonzero();  // (pairs, 2)
  return (x.index_select(0, above.select(1, 0)) - x.index_select(0, above.select(1, 1)))
      .norm(p, -1);
}
// x over its p-norm along a dimension, which counts as at least eps.
inline Tensor normalize(const Tensor& x, double p = 2, int64_t dim = 1, double eps = 1e-12) {
  return x / x.norm(p, dim, true).clamp(eps);
}
}  // namespace functional

class CosineSimilarity : public ModuleOf<Tensor(const Tensor&, const Tensor&)> {
 public:
  explicit CosineSimilarity(int64_t dim = 1, double eps = 1e-8) : dim_(dim), eps_(eps) {}
  Tensor forward(const Tensor& x1, const Tensor& x2) override {
    return functional::cosine_similarity(x1, x2, dim_, eps_);
  }
  std::string describe() const override { return "CosineSimilarity"; }

 private:
  int64_t dim_;
  double eps_;
};

class PairwiseDistance : public ModuleOf<Tensor(const Tensor&, const Tensor&)> {
 public:
  explicit PairwiseDistance(double p = 2, double eps = 1e-6, bool keepdim = false)
      : p_(p), eps_(eps), keepdim_(keepdim) {}
  Tensor forward(const Tensor& x1, const Tensor& x2) override {
    return functional::pairwise_distance(x1, x2, p_, eps_, keepdim_);
  }
  std::string describe() const override { return "PairwiseDistance"; }

 private:
  double p_, eps_;
  bool keepdim_;
};

}  // namespace tenon::nn
#endif
