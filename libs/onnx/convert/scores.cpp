#include "convert/scores.hpp"

#include <cmath>

namespace tenon::onnx {
namespace {

// Leaves zeros alone: applies to classes that have a score.
Tensor softmax_zero(const Tensor& x) {
  const Tensor none = equal(x, 0);
  const Tensor y = softmax(where(none, full_like(x, -INFINITY), x), -1);
  return where(none, zeros_like(x), y);
}

// √2·erf⁻¹(2x − 1), the quantile of the normal distribution, by Winitzki's approximation as in ONNX Runtime.
Tensor probit(const Tensor& x) {
  const Tensor t = x * 2 - 1, log_of = log((1 - t) * (1 + t));
  constexpr double kA = 0.147, kPi = 3.14159265358979323846;
  const Tensor v = log_of * 0.5 + 2 / (kPi * kA);
  const Tensor y = sqrt(sqrt(v * v - log_of / kA) - v);
  return where(less(t, 0), -y, y) * std::sqrt(2.0);
}

}  // namespace

Tensor rows_of(const Call& call) {
  const Tensor x = call.x(0).to(DType::F32);
  if (x.ndim() != 1 && x.ndim() != 2) call.fail("it needs rows (N, features)");
  return x.ndim() == 1 ? x.unsqueeze(0) : x;
}

Tensor transformed(const Call& call, const Tensor& x, const std::string& how) {
  if (how == "NONE") return x;
  if (how == "SOFTMAX") return softmax(x, -1);
  if (how == "LOGISTIC") return sigmoid(x);
  if (how == "SOFTMAX_ZERO") return softmax_zero(x);
  if (how == "PROBIT") return probit(x);
  call.unsupported("post_transform " + how);
}

Tensor both_classes(const Tensor& one, bool positive, const std::string& how) {
  if (how == "PROBIT") return probit(one);
  if (positive) return concat({1 - one, one}, 1);
  if (how == "LOGISTIC") return concat({sigmoid(-one), sigmoid(one)}, 1);
  return concat({-one, one}, 1);
}

std::vector<int64_t> labels_of(const Call& call, const char* name) {
  if (call.find("classlabels_strings") != nullptr) call.unsupported("labels that are strings");
  return call.list(name);
}

}  // namespace tenon::onnx
