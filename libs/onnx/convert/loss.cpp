// Losses of classes (N, C, …) and targets (N, …).
#include "convert/table.hpp"

namespace tenon::onnx {
namespace {

Tensor nll(const Call& call, const Tensor& log_probs) {
  const Tensor target = call.x(1).to(DType::I64);
  const bool ignores = call.find("ignore_index") != nullptr;
  const Tensor ignored = equal(target, call.i("ignore_index", -1));
  const Tensor safe = ignores ? where(ignored, zeros_like(target), target) : target;
  const Tensor picked = -log_probs.gather(1, safe.unsqueeze(1)).squeeze(1);
  Tensor weight = call.has(2)
                      ? call.x(2).index_select(0, safe.reshape({-1})).reshape(target.shape())
                      : ones_like(picked);
  if (ignores) weight = where(ignored, zeros_like(weight), weight);
  const Tensor loss = picked * weight;
  const std::string reduction = call.s("reduction", "mean");
  if (reduction == "none") return loss;
  return reduction == "sum" ? loss.sum() : loss.sum() / weight.sum();
}

}  // namespace

Family loss_ops() {
  static const Entry ops[] = {
      {"NegativeLogLikelihoodLoss", 12, [](const Call& call) { return nll(call, call.x(0)); }},
      {"SoftmaxCrossEntropyLoss", 12,
       [](const Call& call) -> Results {
         const Tensor log_probs = log_softmax(call.x(0), 1);
         return {nll(call, log_probs), log_probs};
       }},
  };
  return ops;
}

}  // namespace tenon::onnx
