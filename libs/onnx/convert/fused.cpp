// Fused ops that ONNX Runtime's optimizers write: activations, norms and products in one.
#include <cmath>

#include "convert/layers.hpp"
#include "convert/table.hpp"

namespace tenon::onnx {
namespace {

using Ints = std::vector<int64_t>;

// Activation names of FusedConv and FusedGemm; `parameter` gives an activation's first or second parameter, or its default.
template <class Parameter>
Tensor activated(const Call& call, const Tensor& x, Parameter&& parameter) {
  const std::string name = call.s("activation", "");
  if (name.empty()) return x;
  if (name == "Relu") return relu(x);
  if (name == "Tanh") return tanh(x);
  if (name == "Sigmoid") return sigmoid(x);
  if (name == "Softplus") return softplus(x);
  if (name == "Softsign") return x / (x.abs() + 1);
  if (name == "Elu") return elu(x, parameter(0, 1.0));
  if (name == "LeakyRelu") return leaky_relu(x, parameter(0, 0.01));
  if (name == "ThresholdedRelu") return where(greater(x, parameter(0, 1.0)), x, zeros_like(x));
  if (name == "Clip") return clamp(x, parameter(0, -INFINITY), parameter(1, INFINITY));
  if (name == "HardSigmoid") return clamp(x * parameter(0, 0.2) + parameter(1, 0.5), 0.0, 1.0);
  call.unsupported("activation " + name);
}

Tensor fused_conv(const Call& call) {
  const Tensor y = convolution_of(call, call.x(0), call.x(1), call.maybe(2));
  const std::vector<double> given = call.floats("activation_params");
  return activated(call, call.has(3) ? y + call.x(3) : y, [&](size_t i, double otherwise) {
    return i < given.size() ? given[i] : otherwise;
  });
}

Tensor fused_gemm(const Call& call) {
  return activated(call, gemm_of(call), [&](size_t i, double otherwise) {
    return call.f(i == 0 ? "activation_alpha" : "activation_beta", static_cast<float>(otherwise));
  });
}

Tensor fused_matmul(const Call& call) {
  Tensor a = call.x(0), b = call.x(1);
  // A flagged operand is (rows, batch…, columns): moves the rows behind the batch.
  const auto turned = [&](const Tensor& x, const char* batch, const char* flag) {
    Tensor y = x;
    if (call.flag(batch)) {
      Ints order;
      for (int64_t d = 1; d + 1 < x.ndim(); ++d) order.push_back(d);
      order.push_back(0);
      order.push_back(x.ndim() - 1);
      y = x.permute(order);
    }
    return call.flag(flag) && x.ndim() > 1 ? y.transpose(-1, -2) : y;
  };
  a = turned(a, "transBatchA", "transA");
  b = turned(b, "transBatchB", "transB");
  const Tensor y = matmul(a, b);
  const double alpha = call.f("alpha", 1);
  return alpha == 1 ? y : (y * alpha).to(y.dtype());
}

Tensor sum_with(const Call& call, size_t i, const Tensor& x) {
  return call.has(i) ? x + call.x(i) : x;
}

// Returns (norm of the sum, mean, 1/deviation, the sum).
Results skip_layer_norm(const Call& call) {
  const Tensor sum = sum_with(call, 4, call.x(0) + call.x(1));
  const auto made =
      layer_norm(sum, {sum.shape(-1)}, call.x(2), call.maybe(3), call.f("epsilon", 1e-12F));
  return {made.y, made.mean, made.rstd, sum};
}

Results skip_rms_norm(const Call& call) {
  const Tensor sum = sum_with(call, 3, call.x(0) + call.x(1));
  const auto made = rms_norm(sum, {sum.shape(-1)}, call.x(2), call.f("epsilon", 1e-12F));
  return {made.y, Value(), Value(made.rstd), Value(sum)};
}

// Returns (norm, 1/root of the mean square). It stands in ONNX's own domain, though ONNX's name is RMSNormalization.
Results simplified_layer_norm(const Call& call) {
  const Tensor x = call.x(0);
  const int64_t axis = wrap(call.i("axis", -1), x.ndim());
  const Ints dims(x.shape().begin() + axis, x.shape().end());
  const auto made = rms_norm(x, dims, call.x(1), call.f("epsilon", 1e-5F));
  return {made.y, made.rstd};
}

// Returns (norm of the sum of embeddings, lengths of the sequences, the sum).
Results embed_layer_norm(const Call& call) {
  const Tensor ids = call.x(0).to(DType::I64), words = call.x(2);
  const int64_t length = ids.shape(1), width = words.shape(1);
  const auto rows = [&](const Tensor& table, const Tensor& at) {
    return table.index_select(0, at.reshape({-1})).reshape({at.shape(0), at.shape(1), width});
  };
  const Tensor positions = call.has(8) ? rows(call.x(3), call.x(8).to(DType::I64))
                                       : call.x(3).narrow(0, 0, length).unsqueeze(0);
  Tensor sum = rows(words, ids) + positions;
  if (call.has(1) && call.has(4)) sum = sum + rows(call.x(4), call.x(1).to(DType::I64));
  const Tensor y = layer_norm(sum, {width}, call.x(5), call.x(6), call.f("epsilon", 1e-12F)).y;
  const Tensor lengths = call.has(7) ? call.x(7).to(DType::I32).sum({1}).to(DType::I32)
                                     : zeros({ids.shape(0)}, DType::I32, ids.device());
  return {y, lengths, sum};
}

}  // namespace

Family fused_ops() {
  static const Entry ops[] = {
      {"BiasGelu", 1, [](const Call& call) { return gelu(call.x(0) + call.x(1)); }, kMicrosoft},
      {"EmbedLayerNormalization", 1, embed_layer_norm, kMicrosoft},
      {"FastGelu", 1, [](const Call& call) { return gelu(sum_with(call, 1, call.x(0)), "tanh"); },
       kMicrosoft},
      {"FusedConv", 1, fused_conv, kMicrosoft},
      {"FusedGemm", 1, fused_gemm, kMicrosoft},
      {"FusedMatMul", 1, fused_matmul, kMicrosoft},
      {"Gelu", 1, [](const Call& call) { return gelu(call.x(0)); }, kMicrosoft},
      {"QuickGelu", 1,
       [](const Call& call) {
         const Tensor x = call.x(0);
         return x * sigmoid(x * call.f("alpha", 1.702F));
       },
       kMicrosoft},
      {"SimplifiedLayerNormalization", 1, simplified_layer_norm},
      {"SkipLayerNormalization", 1, skip_layer_norm, kMicrosoft},
      {"SkipSimplifiedLayerNormalization", 1, skip_rms_norm, kMicrosoft},
      {"TransposeMatMul", 1, fused_matmul, kMicrosoft},
  };
  return ops;
}

}  // namespace tenon::onnx
