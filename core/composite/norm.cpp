// Normalisations, forward and backward. With x̂ = (x−x̄)·rstd and h = g·w, over the n elements that
// share statistics: dx = rstd·(h − mean h − x̂·mean(h·x̂)), dw = Σ g·x̂, db = Σ g (Ioffe and Szegedy
// 2015, Ba et al. 2016).
#include "composite/composite.hpp"

namespace {

using Shape = std::vector<int64_t>;

// What x is normalised in: f32 for shorter numbers and integers.
DType working_dtype(DType dtype) { return dtype == DType::F64 ? DType::F64 : DType::F32; }
DType result_dtype(DType dtype) { return is_floating(dtype) ? dtype : DType::F32; }
Tensor working(const Tensor& x) { return x.to(working_dtype(x.dtype())); }

Shape iota(int64_t from, int64_t to) {
  Shape dims;
  for (int64_t d = from; d < to; ++d) dims.push_back(d);
  return dims;
}

// All dimensions but the channels', and the shape in which (C) broadcasts with x.
Shape but_channels(const Tensor& x) {
  Shape dims = iota(1, x.ndim());
  dims[0] = 0;
  return dims;
}
Tensor per_channel(const Tensor& t, const Tensor& x) {
  Shape shape(x.ndim(), 1);
  shape[1] = t.numel();
  return reshape(t, shape);
}

struct Normed {
  Tensor y, mean, rstd;
};
// y = (x−x̄)/√(var + ε) over dims, statistics with dimensions kept.
Normed normalise(const Tensor& x, const Shape& dims, double eps) {
  const Tensor average = mean(x, dims, true), centred = x - average;
  const Tensor scale = rsqrt(mean(square(centred), dims, true) + eps);
  return {centred * scale, average, scale};
}

Tensor affine(Tensor y, const Tensor& weight, const Tensor& bias) {
  if (weight.defined()) y = y * weight;
  return bias.defined() ? y + bias : y;
}

// The gradient through the statistics; `centred` is false for rms_norm, whose mean is taken as 0.
Tensor input_gradient(const Tensor& h, const Tensor& xhat, const Tensor& rstd, const Shape& dims,
                      bool centred) {
  const Tensor along = xhat * mean(h * xhat, dims, true);
  return rstd * (centred ? h - mean(h, dims, true) - along : h - along);
}

}  // namespace

TN_DECOMPOSE(layer_norm) {
  const Tensor x = in.tensor(0);
  const auto n = static_cast<int64_t>(in.ints(1).size());
  const Normed normed = normalise(working(x), iota(x.ndim() - n, x.ndim()), in.real(4));
  out[0] = affine(normed.y, in.tensor(2), in.tensor(3)).to(result_dtype(x.dtype()));
  out[1] = normed.mean;
  out[2] = normed.rstd;
}

TN_DECOMPOSE(layer_norm_backward) {
  const Tensor g = working(in.tensor(0)), x = working(in.tensor(1)), rstd = in.tensor(3);
  const auto n = static_cast<int64_t>(in.ints(5).size());
  const Shape inner = iota(x.ndim() - n, x.ndim()), outer = iota(0, x.ndim() - n);
  const Tensor xhat = (x - in.tensor(2)) * rstd, h = in.has(4) ? g * in.tensor(4) : g;
  out[0] = input_gradient(h, xhat, rstd, inner, true).to(result_dtype(in.tensor(1).dtype()));
  out[1] = sum(g * xhat, outer);
  out[2] = sum(g, outer);
}

// y = x·rstd·w, rstd = (mean x² + ε)^−½; Zhang and Sennrich 2019
TN_DECOMPOSE(rms_norm) {
  const Tensor x = working(in.tensor(0));
  const auto n = static_cast<int64_t>(in.ints(1).size());
  const Tensor rstd = rsqrt(mean(square(x), iota(x.ndim() - n, x.ndim()), true) + in.real(3));
  out[0] = affine(x * rstd, in.tensor(2), {}).to(result_dtype(in.tensor(0).dtype()));
  out[1] = rstd;
}

