// Normalisations.
#include "convert/table.hpp"

namespace tenon::onnx {
namespace {

Results batch_norm_of(const Call& call) {
  const Tensor x = call.x(0), scale = call.x(1), bias = call.x(2), mean = call.x(3),
               var = call.x(4);
  const double eps = call.f("epsilon", 1e-5F);
  const bool training = call.opset() >= 14 && call.flag("training_mode");
  if (!training)
    return batch_norm(x, scale.to(x.dtype()), bias.to(x.dtype()), mean.to(x.dtype()),
                      var.to(x.dtype()), false, eps)
        .y;
  // The running statistics move towards the batch's by 1 - momentum. The batch variance is the biased one.
  const double momentum = call.f("momentum", 0.9F);
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < x.ndim(); ++d)
    if (d != 1) dims.push_back(d);
  const Tensor batch_mean = x.mean(dims), batch_var = x.var(dims, 0);
  return {batch_norm(x, scale, bias, {}, {}, true, eps).y,
          mean * momentum + batch_mean * (1 - momentum),
          var * momentum + batch_var * (1 - momentum)};
}

// Normalises each channel of each instance.
Tensor instance_norm(const Call& call) {
  const Tensor x = call.x(0);
  return group_norm(x, x.shape(1), call.x(1), call.x(2), call.f("epsilon", 1e-5F)).y;
}

// Before opset 21, there was one scale and bias for each group.
Tensor group_norm_of(const Call& call) {
  const Tensor x = call.x(0);
  const int64_t groups = call.i("num_groups", 1);
  Tensor scale = call.x(1), bias = call.x(2);
  if (call.opset() < 21) {
    const auto each = [&](const Tensor& of) {
      return of.unsqueeze(1).expand({groups, x.shape(1) / groups}).reshape({-1});
    };
    scale = each(scale);
    bias = each(bias);
  }
  return group_norm(x, groups, scale, bias, call.f("epsilon", 1e-5F)).y;
}

std::vector<int64_t> last_dims(const Call& call, const Tensor& x) {
  const int64_t axis = wrap(call.i("axis", -1), x.ndim());
  return {x.shape().begin() + axis, x.shape().end()};
}

// scale and bias may have any shape that broadcasts.
Results layer_norm_of(const Call& call) {
  const Tensor x = call.x(0);
  const std::vector<int64_t> dims = last_dims(call, x);
  const double eps = call.f("epsilon", 1e-5F);
  const auto fits = [&](const Tensor& of) { return std::ranges::equal(of.shape(), dims); };
  const Tensor scale = call.x(1), bias = call.maybe(2);
  const bool plain = fits(scale) && (!bias.defined() || fits(bias));
  const auto normalised =
      layer_norm(x, dims, plain ? scale : Tensor(), plain ? bias : Tensor(), eps);
  Tensor y = normalised.y;
  if (!plain) y = bias.defined() ? y * scale + bias : y * scale;
  if (call.outputs() == 1) return y;
  std::vector<int64_t> kept = shape_of(x);
  for (size_t d = kept.size() - dims.size(); d < kept.size(); ++d) kept[d] = 1;
  const DType stash = call.dtype("stash_type", DType::F32);
  return {y, normalised.mean.to(stash).reshape(kept), normalised.rstd.to(stash).reshape(kept)};
}

Tensor rms_norm_of(const Call& call) {
  const Tensor x = call.x(0), scale = call.x(1);
  const std::vector<int64_t> dims = last_dims(call, x);
  const bool plain = std::ranges::equal(scale.shape(), dims);
  const Tensor y = rms_norm(x, dims, plain ? scale : Tensor(), call.f("epsilon", 1e-5F)).y;
  return plain ? y : y * scale;
}

Tensor mean_variance_norm(const Call& call) {
  const Tensor x = call.x(0);
  const std::vector<int64_t> axes = wrap(call.list("axes", {0, 2, 3}), x.ndim());
  const Tensor centred = x - x.mean(axes, true);
  return centred / (sqrt(centred.square().mean(axes, true)) + 1e-9);
}

// x / (bias + alpha/size · Σ x²) ^ beta over `size` neighbouring channels.
Tensor local_response_norm(const Call& call) {
  const Tensor x = call.x(0);
  const int64_t size = call.i("size", 1), channels = x.shape(1);
  const int64_t before = (size - 1) / 2, after = size - 1 - before;
  std::vector<int64_t> pads(static_cast<size_t>(2 * (x.ndim() - 1)), 0);
  pads[pads.size() - 2] = before;
  pads[pads.size() - 1] = after;
  const Tensor squares = pad(x.square(), pads);
  Tensor sum = squares.narrow(1, 0, channels);
  for (int64_t i = 1; i < size; ++i) sum = sum + squares.narrow(1, i, channels);
  const double alpha = call.f("alpha", 1e-4F), beta = call.f("beta", 0.75),
               bias = call.f("bias", 1);
  return x / pow(sum * (alpha / static_cast<double>(size)) + bias, beta);
}

// 0 where the norm is 0.
Tensor lp_normalization(const Call& call) {
  const Tensor x = call.x(0);
  const int64_t axis = wrap(call.i("axis", -1), x.ndim()), p = call.i("p", 2);
  const Tensor norm = p == 1 ? abs(x).sum(axis, true) : sqrt(x.square().sum(axis, true));
  const Tensor none = equal(norm, 0);
  return where(none, zeros_like(x), x / where(none, ones_like(norm), norm));
}

}  // namespace

Family norm_ops() {
  static const Entry ops[] = {
      {"BatchNormalization", 7, batch_norm_of},
      {"InstanceNormalization", 6, instance_norm},
      {"GroupNormalization", 18, group_norm_of},
      {"LayerNormalization", 1, layer_norm_of},
      {"RMSNormalization", 23, rms_norm_of},
      {"MeanVarianceNormalization", 9, mean_variance_norm},
      {"LRN", 1, local_response_norm},
      {"LpNormalization", 1, lp_normalization},
  };
  return ops;
}

}  // namespace tenon::onnx
