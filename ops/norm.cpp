// Normalisation.
// Statistics are f32 if x is f16 or bf16, otherwise of x's dtype. So are affine parameters and their gradients, except that layer_norm
// and rms_norm also take parameters in x's own dtype, and then give their gradients in it.
// With x̂ = (x−x̄)·rstd and h = g·w, over the n elements that share statistics: dx = rstd·(h − mean h − x̂·mean(h·x̂)),
// dw = Σ g·x̂, db = Σ g (Ioffe and Szegedy 2015, Ba et al. 2016). The fused backward op gives the gradients through y; mean and
// rstd are results too, so that the second gradient reaches x through them: dx̄ = 1/n·dx, d(rstd) = −rstd³·(x−x̄)/n·dx.
#include <algorithm>
#include <array>
#include <initializer_list>
#include <vector>

#include "ops/gradients.hpp"
#include "ops/operands.hpp"
#include "ops/record.hpp"

namespace {

// The shape of the statistics: x's sizes, with 1 for the normalised dimensions that argument `shape_arg` gives.
Dims outer_shape(const Frame& frame, const tn_tensor& x, uint32_t shape_arg) {
  const auto shape = frame.ints(shape_arg);
  const bool fits =
      !shape.empty() && shape.size() <= x.ndim() && same_shape(x.sizes().last(shape.size()), shape);
  frame.require(fits, "normalized shape {} is not the end of {}", format_shape(shape),
                format_shape(x.sizes()));
  Dims outer(x.sizes());
  std::fill(outer.end() - shape.size(), outer.end(), 1);
  return outer;
}

Dims channels(const Frame& frame, const tn_tensor& x) {
  frame.require(x.ndim() >= 2, "wants (N, C, …), got a tensor of shape {}",
                format_shape(x.sizes()));
  return Dims(x.sizes().subspan(1, 1));
}

Dims group_shape(const Frame& frame, const tn_tensor& x, int64_t groups) {
  const int64_t c = channels(frame, x)[0];
  frame.require(groups > 0 && c % groups == 0, "{} channels do not divide into {} groups", c,
                groups);
  const int64_t shape[] = {x.shape()[0], groups};
  return Dims(shape);
}

// All results after the first have one shape: statistics, or gradients of parameters.
void results(Frame& frame, const tn_tensor& x, std::span<const int64_t> others) {
  const tn_dtype dtype = fractional(x.dtype());
  frame.result(0, dtype, x.sizes());
  for (uint32_t k = 1; k < frame.nresults(); ++k) frame.result(k, statistic(dtype), others);
}

// A parameter with one value for each element of a row, in x's dtype or in that of statistics.
void row_parameter(Frame& frame, uint32_t i, std::span<const int64_t> inner, tn_dtype dtype) {
  const bool own = frame.has(i) && operand(frame, i).dtype() == dtype;
  parameter(frame, i, inner, own ? dtype : statistic(dtype));
}

// The rule for a norm of rows.
void row_forward(Frame& frame, const tn_tensor& x, uint32_t shape_arg,
                 std::initializer_list<uint32_t> parameters) {
  for (const uint32_t i : parameters)
    row_parameter(frame, i, frame.ints(shape_arg), fractional(x.dtype()));
  results(frame, x, outer_shape(frame, x, shape_arg));
}

// A rule over x: parameters of shape `inner`, statistics of shape `outer`.
void forward(Frame& frame, const tn_tensor& x, std::span<const int64_t> outer,
             std::span<const int64_t> inner, std::initializer_list<uint32_t> parameters) {
  for (const uint32_t i : parameters) parameter(frame, i, inner, statistic(fractional(x.dtype())));
  results(frame, x, outer);
}

// A rule over g, x, statistics and weight -> gx and gradients of the parameters; `arg` names the op's arguments.
template <class arg>
void backward(Frame& frame, std::span<const int64_t> outer, std::span<const int64_t> inner) {
  const tn_tensor& x = frame.tensor(arg::x);
  const tn_dtype dtype = fractional(x.dtype());
  parameter(frame, arg::g, x.sizes(), dtype);
  if constexpr (requires { arg::mean; }) parameter(frame, arg::mean, outer, statistic(dtype));
  parameter(frame, arg::rstd, outer, statistic(dtype));
  parameter(frame, arg::weight, inner, statistic(dtype));
  results(frame, x, inner);
}

// The same for norms of rows, whose parameters, and then their gradients, may have x's dtype.
template <class arg>
void row_backward(Frame& frame, uint32_t of_x, std::span<const int64_t> outer,
                  std::span<const int64_t> inner) {
  const tn_tensor& x = frame.tensor(of_x);
  const tn_dtype dtype = fractional(x.dtype());
  const bool own = frame.has(arg::weight) && operand(frame, arg::weight).dtype() == dtype;
  parameter(frame, arg::g, x.sizes(), dtype);
  if constexpr (requires { arg::mean; }) parameter(frame, arg::mean, outer, statistic(dtype));
  parameter(frame, arg::rstd, outer, statistic(dtype));
  row_parameter(frame, arg::weight, inner, dtype);
  frame.result(0, dtype, x.sizes());
  for (uint32_t k = 1; k < frame.nresults(); ++k)
    frame.result(k, own ? dtype : statistic(dtype), inner);
}

// x's gradient through mean (which may be undefined) and rstd, each over n elements; the statistics broadcast with x.
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

// Runs the fused op: sets the gradients of parameters and returns that of x, undefined if no gradient of y arrived.
template <class arg, class Fused>
Tensor through_y(GradCall& c, Fused&& fused) {
  if (!c.grad(arg::result::y).defined()) return {};
  const auto grads = fused(c.grad(arg::result::y));
  if (c.needs(arg::weight)) c.set(arg::weight, grads.gweight);
  if constexpr (requires { arg::bias; })
    if (c.needs(arg::bias)) c.set(arg::bias, grads.gbias);
  return grads.gx;
}

// The result in another shape, if there is one.
Tensor shaped(const Tensor& t, IntList shape) { return t.defined() ? reshape(t, shape) : t; }

using Shape = std::vector<int64_t>;

// The dtype of the gradients of a norm's parameters.
DType parameter_dtype(const CompositeArgs& in, uint32_t weight, const Tensor& rstd) {
  return in.has(weight) ? in.tensor(weight).dtype() : rstd.dtype();
}

DType result_dtype(DType dtype) { return is_floating(dtype) ? dtype : DType::F32; }

Shape iota(int64_t from, int64_t to) {
  Shape dims;
  for (int64_t d = from; d < to; ++d) dims.push_back(d);
  return dims;
}

// All dimensions except the channels.
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
// y = (x−x̄)/√(var + ε) over dims; the statistics keep their dimensions.
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

TN_OP(layer_norm) = {
    .schema =
        "(Tensor x, int[] shape, Tensor? weight=none, Tensor? bias=none, float eps=1e-5) -> "
        "Tensor y, Tensor mean, Tensor rstd",
    .gives =
        "x normalised over the last dimensions, those of the given shape; also the mean and 1/std.",
    .example = "tenon.layer_norm(t([[1., 3.]]), (2,)).y",
    .autocast = "f32 on GPUs",
    .rule = &rule::layer_norm,
    .gradient = &gradient::layer_norm,
    .decompose = &decomposition::layer_norm,
};

TN_RULE(
    layer_norm, layer_norm,
    {.dtypes =
         "real and bool; integers and bool give f32; statistics of half types are f32; parameters "
         "of x's dtype or of the statistics'",
     .shapes = "y has x's; mean and rstd have x's with size 1 along the normalised dimensions"}) {
  const tn_tensor& x = float_operand(frame, arg::x);
  row_forward(frame, x, arg::shape, {arg::weight, arg::bias});
}

// y = (x−x̄)·rstd·w + b over the last dimensions, Ba et al. 2016
TN_GRADIENT(layer_norm, {.always = in_(arg::x) | in_(arg::weight) | out_(arg::result::mean) |
                                   out_(arg::result::rstd)}) {
  const Tensor x = c.in(arg::x), mean = c.out(arg::result::mean), rstd = c.out(arg::result::rstd);
  const auto shape = c.ints(arg::shape);
  const Tensor gx = through_y<arg>(c, [&](const Tensor& g) {
    return layer_norm_backward(g, x, mean, rstd, c.in(arg::weight), shape);
  });
  if (!c.needs(arg::x)) return;
  c.set(arg::x, plus(gx, through_statistics(x, mean, rstd, c.grad(arg::result::mean),
                                            c.grad(arg::result::rstd),
                                            static_cast<double>(product(shape)))));
}

TN_DECOMPOSE(layer_norm) {
  const Tensor x = in.tensor(arg::x);
  const auto n = static_cast<int64_t>(in.ints(arg::shape).size());
  const Normed normed = normalise(wide(x), iota(x.ndim() - n, x.ndim()), in.real(arg::eps));
  out[arg::result::y] =
      affine(normed.y, in.tensor(arg::weight), in.tensor(arg::bias)).to(result_dtype(x.dtype()));
  out[arg::result::mean] = normed.mean;
  out[arg::result::rstd] = normed.rstd;
}

TN_OP(layer_norm_backward) = {
    .schema =
        "(Tensor g, Tensor x, Tensor mean, Tensor rstd, Tensor? weight, int[] shape) -> Tensor "
        "gx, Tensor gweight, Tensor gbias",
    .gives = "The gradients of layer_norm.",
    .example =
        "tenon.layer_norm_backward(t([[1., 0.]]), t([[1., 3.]]), t([[2.]]), t([[1.]]), None, "
        "(2,)).gx",
    .rule = &rule::layer_norm_backward,
    .through = true,
    .decompose = &decomposition::layer_norm_backward,
};

TN_RULE(layer_norm_backward, layer_norm_backward,
        {.dtypes = "as in the forward op; gradients of parameters have weight's",
         .shapes = "those of x, weight and bias"}) {
  const tn_tensor& x = float_operand(frame, arg::x);
  row_backward<arg>(frame, arg::x, outer_shape(frame, x, arg::shape), frame.ints(arg::shape));
}

TN_DECOMPOSE(layer_norm_backward) {
  const Tensor g = wide(in.tensor(arg::g)), x = wide(in.tensor(arg::x)),
               rstd = in.tensor(arg::rstd);
  const auto n = static_cast<int64_t>(in.ints(arg::shape).size());
  const Shape inner = iota(x.ndim() - n, x.ndim()), outer = iota(0, x.ndim() - n);
  const Tensor xhat = (x - in.tensor(arg::mean)) * rstd,
               h = in.has(arg::weight) ? g * in.tensor(arg::weight) : g;
  out[arg::result::gx] =
      input_gradient(h, xhat, rstd, inner, true).to(result_dtype(in.tensor(arg::x).dtype()));
  const DType own = parameter_dtype(in, arg::weight, rstd);
  out[arg::result::gweight] = sum(g * xhat, outer).to(own);
  out[arg::result::gbias] = sum(g, outer).to(own);
}

TN_OP(add_layer_norm) = {
    .schema =
        "(Tensor x, Tensor residual, int[] shape, Tensor? weight=none, Tensor? bias=none, float "
        "eps=1e-5) -> Tensor y, Tensor sum, Tensor mean, Tensor rstd",
    .gives =
        "layer_norm of x + residual, and the sum itself: the step between two branches of a "
        "residual network.",
    .example = "tenon.add_layer_norm(t([[1., 1.]]), t([[0., 2.]]), (2,)).sum",
    .autocast = "f32 on GPUs",
    .rule = &rule::add_layer_norm,
    .gradient = &gradient::add_layer_norm,
    .decompose = &decomposition::add_layer_norm,
};

TN_RULE(add_layer_norm, add_layer_norm,
        {.dtypes = "as in `layer_norm`; x and residual are promoted",
         .shapes = "x, residual, y and sum have the same shape; mean and rstd have x's with size 1 "
                   "along the normalised dimensions"}) {
  const tn_tensor &x = float_operand(frame, arg::x),
                  &residual = float_operand(frame, arg::residual);
  require_shape(frame, arg::residual, x.sizes());
  const tn_dtype dtype = promote(fractional(x.dtype()), fractional(residual.dtype()));
  for (const uint32_t i : {arg::x, arg::residual}) frame.cast(i, dtype);
  for (const uint32_t i : {arg::weight, arg::bias})
    row_parameter(frame, i, frame.ints(arg::shape), dtype);
  const Dims outer = outer_shape(frame, x, arg::shape);
  for (const uint32_t k : {arg::result::y, arg::result::sum}) frame.result(k, dtype, x.sizes());
  for (const uint32_t k : {arg::result::mean, arg::result::rstd})
    frame.result(k, statistic(dtype), outer);
}

// the gradient of layer_norm at the sum plus what arrives at the sum itself; both operands get the same
TN_GRADIENT(add_layer_norm, {.always = in_(arg::weight) | out_(arg::result::sum) |
                                       out_(arg::result::mean) | out_(arg::result::rstd)}) {
  const Tensor sum = c.out(arg::result::sum), mean = c.out(arg::result::mean),
               rstd = c.out(arg::result::rstd), gsum = c.grad(arg::result::sum);
  const auto shape = c.ints(arg::shape);
  Tensor gx = through_y<arg>(c, [&](const Tensor& g) {
    return add_layer_norm_backward(g, gsum, sum, mean, rstd, c.in(arg::weight), shape);
  });
  if (!c.needs(arg::x) && !c.needs(arg::residual)) return;
  if (!gx.defined()) gx = gsum;
  gx = plus(gx, through_statistics(sum, mean, rstd, c.grad(arg::result::mean),
                                   c.grad(arg::result::rstd), static_cast<double>(product(shape))));
  for (const uint32_t i : {arg::x, arg::residual})
    if (c.needs(i)) c.set(i, gx);
}

TN_DECOMPOSE(add_layer_norm) {
  const Tensor sum = in.tensor(arg::x) + in.tensor(arg::residual);
  const auto normed = layer_norm(sum, in.ints(arg::shape), in.tensor(arg::weight),
                                 in.tensor(arg::bias), in.real(arg::eps));
  out[arg::result::y] = normed.y;
  out[arg::result::sum] = sum;
  out[arg::result::mean] = normed.mean;
  out[arg::result::rstd] = normed.rstd;
}

TN_OP(add_layer_norm_backward) = {
    .schema =
        "(Tensor g, Tensor? gsum, Tensor sum, Tensor mean, Tensor rstd, Tensor? weight, int[] "
        "shape) -> Tensor gx, Tensor gweight, Tensor gbias",
    .gives = "The gradients of add_layer_norm; gsum is the gradient of its sum.",
    .example =
        "tenon.add_layer_norm_backward(t([[1., 0.]]), t([[1., 1.]]), t([[1., 3.]]), t([[2.]]), "
        "t([[1.]]), None, (2,)).gx",
    .rule = &rule::add_layer_norm_backward,
    .through = true,
    .decompose = &decomposition::add_layer_norm_backward,
};

TN_RULE(add_layer_norm_backward, add_layer_norm_backward,
        {.dtypes = "as in the forward op; gradients of parameters have weight's",
         .shapes = "those of x, weight and bias"}) {
  const tn_tensor& sum = float_operand(frame, arg::sum);
  parameter(frame, arg::gsum, sum.sizes(), fractional(sum.dtype()));
  row_backward<arg>(frame, arg::sum, outer_shape(frame, sum, arg::shape), frame.ints(arg::shape));
}

TN_DECOMPOSE(add_layer_norm_backward) {
  const auto grads =
      layer_norm_backward(in.tensor(arg::g), in.tensor(arg::sum), in.tensor(arg::mean),
                          in.tensor(arg::rstd), in.tensor(arg::weight), in.ints(arg::shape));
  out[arg::result::gx] = plus(grads.gx, in.tensor(arg::gsum));
  out[arg::result::gweight] = grads.gweight;
  out[arg::result::gbias] = grads.gbias;
}

TN_OP(rms_norm) = {
    .schema =
        "(Tensor x, int[] shape, Tensor? weight=none, float eps=1e-5) -> Tensor y, Tensor rstd",
    .gives = "x divided by the root of its mean square over the last dimensions.",
    .example = "tenon.rms_norm(t([[1., 1.]]), (2,)).y",
    .rule = &rule::rms_norm,
    .gradient = &gradient::rms_norm,
    .decompose = &decomposition::rms_norm,
};

TN_RULE(
    rms_norm, rms_norm,
    {.dtypes =
         "real and bool; integers and bool give f32; statistics of half types are f32; parameters "
         "of x's dtype or of the statistics'",
     .shapes = "y has x's; rstd has x's with size 1 along the normalised dimensions"}) {
  const tn_tensor& x = float_operand(frame, arg::x);
  row_forward(frame, x, arg::shape, {arg::weight});
}

// y = x·rstd·w with rstd = (mean x² + ε)^−½, Zhang and Sennrich 2019
TN_GRADIENT(rms_norm, {.always = in_(arg::x) | in_(arg::weight) | out_(arg::result::rstd)}) {
  const Tensor x = c.in(arg::x), rstd = c.out(arg::result::rstd);
  const auto shape = c.ints(arg::shape);
  const Tensor gx = through_y<arg>(
      c, [&](const Tensor& g) { return rms_norm_backward(g, x, rstd, c.in(arg::weight), shape); });
  if (!c.needs(arg::x)) return;
  c.set(arg::x, plus(gx, through_statistics(x, {}, rstd, {}, c.grad(arg::result::rstd),
                                            static_cast<double>(product(shape)))));
}

TN_DECOMPOSE(rms_norm) {
  const Tensor x = wide(in.tensor(arg::x));
  const auto n = static_cast<int64_t>(in.ints(arg::shape).size());
  const Tensor rstd =
      rsqrt(mean(square(x), iota(x.ndim() - n, x.ndim()), true) + in.real(arg::eps));
  out[arg::result::y] =
      affine(x * rstd, in.tensor(arg::weight), {}).to(result_dtype(in.tensor(arg::x).dtype()));
  out[arg::result::rstd] = rstd;
}

TN_OP(rms_norm_backward) = {
    .schema =
        "(Tensor g, Tensor x, Tensor rstd, Tensor? weight, int[] shape) -> Tensor gx, Tensor "
        "gweight",
    .gives = "The gradients of rms_norm.",
    .example = "tenon.rms_norm_backward(t([[1., 0.]]), t([[1., 1.]]), t([[1.]]), None, (2,)).gx",
    .rule = &rule::rms_norm_backward,
    .through = true,
    .decompose = &decomposition::rms_norm_backward,
};

TN_RULE(rms_norm_backward, rms_norm_backward,
        {.dtypes = "as in the forward op; gradients of parameters have weight's",
         .shapes = "those of x and weight"}) {
  const tn_tensor& x = float_operand(frame, arg::x);
  row_backward<arg>(frame, arg::x, outer_shape(frame, x, arg::shape), frame.ints(arg::shape));
}

TN_DECOMPOSE(rms_norm_backward) {
  const Tensor g = wide(in.tensor(arg::g)), x = wide(in.tensor(arg::x)),
               rstd = in.tensor(arg::rstd);
  const auto n = static_cast<int64_t>(in.ints(arg::shape).size());
  const Shape inner = iota(x.ndim() - n, x.ndim()), outer = iota(0, x.ndim() - n);
  const Tensor xhat = x * rstd, h = in.has(arg::weight) ? g * in.tensor(arg::weight) : g;
  out[arg::result::gx] =
      input_gradient(h, xhat, rstd, inner, false).to(result_dtype(in.tensor(arg::x).dtype()));
  out[arg::result::gweight] = sum(g * xhat, outer).to(parameter_dtype(in, arg::weight, rstd));
}

TN_OP(group_norm) = {
    .schema =
        "(Tensor x, int groups, Tensor? weight=none, Tensor? bias=none, float eps=1e-5) -> "
        "Tensor y, Tensor mean, Tensor rstd",
    .gives = "x normalised over groups of channels.",
    .example = "tenon.group_norm(t([[[1., 3.]]]), 1).y",
    .autocast = "f32 on GPUs",
    .rule = &rule::group_norm,
    .gradient = &gradient::group_norm,
    .decompose = &decomposition::group_norm,
};

TN_RULE(
    group_norm, group_norm,
    {.dtypes =
         "real and bool; integers and bool give f32; statistics of half types are f32; parameters "
         "of x's dtype or of the statistics'",
     .shapes = "x (N, C, …); statistics (N, groups)"}) {
  const tn_tensor& x = float_operand(frame, arg::x);
  forward(frame, x, group_shape(frame, x, frame.integer(arg::groups)), channels(frame, x),
          {arg::weight, arg::bias});
}

// layer_norm within each of `groups` groups of channels, Wu and He 2018
TN_GRADIENT(group_norm, {.always = in_(arg::x) | in_(arg::weight) | out_(arg::result::mean) |
                                   out_(arg::result::rstd)}) {
  const Tensor x = c.in(arg::x), mean = c.out(arg::result::mean), rstd = c.out(arg::result::rstd);
  const int64_t groups = c.integer(arg::groups);
  Tensor gx = through_y<arg>(c, [&](const Tensor& g) {
    return group_norm_backward(g, x, mean, rstd, c.in(arg::weight), groups);
  });
  if (!c.needs(arg::x)) return;
  if (c.grad(arg::result::mean).defined() || c.grad(arg::result::rstd).defined()) {
    const int64_t n = x.shape(0), each = x.numel() / std::max<int64_t>(n * groups, 1);
    const Sizes outer(std::array<int64_t, 3>{n, groups, 1});
    const Tensor extra =
        through_statistics(reshape(x, {n, groups, each}), reshape(mean, outer),
                           reshape(rstd, outer), shaped(c.grad(arg::result::mean), outer),
                           shaped(c.grad(arg::result::rstd), outer), static_cast<double>(each));
    gx = plus(gx, reshape(expand(extra, {n, groups, each}), x.shape()));
  }
  c.set(arg::x, gx);
}

TN_DECOMPOSE(group_norm) {
  const Tensor x = in.tensor(arg::x);
  const int64_t n = x.shape(0), groups = in.integer(arg::groups),
                each = n * groups > 0 ? x.numel() / (n * groups) : 0;
  const Normed normed = normalise(reshape(wide(x), {n, groups, each}), {2}, in.real(arg::eps));
  const Tensor weight = in.has(arg::weight) ? per_channel(in.tensor(arg::weight), x) : Tensor();
  const Tensor bias = in.has(arg::bias) ? per_channel(in.tensor(arg::bias), x) : Tensor();
  out[arg::result::y] =
      affine(reshape(normed.y, x.shape()), weight, bias).to(result_dtype(x.dtype()));
  out[arg::result::mean] = reshape(normed.mean, {n, groups});
  out[arg::result::rstd] = reshape(normed.rstd, {n, groups});
}

TN_OP(group_norm_backward) = {
    .schema =
        "(Tensor g, Tensor x, Tensor mean, Tensor rstd, Tensor? weight, int groups) -> Tensor "
        "gx, Tensor gweight, Tensor gbias",
    .gives = "The gradients of group_norm.",
    .example =
        "tenon.group_norm_backward(t([[[1., 0.]]]), t([[[1., 3.]]]), t([[2.]]), t([[1.]]), "
        "None, 1).gx",
    .rule = &rule::group_norm_backward,
    .through = true,
    .decompose = &decomposition::group_norm_backward,
};

TN_RULE(group_norm_backward, group_norm_backward,
        {.dtypes = "as in the forward op", .shapes = "those of x, weight and bias"}) {
  const tn_tensor& x = float_operand(frame, arg::x);
  backward<arg>(frame, group_shape(frame, x, frame.integer(arg::groups)), channels(frame, x));
}

TN_DECOMPOSE(group_norm_backward) {
  const Tensor g = wide(in.tensor(arg::g)), x = wide(in.tensor(arg::x));
  const int64_t n = x.shape(0), groups = in.integer(arg::groups),
                each = n * groups > 0 ? x.numel() / (n * groups) : 0;
  const Shape split = {n, groups, each}, outer = {n, groups, 1};
  const Tensor rstd = reshape(in.tensor(arg::rstd), outer);
  const Tensor xhat = (reshape(x, split) - reshape(in.tensor(arg::mean), outer)) * rstd;
  const Tensor h =
      reshape(in.has(arg::weight) ? g * per_channel(in.tensor(arg::weight), x) : g, split);
  out[arg::result::gx] = reshape(input_gradient(h, xhat, rstd, {2}, true), x.shape())
                             .to(result_dtype(in.tensor(arg::x).dtype()));
  out[arg::result::gweight] = sum(g * reshape(xhat, x.shape()), but_channels(x));
  out[arg::result::gbias] = sum(g, but_channels(x));
}

TN_OP(batch_norm) = {
    .schema =
        "(Tensor x, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
        "bool training, float eps=1e-5) -> Tensor y, Tensor mean, Tensor rstd",
    .gives =
        "x normalised for each channel: in training with the batch's statistics, otherwise with "
        "the given ones.",
    .example = "tenon.batch_norm(t([[1.], [3.]]), None, None, None, None, True).y",
    .rule = &rule::batch_norm,
    .gradient = &gradient::batch_norm,
    .decompose = &decomposition::batch_norm,
};

TN_RULE(
    batch_norm, batch_norm,
    {.dtypes =
         "real and bool; integers and bool give f32; statistics of half types are f32; parameters "
         "of x's dtype or of the statistics'",
     .shapes = "x (N, C, …); statistics (C)"}) {
  const tn_tensor& x = float_operand(frame, arg::x);
  const Dims c = channels(frame, x);
  const bool training = frame.flag(arg::training);
  frame.require(training || (frame.has(arg::running_mean) && frame.has(arg::running_var)),
                "evaluation needs running_mean and running_var");
  const int64_t values = c[0] == 0 ? 0 : x.numel / c[0];
  frame.require(!training || values > 0 || c[0] == 0,
                "a tensor of shape {} has no values for statistics", format_shape(x.sizes()));
  forward(frame, x, c, c, {arg::weight, arg::bias, arg::running_mean, arg::running_var});
}

// y = (x−x̄)·rstd·w + b for each channel, Ioffe and Szegedy 2015; outside training x̄ and rstd are constants
TN_GRADIENT(batch_norm, {.always = in_(arg::x) | in_(arg::weight) | out_(arg::result::mean) |
                                   out_(arg::result::rstd)}) {
  const Tensor x = c.in(arg::x), mean = c.out(arg::result::mean), rstd = c.out(arg::result::rstd);
  const bool training = c.flag(arg::training);
  Tensor gx = through_y<arg>(c, [&](const Tensor& g) {
    return batch_norm_backward(g, x, mean, rstd, c.in(arg::weight), training);
  });
  if (!c.needs(arg::x)) return;
  if (training && (c.grad(arg::result::mean).defined() || c.grad(arg::result::rstd).defined())) {
    Sizes channels;
    for (int64_t d = 0; d < x.ndim(); ++d) channels.push(d == 1 ? x.shape(1) : 1);
    const double n =
        static_cast<double>(x.numel()) / static_cast<double>(std::max<int64_t>(x.shape(1), 1));
    gx = plus(gx, through_statistics(x, reshape(mean, channels), reshape(rstd, channels),
                                     shaped(c.grad(arg::result::mean), channels),
                                     shaped(c.grad(arg::result::rstd), channels), n));
  }
  c.set(arg::x, gx);
}

TN_DECOMPOSE(batch_norm) {
  const Tensor raw = in.tensor(arg::x), x = wide(raw);
  Normed normed;
  if (in.flag(arg::training)) {
    normed = normalise(x, but_channels(x), in.real(arg::eps));
  } else {
    const DType dtype = x.dtype();
    normed.mean = per_channel(in.tensor(arg::running_mean).to(dtype), x);
    normed.rstd = rsqrt(per_channel(in.tensor(arg::running_var).to(dtype), x) + in.real(arg::eps));
    normed.y = (x - normed.mean) * normed.rstd;
  }
  const Tensor weight = in.has(arg::weight) ? per_channel(in.tensor(arg::weight), x) : Tensor();
  const Tensor bias = in.has(arg::bias) ? per_channel(in.tensor(arg::bias), x) : Tensor();
  out[arg::result::y] = affine(normed.y, weight, bias).to(result_dtype(raw.dtype()));
  out[arg::result::mean] = reshape(normed.mean, x.shape(1));
  out[arg::result::rstd] = reshape(normed.rstd, x.shape(1));
}

TN_OP(batch_norm_backward) = {
    .schema =
        "(Tensor g, Tensor x, Tensor mean, Tensor rstd, Tensor? weight, bool training) -> "
        "Tensor gx, Tensor gweight, Tensor gbias",
    .gives = "The gradients of batch_norm.",
    .example =
        "tenon.batch_norm_backward(t([[1.], [0.]]), t([[1.], [3.]]), t([2.]), t([1.]), None, "
        "True).gx",
    .rule = &rule::batch_norm_backward,
    .through = true,
    .decompose = &decomposition::batch_norm_backward,
};

TN_RULE(batch_norm_backward, batch_norm_backward,
        {.dtypes = "as in the forward op", .shapes = "those of x, weight and bias"}) {
  const Dims c = channels(frame, float_operand(frame, arg::x));
  backward<arg>(frame, c, c);
}

// outside training the statistics are constants: dx = rstd·h
TN_DECOMPOSE(batch_norm_backward) {
  const Tensor g = wide(in.tensor(arg::g)), x = wide(in.tensor(arg::x));
  const Shape dims = but_channels(x);
  const Tensor rstd = per_channel(in.tensor(arg::rstd), x),
               xhat = (x - per_channel(in.tensor(arg::mean), x)) * rstd;
  const Tensor h = in.has(arg::weight) ? g * per_channel(in.tensor(arg::weight), x) : g;
  const Tensor gx = in.flag(arg::training) ? input_gradient(h, xhat, rstd, dims, true) : rstd * h;
  out[arg::result::gx] = gx.to(result_dtype(in.tensor(arg::x).dtype()));
  out[arg::result::gweight] = sum(g * xhat, dims);
  out[arg::result::gbias] = sum(g, dims);
}
