// Converters that others are made of.
#pragma once

#include "convert/call.hpp"

namespace tenon::onnx {

// By the attributes of Conv; bias may be undefined.
Tensor convolution_of(const Call& call, const Tensor& x, const Tensor& weight, const Tensor& bias);
// The same of integers in f32, exact: `bound` is the largest magnitude of a product of two. In i32.
Tensor integer_convolution(const Call& call, const Tensor& x, const Tensor& weight, int64_t bound);
// Conv, then BatchNormalization by statistics that are given: inputs x, weight, bias or none, scale, bias, mean, variance.
Tensor normalised_convolution(const Call& call);
// By the attributes of Gemm.
Tensor gemm_of(const Call& call);
// By the attributes of AveragePool.
Tensor average_pool_of(const Call& call, const Tensor& x);

// A scale or zero point in a shape that broadcasts against x: of all, of each entry along an axis, or of blocks of entries.
Tensor spread(const Tensor& given, const Tensor& x, int64_t axis, int64_t block);
// round(x / scale) + zero, as far as dtype holds it; zero may be undefined.
Tensor quantized(const Tensor& x, const Tensor& scale, const Tensor& zero, DType dtype);
// What is left of x that was integers of 8 bits in between, by its own range (DynamicQuantizeLinear).
Tensor through_integers(const Tensor& x);
// x less its zero point, of 8 bits, in f32; one of each row or column, as `rows` says, where it has several.
Tensor centred(const Tensor& x, const Tensor& zero, bool rows);
// The largest magnitude that `centred` gives.
int64_t largest(const Tensor& x, const Tensor& zero);
// a·b of integers in f32, exact: `bound` is the largest magnitude of a product of two. In i32.
Tensor integer_product(const Tensor& a, const Tensor& b, int64_t bound);

}  // namespace tenon::onnx
