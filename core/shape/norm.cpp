// Normalisations. Statistics, affine parameters and their gradients are f32 where x is f16 or bf16,
// of x's dtype otherwise.
#include "shape/operands.hpp"

using namespace tenon::core;

namespace {

// x's dtype, integers made f32.
tn_dtype float_operand(Frame& frame, uint32_t i) {
  tn_tensor& x = operand(frame, i);
  frame.require_dtype(i, TN_MASK_REAL | TN_MASK_BOOL, "a real dtype");
  const tn_dtype dtype = fractional(x.dtype());
  if (dtype != x.dtype()) frame.cast(i, dtype);
  return dtype;
}

// A parameter or statistic, which may be absent.
void parameter(Frame& frame, uint32_t i, std::span<const int64_t> shape, tn_dtype dtype) {
  if (!frame.has(i)) return;
  tn_tensor& p = operand(frame, i);
  frame.require(same_shape(p.sizes(), shape), "{} has shape {}, expected {}",
                frame.op().schema.args[i].name, format_shape(p.sizes()), format_shape(shape));
  if (p.dtype() != dtype) frame.cast(i, dtype);
}

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

// The gradient that comes in has x's shape and takes its dtype.
void gradient(Frame& frame, const tn_tensor& x, tn_dtype dtype) {
  tn_tensor& g = operand(frame, 0);
  frame.require(same_shape(g.sizes(), x.sizes()), "gradient {} does not have the shape {}",
                format_shape(g.sizes()), format_shape(x.sizes()));
  if (g.dtype() != dtype) frame.cast(0, dtype);
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

}  // namespace

// layer_norm(x, shape, weight, bias, eps) -> y, mean, rstd
TN_RULE(layer_norm) {
  const tn_dtype dtype = float_operand(frame, 0);
  tn_tensor& x = frame.tensor(0);
  const Dims outer = outer_shape(frame, x, 1);
  parameter(frame, 2, frame.ints(1), statistic(dtype));
  parameter(frame, 3, frame.ints(1), statistic(dtype));
  frame.result(0, dtype, x.sizes());
  frame.result(1, statistic(dtype), outer);
  frame.result(2, statistic(dtype), outer);
}

// layer_norm_backward(g, x, mean, rstd, weight, shape) -> gx, gweight, gbias
TN_RULE(layer_norm_backward) {
  const tn_dtype dtype = float_operand(frame, 1);
  tn_tensor& x = frame.tensor(1);
  gradient(frame, x, dtype);
  const Dims outer = outer_shape(frame, x, 5);
  parameter(frame, 2, outer, statistic(dtype));
  parameter(frame, 3, outer, statistic(dtype));
  parameter(frame, 4, frame.ints(5), statistic(dtype));
  frame.result(0, dtype, x.sizes());
  frame.result(1, statistic(dtype), frame.ints(5));
  frame.result(2, statistic(dtype), frame.ints(5));
}

// rms_norm(x, shape, weight, eps) -> y, rstd
TN_RULE(rms_norm) {
  const tn_dtype dtype = float_operand(frame, 0);
  tn_tensor& x = frame.tensor(0);
  const Dims outer = outer_shape(frame, x, 1);
  parameter(frame, 2, frame.ints(1), statistic(dtype));
  frame.result(0, dtype, x.sizes());
  frame.result(1, statistic(dtype), outer);
}

// rms_norm_backward(g, x, rstd, weight, shape) -> gx, gweight
TN_RULE(rms_norm_backward) {
  const tn_dtype dtype = float_operand(frame, 1);
  tn_tensor& x = frame.tensor(1);
  gradient(frame, x, dtype);
  parameter(frame, 2, outer_shape(frame, x, 4), statistic(dtype));
  parameter(frame, 3, frame.ints(4), statistic(dtype));
  frame.result(0, dtype, x.sizes());
  frame.result(1, statistic(dtype), frame.ints(4));
}

// group_norm(x, groups, weight, bias, eps) -> y, mean, rstd; statistics are (N, groups)
TN_RULE(group_norm) {
  const tn_dtype dtype = float_operand(frame, 0);
  tn_tensor& x = frame.tensor(0);
  const Dims groups = group_shape(frame, x, frame.integer(1));
  parameter(frame, 2, channels(frame, x), statistic(dtype));
  parameter(frame, 3, channels(frame, x), statistic(dtype));
  frame.result(0, dtype, x.sizes());
  frame.result(1, statistic(dtype), groups);
  frame.result(2, statistic(dtype), groups);
}

// group_norm_backward(g, x, mean, rstd, weight, groups) -> gx, gweight, gbias
TN_RULE(group_norm_backward) {
  const tn_dtype dtype = float_operand(frame, 1);
  tn_tensor& x = frame.tensor(1);
  gradient(frame, x, dtype);
  const Dims groups = group_shape(frame, x, frame.integer(5));
  parameter(frame, 2, groups, statistic(dtype));
  parameter(frame, 3, groups, statistic(dtype));
  parameter(frame, 4, channels(frame, x), statistic(dtype));
  frame.result(0, dtype, x.sizes());
  frame.result(1, statistic(dtype), channels(frame, x));
  frame.result(2, statistic(dtype), channels(frame, x));
}

// batch_norm(x, weight, bias, running_mean, running_var, training, eps) -> y, mean, rstd;
// statistics are (C)
TN_RULE(batch_norm) {
  const tn_dtype dtype = float_operand(frame, 0);
  tn_tensor& x = frame.tensor(0);
  const Dims c = channels(frame, x);
  for (uint32_t i = 1; i <= 4; ++i) parameter(frame, i, c, statistic(dtype));
  const bool training = frame.flag(5);
  frame.require(training || (frame.has(3) && frame.has(4)),
                "evaluation needs running_mean and running_var");
  const int64_t values = c[0] == 0 ? 0 : x.numel / c[0];
  frame.require(!training || values > 0 || c[0] == 0,
                "no values to take statistics of in a tensor of shape {}", format_shape(x.sizes()));
  frame.result(0, dtype, x.sizes());
  frame.result(1, statistic(dtype), c);
  frame.result(2, statistic(dtype), c);
}

// batch_norm_backward(g, x, mean, rstd, weight, training) -> gx, gweight, gbias
TN_RULE(batch_norm_backward) {
  const tn_dtype dtype = float_operand(frame, 1);
  tn_tensor& x = frame.tensor(1);
  gradient(frame, x, dtype);
  const Dims c = channels(frame, x);
  for (uint32_t i = 2; i <= 4; ++i) parameter(frame, i, c, statistic(dtype));
  frame.result(0, dtype, x.sizes());
  frame.result(1, statistic(dtype), c);
  frame.result(2, statistic(dtype), c);
}
