// Gradients of normalisations. The fused backward op gives those through y; mean and rstd are
// results too, so that the second gradient reaches x through them: dx̄ = 1/n·dx, d(rstd) =
// −rstd³·(x−x̄)/n·dx.
#include "autograd/grad_tools.hpp"

namespace {

// Gradient to x of mean (may be undefined) and rstd, n elements to each; statistics in a shape that
// broadcasts with x.
Tensor through_statistics(const Tensor& x, const Tensor& mean, const Tensor& rstd,
                          const Tensor& gmean, const Tensor& grstd, double n) {
  Tensor total;
  if (grstd.defined()) {
    const Tensor scale = grstd * (square(rstd) * rstd) * (-1 / n);
    total = scale * (mean.defined() ? x - mean : x);
  }
  if (!gmean.defined()) return total;
  const Tensor share = gmean / n;
  return total.defined() ? total + share : expand(share, x.shape());
}

Tensor plus(const Tensor& a, const Tensor& b) {
  return !a.defined() ? b : !b.defined() ? a : a + b;
}

// What the fused op gives: parameters' gradients are set from argument `at` on, x's is returned; undefined where no gradient
// of y arrived.
template <class Fused>
Tensor through_y(GradCall& c, uint32_t at, Fused&& fused) {
  if (!c.grad().defined()) return {};
  const auto grads = fused(c.grad());
  if (c.needs(at)) c.set(at, grads.gweight);
  if constexpr (requires { grads.gbias; })
    if (c.needs(at + 1)) c.set(at + 1, grads.gbias);
  return grads.gx;
}

// A result in another shape, when there is one.
Tensor shaped(const Tensor& t, IntList shape) { return t.defined() ? reshape(t, shape) : t; }

}  // namespace

// y = (x−x̄)·rstd·w + b over the last dimensions, Ba et al. 2016
TN_GRADIENT(layer_norm, {.always = in_(0) | in_(2) | out_(1) | out_(2)}) {
  const Tensor x = c.in(0), mean = c.out(1), rstd = c.out(2);
  const auto shape = c.ints(1);
  const Tensor gx = through_y(
      c, 2, [&](const Tensor& g) { return layer_norm_backward(g, x, mean, rstd, c.in(2), shape); });
  if (!c.needs(0)) return;
  c.set(0, plus(gx, through_statistics(x, mean, rstd, c.grad(1), c.grad(2),
                                       static_cast<double>(product(shape)))));
}

// y = x·rstd·w with rstd = (mean x² + ε)^−½, Zhang and Sennrich 2019
TN_GRADIENT(rms_norm, {.always = in_(0) | in_(2) | out_(1)}) {
  const Tensor x = c.in(0), rstd = c.out(1);
  const auto shape = c.ints(1);
  const Tensor gx = through_y(
      c, 2, [&](const Tensor& g) { return rms_norm_backward(g, x, rstd, c.in(2), shape); });
  if (!c.needs(0)) return;
  c.set(0, plus(gx, through_statistics(x, {}, rstd, {}, c.grad(1),
                                       static_cast<double>(product(shape)))));
}

// layer_norm within each of `groups` groups of channels, Wu and He 2018
TN_GRADIENT(group_norm, {.always = in_(0) | in_(2) | out_(1) | out_(2)}) {
  const Tensor x = c.in(0), mean = c.out(1), rstd = c.out(2);
  const int64_t groups = c.integer(1);
  Tensor gx = through_y(c, 2, [&](const Tensor& g) {
    return group_norm_backward(g, x, mean, rstd, c.in(2), groups);
  });
  if (!c.needs(0)) return;
  if (c.grad(1).defined() || c.grad(2).defined()) {
    const int64_t n = x.shape(0), each = x.numel() / std::max<int64_t>(n * groups, 1);
    const Sizes outer(std::array<int64_t, 3>{n, groups, 1});
    const Tensor extra = through_statistics(reshape(x, {n, groups, each}), reshape(mean, outer),
                                            reshape(rstd, outer), shaped(c.grad(1), outer),
                                            shaped(c.grad(2), outer), static_cast<double>(each));
    gx = plus(gx, reshape(expand(extra, {n, groups, each}), x.shape()));
  }
  c.set(0, gx);
}

// y = (x−x̄)·rstd·w + b for each channel, Ioffe and Szegedy 2015; outside training x̄ and rstd are
// constants
TN_GRADIENT(batch_norm, {.always = in_(0) | in_(1) | out_(1) | out_(2)}) {
  const Tensor x = c.in(0), mean = c.out(1), rstd = c.out(2);
  const bool training = c.flag(5);
  Tensor gx = through_y(c, 1, [&](const Tensor& g) {
    return batch_norm_backward(g, x, mean, rstd, c.in(1), training);
  });
  if (!c.needs(0)) return;
  if (training && (c.grad(1).defined() || c.grad(2).defined())) {
    Sizes channels;
    for (int64_t d = 0; d < x.ndim(); ++d) channels.push(d == 1 ? x.shape(1) : 1);
    const double n =
        static_cast<double>(x.numel()) / static_cast<double>(std::max<int64_t>(x.shape(1), 1));
    gx = plus(gx, through_statistics(x, reshape(mean, channels), reshape(rstd, channels),
                                     shaped(c.grad(1), channels), shaped(c.grad(2), channels), n));
  }
  c.set(0, gx);
}
