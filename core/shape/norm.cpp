// Normalisations. Statistics, affine parameters and their gradients are f32 where x is f16 or bf16,
// of x's dtype otherwise.
#include "shape/operands.hpp"

using namespace tenon::core;

namespace {

// x's sizes with the normalised ones, given by argument `arg`, made 1: the shape of the statistics.
Dims outer_shape(const Frame& frame, const tn_tensor& x, uint32_t arg) {
  const auto shape = frame.ints(arg);
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

// Results behind the first have one shape: statistics, or gradients of parameters.
void results(Frame& frame, const tn_tensor& x, std::span<const int64_t> others) {
  const tn_dtype dtype = fractional(x.dtype());
  frame.result(0, dtype, x.sizes());
  for (uint32_t k = 1; k < frame.nresults(); ++k) frame.result(k, statistic(dtype), others);
}

bool takes_tensor(const Frame& frame, uint32_t i) {
  return frame.op().schema.args[i].type == ArgType::Tensor;
}

// A rule over x, argument 0: parameters of shape `inner` from argument `at` on, statistics of shape
// `outer`.
void forward(Frame& frame, std::span<const int64_t> outer, std::span<const int64_t> inner,
             uint32_t at) {
  const tn_tensor& x = frame.tensor(0);
  for (; takes_tensor(frame, at); ++at)
    parameter(frame, at, inner, statistic(fractional(x.dtype())));
  results(frame, x, outer);
}

// A rule over (g, x, statistics…, weight, …) -> gx, gradients of the parameters.
void backward(Frame& frame, std::span<const int64_t> outer, std::span<const int64_t> inner) {
  const tn_tensor& x = frame.tensor(1);
  const tn_dtype dtype = fractional(x.dtype());
  parameter(frame, 0, x.sizes(), dtype);
  for (uint32_t i = 2; takes_tensor(frame, i); ++i)
    parameter(frame, i, takes_tensor(frame, i + 1) ? outer : inner, statistic(dtype));
  results(frame, x, inner);
}

}  // namespace

// layer_norm(x, shape, weight, bias, eps) -> y, mean, rstd; rms_norm(x, shape, weight, eps) -> y, rstd
TN_RULE(layer_norm) {
  const tn_tensor& x = float_operand(frame, 0);
  forward(frame, outer_shape(frame, x, 1), frame.ints(1), 2);
}

// layer_norm_backward(g, x, mean, rstd, weight, shape) -> gx, gweight, gbias
TN_RULE(layer_norm_backward) {
  const tn_tensor& x = float_operand(frame, 1);
  backward(frame, outer_shape(frame, x, 5), frame.ints(5));
}

// rms_norm_backward(g, x, rstd, weight, shape) -> gx, gweight
TN_RULE(rms_norm_backward) {
  const tn_tensor& x = float_operand(frame, 1);
  backward(frame, outer_shape(frame, x, 4), frame.ints(4));
}

// group_norm(x, groups, weight, bias, eps) -> y, mean, rstd; statistics are (N, groups)
TN_RULE(group_norm) {
  const tn_tensor& x = float_operand(frame, 0);
  forward(frame, group_shape(frame, x, frame.integer(1)), channels(frame, x), 2);
}

// group_norm_backward(g, x, mean, rstd, weight, groups) -> gx, gweight, gbias
TN_RULE(group_norm_backward) {
  const tn_tensor& x = float_operand(frame, 1);
  backward(frame, group_shape(frame, x, frame.integer(5)), channels(frame, x));
}

// batch_norm(x, weight, bias, running_mean, running_var, training, eps) -> y, mean, rstd;
// statistics are (C)
TN_RULE(batch_norm) {
  const tn_tensor& x = float_operand(frame, 0);
  const Dims c = channels(frame, x);
  const bool training = frame.flag(5);
  frame.require(training || (frame.has(3) && frame.has(4)),
                "evaluation needs running_mean and running_var");
  const int64_t values = c[0] == 0 ? 0 : x.numel / c[0];
  frame.require(!training || values > 0 || c[0] == 0,
                "no values to take statistics of in a tensor of shape {}", format_shape(x.sizes()));
  forward(frame, c, c, 1);
}

// batch_norm_backward(g, x, mean, rstd, weight, training) -> gx, gweight, gbias
TN_RULE(batch_norm_backward) {
  const Dims c = channels(frame, float_operand(frame, 1));
  backward(frame, c, c);
}
