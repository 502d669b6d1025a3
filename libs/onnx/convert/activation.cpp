#include <cmath>

#include "convert/table.hpp"

namespace tenon::onnx {
namespace {

Tensor celu(const Call& call) {
  const Tensor x = call.x(0);
  const double alpha = call.f("alpha", 1);
  return maximum(x, 0) + minimum(expm1(x / alpha) * alpha, 0);
}

Tensor selu_of(const Call& call) {
  const Tensor x = call.x(0);
  const double alpha = call.f("alpha", 1.67326319217681884765625F),
               gamma = call.f("gamma", 1.05070102214813232421875F);
  return where(greater(x, 0), x, expm1(x) * alpha) * gamma;
}

Tensor thresholded(const Call& call) {
  const Tensor x = call.x(0);
  return where(greater(x, call.f("alpha", 1)), x, zeros_like(x));
}

Tensor shrink(const Call& call) {
  const Tensor x = call.x(0);
  const double lambda = call.f("lambd", 0.5), bias = call.f("bias", 0);
  const Tensor zero = zeros_like(x);
  // Numbers are converted to the tensor's dtype; for integers that truncates.
  const Tensor below = (x + bias).to(x.dtype()), above = (x - bias).to(x.dtype());
  return where(less(x, -lambda), below, where(greater(x, lambda), above, zero));
}

Tensor swish(const Tensor& x, double alpha) {
  return alpha == 1 ? silu(x) : x * sigmoid(x * alpha);
}

Tensor hard_sigmoid(const Call& call) {
  const Tensor x = call.x(0);
  return clamp(x * call.f("alpha", 0.2) + call.f("beta", 0.5), 0.0, 1.0);
}

// Reshapes to two dimensions: those before `axis`, and the rest.
Tensor as_rows(const Tensor& x, int64_t axis) {
  int64_t rows = 1, columns = 1;
  for (int64_t d = 0; d < x.ndim(); ++d) (d < axis ? rows : columns) *= x.shape(d);
  return x.reshape({rows, columns});
}

// 1 at the first maximum of each row, 0 elsewhere.
Tensor hardmax(const Call& call) {
  const Tensor x = call.x(0);
  const auto of_rows = [](const Tensor& rows, int64_t axis) {
    const Tensor best = argmax(rows, axis, true);
    return scatter(zeros_like(rows), axis, best, full_like(best, 1, rows.dtype()));
  };
  if (call.opset() >= 13) return of_rows(x, wrap(call.i("axis", -1), x.ndim()));
  return of_rows(as_rows(x, wrap(call.i("axis", 1), x.ndim())), 1).reshape(x.shape());
}

// Before opset 13, these ran over all dimensions from `axis` on at once.
template <Tensor (*kOp)(const Tensor&, int64_t)>
Tensor softmax_of(const Call& call) {
  const Tensor x = call.x(0);
  if (call.opset() >= 13) return kOp(x, wrap(call.i("axis", -1), x.ndim()));
  const int64_t axis = wrap(call.i("axis", 1), x.ndim());
  return axis == x.ndim() - 1 ? kOp(x, axis) : kOp(as_rows(x, axis), 1).reshape(x.shape());
}

Tensor dropped(const Tensor& x, double ratio, const Tensor& mask) {
  return where(mask, x / (1 - ratio), zeros_like(x));
}

// Drops elements only in training, with a mask from the default generator.
Results dropout_of(const Call& call) {
  const Tensor x = call.x(0);
  const double ratio = call.opset() < 12 ? call.f("ratio", 0.5)
                       : call.has(1)     ? call.number(1)
                                         : 0.5;
  const bool training = call.opset() >= 12 && call.has(2) && call.number(2) != 0;
  if (!training || ratio == 0) {
    if (!call.wants(1)) return x;
    const DType dtype = call.opset() < 10 ? x.dtype() : DType::Bool;
    return {x, full_like(x, 1, dtype)};
  }
  const Tensor mask = not_equal(dropout_mask(x, ratio), 0);
  return {dropped(x, ratio, mask), mask};
}

}  // namespace

Family activation_ops() {
  static const Entry ops[] = {
      {"Relu", 1, [](const Call& call) { return relu(call.x(0)); }},
      {"Sigmoid", 1, [](const Call& call) { return sigmoid(call.x(0)); }},
      {"Softplus", 1, [](const Call& call) { return softplus(call.x(0)); }},
      {"Softsign", 1,
       [](const Call& call) {
         const Tensor x = call.x(0);
         return x / (abs(x) + 1);
       }},
      {"Elu", 1, [](const Call& call) { return elu(call.x(0), call.f("alpha", 1)); }},
      {"Selu", 1, selu_of},
      {"Celu", 12, celu},
      {"LeakyRelu", 1,
       [](const Call& call) { return leaky_relu(call.x(0), call.f("alpha", 0.01F)); }},
      {"PRelu", 7,
       [](const Call& call) {
         const Tensor x = call.x(0);
         return where(less(x, 0), x * call.x(1), x);
       }},
      {"ThresholdedRelu", 10, thresholded},
      {"Shrink", 9, shrink},
      {"HardSigmoid", 1, hard_sigmoid},
      {"HardSwish", 14, [](const Call& call) { return hardswish(call.x(0)); }},
      {"Mish", 18, [](const Call& call) { return mish(call.x(0)); }},
      {"Gelu", 20, [](const Call& call) { return gelu(call.x(0), call.s("approximate", "none")); }},
      {"Swish", 24, [](const Call& call) { return swish(call.x(0), call.f("alpha", 1)); }},
      {"SwiGLU", 28,
       [](const Call& call) { return swish(call.x(0), call.f("alpha", 1)) * call.x(1); }},
      {"Softmax", 1, softmax_of<softmax>},
      {"LogSoftmax", 1, softmax_of<log_softmax>},
      {"Hardmax", 1, hardmax},
      {"Dropout", 7, dropout_of},
  };
  return ops;
}

}  // namespace tenon::onnx
