// Linear models of classical machine learning, and what prepares their inputs.
#include <cmath>

#include "convert/scores.hpp"
#include "convert/table.hpp"

namespace tenon::onnx {
namespace {

// x·Wᵀ + b for each of `targets`.
Tensor linear_scores(const Call& call, const Tensor& x, int64_t targets) {
  const Tensor weight = call.weight("coefficients", {targets, x.shape(1)}, 0);
  const bool shifted = call.find("intercepts") != nullptr;
  return linear(x, weight, shifted ? call.weight("intercepts", {targets}, 1) : Tensor());
}

Tensor linear_regressor(const Call& call) {
  const Tensor scores = linear_scores(call, rows_of(call), call.i("targets", 1));
  return transformed(call, scores, call.s("post_transform", "NONE"));
}

// Returns (labels, scores). One score tells two classes apart by its sign.
Results linear_classifier(const Call& call) {
  const std::vector<int64_t> labels = labels_of(call, "classlabels_ints");
  const std::string how = call.s("post_transform", "NONE");
  const auto targets = std::ssize(call.floats("intercepts"));
  const bool binary = targets == 1 && labels.size() == 2;
  if (!binary && std::ssize(labels) != targets)
    call.fail(std::to_string(labels.size()) + " labels for " + std::to_string(targets) +
              " intercepts");
  const Tensor scores = linear_scores(call, rows_of(call), targets);
  const Tensor best = binary ? greater(scores, 0).to(DType::I64).reshape({-1}) : argmax(scores, 1);
  return {host(labels).to(call.device()).index_select(0, best),
          binary ? both_classes(scores, how != "LOGISTIC", how) : transformed(call, scores, how)};
}

// Numbers for each feature, or one for all.
Tensor by_feature(const Call& call, const char* name, int slot) {
  return call.weight(name, {std::ssize(call.floats(name))}, slot);
}

Tensor scaler(const Call& call) {
  return (call.x(0).to(DType::F32) - by_feature(call, "offset", 0)) * by_feature(call, "scale", 1);
}

// Divides each row by its norm, or leaves it alone if that is 0. MAX is the largest element, not the largest magnitude.
Tensor normalizer(const Call& call) {
  const Tensor x = rows_of(call);
  const std::string norm = call.s("norm", "MAX");
  Tensor size;
  if (norm == "MAX")
    size = max(x, {1}, true);
  else if (norm == "L1")
    size = abs(x).sum({1}, true);
  else if (norm == "L2")
    size = sqrt((x * x).sum({1}, true));
  else
    call.unsupported("norm " + norm);
  return (x / where(equal(size, 0), ones_like(size), size)).reshape(call.x(0).shape());
}

// Replaces one value, or NaN, by the number of its column.
Tensor imputer(const Call& call) {
  const Tensor x = call.x(0);
  const bool integers = call.find("imputed_value_int64s") != nullptr;
  if (integers) {
    const std::vector<int64_t> numbers = call.list("imputed_value_int64s");
    const Tensor instead = host(numbers).to(x.dtype()).to(call.device());
    return where(equal(x, static_cast<double>(call.i("replaced_value_int64", 0))), instead, x);
  }
  const double old = call.f("replaced_value_float", 0);
  const Tensor instead = by_feature(call, "imputed_value_floats", 0).to(x.dtype());
  return where(std::isnan(old) ? isnan(x) : equal(x, old), instead, x);
}

// Joins the columns of its inputs.
Tensor feature_vectorizer(const Call& call) {
  std::vector<Tensor> columns;
  for (const Tensor& x : call.tensors())
    columns.push_back(x.to(DType::F32).reshape({x.ndim() < 2 ? 1 : x.shape(0), -1}));
  return concat(columns, 1);
}

// A last dimension that tells which of the known categories an element is.
Tensor one_hot_encoder(const Call& call) {
  if (call.find("cats_strings") != nullptr) call.unsupported("categories that are strings");
  const Tensor known = host(call.list("cats_int64s")).to(call.device());
  Tensor found = equal(call.x(0).to(DType::I64).unsqueeze(-1), known).to(DType::F32);
  if (!call.flag("zeros", true) && found.sum({-1}).min().item<float>() == 0)
    call.fail("an element is none of the categories");
  return found;
}

// A map from labels to scores for each row becomes the scores themselves: a column for each label, in their order.
Tensor zip_map(const Call& call) { return call.x(0); }

}  // namespace

Family classical_ops() {
  static const Entry ops[] = {
      {"FeatureVectorizer", 1, feature_vectorizer, kMl},
      {"Imputer", 1, imputer, kMl},
      {"LinearClassifier", 1, linear_classifier, kMl},
      {"LinearRegressor", 1, linear_regressor, kMl},
      {"Normalizer", 1, normalizer, kMl},
      {"OneHotEncoder", 1, one_hot_encoder, kMl},
      {"Scaler", 1, scaler, kMl},
      {"ZipMap", 1, zip_map, kMl},
  };
  return ops;
}

}  // namespace tenon::onnx