TN_DECOMPOSE(rms_norm_backward) {
  const Tensor g = working(in.tensor(0)), x = working(in.tensor(1)), rstd = in.tensor(2);
  const auto n = static_cast<int64_t>(in.ints(4).size());
  const Shape inner = iota(x.ndim() - n, x.ndim()), outer = iota(0, x.ndim() - n);
  const Tensor xhat = x * rstd, h = in.has(3) ? g * in.tensor(3) : g;
  out[0] = input_gradient(h, xhat, rstd, inner, false).to(result_dtype(in.tensor(1).dtype()));
  out[1] = sum(g * xhat, outer);
}

// layer_norm over each group of channels and its places; Wu and He 2018
TN_DECOMPOSE(group_norm) {
  const Tensor x = in.tensor(0);
  const int64_t n = x.shape(0), groups = in.integer(1),
                each = n * groups > 0 ? x.numel() / (n * groups) : 0;
  const Normed normed = normalise(reshape(working(x), {n, groups, each}), {2}, in.real(4));
  const Tensor weight = in.has(2) ? per_channel(in.tensor(2), x) : Tensor();
  const Tensor bias = in.has(3) ? per_channel(in.tensor(3), x) : Tensor();
  out[0] = affine(reshape(normed.y, x.shape()), weight, bias).to(result_dtype(x.dtype()));
  out[1] = reshape(normed.mean, {n, groups});
  out[2] = reshape(normed.rstd, {n, groups});
}

TN_DECOMPOSE(group_norm_backward) {
  const Tensor g = working(in.tensor(0)), x = working(in.tensor(1));
  const int64_t n = x.shape(0), groups = in.integer(5),
                each = n * groups > 0 ? x.numel() / (n * groups) : 0;
  const Shape split = {n, groups, each}, outer = {n, groups, 1};
  const Tensor rstd = reshape(in.tensor(3), outer);
  const Tensor xhat = (reshape(x, split) - reshape(in.tensor(2), outer)) * rstd;
  const Tensor h = reshape(in.has(4) ? g * per_channel(in.tensor(4), x) : g, split);
  out[0] = reshape(input_gradient(h, xhat, rstd, {2}, true), x.shape())
               .to(result_dtype(in.tensor(1).dtype()));
  out[1] = sum(g * reshape(xhat, x.shape()), but_channels(x));
  out[2] = sum(g, but_channels(x));
}

TN_DECOMPOSE(batch_norm) {
  const Tensor raw = in.tensor(0), x = working(raw);
  Normed normed;
  if (in.flag(5)) {
    normed = normalise(x, but_channels(x), in.real(6));
  } else {
    const DType dtype = x.dtype();
    normed.mean = per_channel(in.tensor(3).to(dtype), x);
    normed.rstd = rsqrt(per_channel(in.tensor(4).to(dtype), x) + in.real(6));
    normed.y = (x - normed.mean) * normed.rstd;
  }
  const Tensor weight = in.has(1) ? per_channel(in.tensor(1), x) : Tensor();
  const Tensor bias = in.has(2) ? per_channel(in.tensor(2), x) : Tensor();
  out[0] = affine(normed.y, weight, bias).to(result_dtype(raw.dtype()));
  out[1] = reshape(normed.mean, x.shape(1));
  out[2] = reshape(normed.rstd, x.shape(1));
}

// outside training the statistics are constants: dx = rstd·h
TN_DECOMPOSE(batch_norm_backward) {
  const Tensor g = working(in.tensor(0)), x = working(in.tensor(1));
  const Shape dims = but_channels(x);
  const Tensor rstd = per_channel(in.tensor(3), x),
               xhat = (x - per_channel(in.tensor(2), x)) * rstd;
  const Tensor h = in.has(4) ? g * per_channel(in.tensor(4), x) : g;
  const Tensor gx = in.flag(5) ? input_gradient(h, xhat, rstd, dims, true) : rstd * h;
  out[0] = gx.to(result_dtype(in.tensor(1).dtype()));
  out[1] = sum(g * xhat, dims);
  out[2] = sum(g, dims);
}
