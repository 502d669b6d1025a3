// What classifiers and regressors of ai.onnx.ml read, and what they make of their scores.
#pragma once

#include "convert/call.hpp"

namespace tenon::onnx {

// The first input as rows (N, features) in f32.
Tensor rows_of(const Call& call);
// By a post_transform: NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO, PROBIT.
Tensor transformed(const Call& call, const Tensor& x, const std::string& how);
// Scores (N, 1) of the second of two classes, or by PROBIT (N, 1): the first class gets the complement, as in ONNX Runtime.
// `positive`: the scores are probabilities.
Tensor both_classes(const Tensor& one, bool positive, const std::string& how);
// The labels of classes, integers. Throws where they are strings.
std::vector<int64_t> labels_of(const Call& call, const char* name);

}  // namespace tenon::onnx
