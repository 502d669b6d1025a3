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

// A matrix b (k, n) of 8 bits as linear_integer takes it.
struct IntegerWeight {
  Tensor rows;  // (n, k), i8
  Tensor zero;  // the zero point of all, or (n), in i32, which `shift` is added to; undefined: 0
  int64_t shift;
  Tensor sums;  // (n), i32: of the columns less their zero points
};
IntegerWeight integer_weight(const Tensor& b, const Tensor& zero);
// (a - a_zero)·(b - zero), exact, in i32; a_zero is of all or of each row, or undefined.
Tensor integer_product(const Tensor& a, const Tensor& a_zero, const IntegerWeight& b);
// x in u8 by the range that it has, 0 included; that scale and zero point (DynamicQuantizeLinear).
struct OwnRange {
  Tensor entries, scale, zero;
};
OwnRange by_own_range(const Tensor& x);

}  // namespace tenon::onnx
