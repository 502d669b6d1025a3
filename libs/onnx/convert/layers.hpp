// Converters that other converters use.
#pragma once

#include "convert/call.hpp"

namespace tenon::onnx {

// Takes the attributes of Conv; bias may be undefined.
Tensor convolution_of(const Call& call, const Tensor& x, const Tensor& weight, const Tensor& bias);
// The same for integers, computed exactly in f32 and returned as i32. `bound`: the largest magnitude of a product of two.
Tensor integer_convolution(const Call& call, const Tensor& x, const Tensor& weight, int64_t bound);
// What each window of x (N, C, H, W) covers, by the attributes of Conv: (N, rows, columns, kernel·C), channels last. `fill`: the input
// that holds the number to pad with, 0 if it is left out.
Tensor window_rows(const Call& call, const Tensor& x, const std::vector<int64_t>& kernel,
                   size_t fill);
// Conv followed by BatchNormalization with given statistics. Inputs: x, weight, bias or none, scale, bias, mean, variance.
Tensor normalised_convolution(const Call& call);
// Conv of integers: x, its scale and zero point; those of the weight; scale and zero point of the result; a bias.
Tensor q_linear_conv(const Call& call);
// A product of integers a and b, each with its scale and zero point; those of the result.
Tensor q_linear_matmul(const Call& call);
// Takes the attributes of Gemm.
Tensor gemm_of(const Call& call);
// Takes the attributes of AveragePool. `whole`: if padding counts, so does what only completes the last window of ceil_mode.
Tensor average_pool_of(const Call& call, const Tensor& x, bool whole);

// Reshapes a scale or zero point to broadcast against x: one for all, one for each entry along an axis, or one for each block.
Tensor spread(const Tensor& given, const Tensor& x, int64_t axis, int64_t block);
// round(x / scale) + zero, saturated to dtype; zero may be undefined. `zero_first`: round(x / scale + zero), which takes a half to the other
// neighbour if zero is odd.
Tensor quantized(const Tensor& x, const Tensor& scale, const Tensor& zero, DType dtype,
                 bool zero_first = false);
// x after a round trip through 8-bit integers by its own range (DynamicQuantizeLinear).
Tensor through_integers(const Tensor& x);
// 8-bit x minus its zero point, in f32. If there are several zero points, `rows` says whether they are for rows or columns.
Tensor centred(const Tensor& x, const Tensor& zero, bool rows);
// The largest magnitude of centred()'s result.
int64_t largest(const Tensor& x, const Tensor& zero);
// a·b for integers, computed exactly in f32 and returned as i32. `bound`: the largest magnitude of a product of two.
Tensor integer_product(const Tensor& a, const Tensor& b, int64_t bound);

// An 8-bit matrix b (k, n) in the form that linear_integer takes.
struct IntegerWeight {
  Tensor rows;  // (n, k), i8
  Tensor zero;  // one for all or (n), i32, to which `shift` is to be added; undefined: 0
  int64_t shift;
  Tensor sums;  // (n), i32: sums over the columns minus their zero points
};
IntegerWeight integer_weight(const Tensor& b, const Tensor& zero);
// (a - a_zero)·(b - zero), exact, in i32. a_zero is one for all, one for each row, or undefined.
Tensor integer_product(const Tensor& a, const Tensor& a_zero, const IntegerWeight& b);
// Integers with a zero point, and what a step of theirs stands for.
struct Quantized {
  Tensor entries, scale, zero;
};
// x as u8 by its own range, which always includes 0 (DynamicQuantizeLinear).
Quantized by_own_range(const Tensor& x);
// integer_product times both scales, in f32; b_scale is one for all, or (n).
Tensor scaled_product(const Quantized& a, const IntegerWeight& b, const Tensor& b_scale);

}  // namespace tenon::onnx
