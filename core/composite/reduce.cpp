// Reductions, and ops along one dimension.
#include <cmath>
#include <limits>

#include "composite/composite.hpp"

namespace {

// How many elements of x go into one result.
double reduced_count(const CompositeArgs& in, const Tensor& x) {
  const uint32_t mask = in.frame().dim_mask(1, static_cast<uint32_t>(x.ndim()));
  double n = 1;
  for (int64_t d = 0; d < x.ndim(); ++d)
    if ((mask >> d & 1u) != 0) n *= static_cast<double>(x.shape(d));
  return n;
}

// Integers and bool as f32, which their averages have.
Tensor fraction(const Tensor& x) {
  return is_floating(x.dtype()) || is_complex(x.dtype()) ? x : x.to(DType::F32);
}

}  // namespace

TN_DECOMPOSE(mean) {
  const Tensor x = fraction(in.tensor(0));
  out[0] = sum(x, in.ints_or_none(1), in.flag(2)) / reduced_count(in, x);
}

// Σ(x−x̄)²/(n−correction)
TN_DECOMPOSE(var) {
  const Tensor x = fraction(in.tensor(0));
  const double n = reduced_count(in, x), free = std::max(n - in.real(2), 0.0);
  const Tensor mean = sum(x, in.ints_or_none(1), true) / n;
  out[0] = sum(square(x - mean), in.ints_or_none(1), in.flag(3)) / free;
}

// √var; its gradient at 0 is 0
TN_DECOMPOSE(std) {
  const Tensor v = var(in.tensor(0), in.ints_or_none(1), in.real(2), in.flag(3));
  const Tensor flat = v == 0;
  out[0] = where(flat, 0, sqrt(where(flat, 1, v)));
}

TN_DECOMPOSE(count_nonzero) {
  out[0] = sum(in.tensor(0) != 0, in.ints_or_none(1), in.flag(2), DType::I64);
}

// m + ln Σ e^(x−m) with the largest element m
TN_DECOMPOSE(logsumexp) {
  const Tensor x = fraction(in.tensor(0));
  const auto dims = in.ints_or_none(1);
  if (reduced_count(in, x) == 0) {
    out[0] = log(sum(exp(x), dims, in.flag(2)));
    return;
  }
  const Tensor most = max(x, dims, true), shift = where(isfinite(most), most, 0);
  const Tensor total = log(sum(exp(x - shift), dims, in.flag(2)));
  out[0] = total + reshape(shift, total.shape());
}

// e^(x−m)/Σ e^(x−m)
TN_DECOMPOSE(softmax) {
  const Tensor x = fraction(in.tensor(0));
  if (x.numel() == 0 || x.ndim() == 0) {
    out[0] = x.ndim() == 0 ? x / x : clone(x);
    return;
  }
  const Tensor e = exp(x - max(x, in.integer(1), true));
  out[0] = e / sum(e, in.integer(1), true);
}

// x − m − ln Σ e^(x−m)
TN_DECOMPOSE(log_softmax) {
  const Tensor x = fraction(in.tensor(0));
  if (x.numel() == 0 || x.ndim() == 0) {
    out[0] = x.ndim() == 0 ? x - x : clone(x);
    return;
  }
  const Tensor shifted = x - max(x, in.integer(1), true);
  out[0] = shifted - log(sum(exp(shifted), in.integer(1), true));
}

// y·(g − Σ g·y)
TN_DECOMPOSE(softmax_backward) {
  const Tensor g = in.tensor(0), y = in.tensor(1);
  out[0] = y * (g - sum(g * y, in.integer(2), true));
}

// g − eʸ·Σ g
TN_DECOMPOSE(log_softmax_backward) {
  const Tensor g = in.tensor(0), y = in.tensor(1);
  out[0] = g - exp(y) * sum(g, in.integer(2), true);
}

TN_DECOMPOSE(argsort) {
  out[0] = sort(in.tensor(0), in.integer(1), in.flag(2), in.flag(3)).indices;
}
