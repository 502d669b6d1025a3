// Elementwise ops of two operands and where. Tensors are promoted as the Array API says; numbers
// are weak.
#include "shape/number.hpp"

using namespace tenon::core;

namespace {

[[noreturn]] void refuse(const Frame& frame, tn_dtype dtype, std::string_view wanted) {
  frame.fail(TN_INVALID_ARGUMENT, "operands have dtype {}, {} wanted", dtype_name(dtype), wanted);
}

// pow of integers: a negative number has no whole result. Of a tensor of exponents only the kernel knows the values: it gives
// 0, or ±1 where the base is ±1.
void require_whole_power(const Frame& frame, tn_dtype dtype) {
  const tn_value& exponent = frame.arg(1);
  if (exponent.tag == TN_VALUE_INT && exponent.as.i < 0 && frame.op().name() == "pow")
    frame.fail(TN_INVALID_ARGUMENT,
               "integers ({}) to the negative power {} are not integers: write {}.0, or cast to a "
               "floating dtype first",
               dtype_name(dtype), exponent.as.i, exponent.as.i);
}

// Both operands in `dtype`, the result in `out`.
void binary(Frame& frame, tn_dtype dtype, tn_dtype out) {
  frame.cast_all(dtype);
  frame.elementwise(out);
}

}  // namespace

// add, sub, mul, pow, relu_backward: the common dtype. Of bools, add is or and mul is and.
TN_RULE(binary_arith) {
  const tn_dtype dtype = common_dtype(frame, 0, 2);
  if (!in_mask(dtype, TN_MASK_REAL)) [[unlikely]] {
    const std::string_view op = frame.op().name();
    if (dtype == TN_DTYPE_BOOL && op != "add" && op != "mul")
      refuse(frame, dtype, "a numeric dtype");
    if (op == "relu_backward") frame.require(!is_complex(dtype), "not defined for complex numbers");
  }
  if (in_mask(dtype, TN_MASK_INT)) require_whole_power(frame, dtype);
  binary(frame, dtype, dtype);
}

// div and backwards of activations: integers give f32
TN_RULE(binary_float) {
  const tn_dtype dtype = fractional(common_dtype(frame, 0, 2));
  if (is_complex(dtype)) [[unlikely]] {
    const std::string_view op = frame.op().name();
    if (op != "div" && op != "tanh_backward" && op != "sigmoid_backward")
      refuse(frame, dtype, "a real dtype");
  }
  require_approximation(frame, 2);
  binary(frame, dtype, dtype);
}

// floor_divide, remainder, maximum, minimum
TN_RULE(binary_real) {
  const tn_dtype dtype = common_dtype(frame, 0, 2);
  if (!in_mask(dtype, TN_MASK_REAL)) [[unlikely]] {
    const std::string_view op = frame.op().name();
    const bool order = op == "maximum" || op == "minimum";
    if (is_complex(dtype) || !order) refuse(frame, dtype, "a real dtype");
  }
  binary(frame, dtype, dtype);
}

// atan2, hypot, copysign, logaddexp: integers give f32
TN_RULE(binary_real_float) {
  const tn_dtype dtype = fractional(common_dtype(frame, 0, 2));
  if (is_complex(dtype)) refuse(frame, dtype, "a real dtype");
  binary(frame, dtype, dtype);
}

// complex(re, im): from f32 or f64 parts
TN_RULE(binary_complex) {
  tn_dtype dtype = fractional(common_dtype(frame, 0, 2));
  if (is_complex(dtype)) refuse(frame, dtype, "a real dtype");
  if (dtype != TN_DTYPE_F64) dtype = TN_DTYPE_F32;
  binary(frame, dtype, dtype == TN_DTYPE_F64 ? TN_DTYPE_C128 : TN_DTYPE_C64);
}

// bitwise_and, bitwise_or, bitwise_xor
TN_RULE(binary_bits) {
  const tn_dtype dtype = common_dtype(frame, 0, 2);
  if (!in_mask(dtype, TN_MASK_INT | TN_MASK_BOOL)) refuse(frame, dtype, "an integer dtype or bool");
  binary(frame, dtype, dtype);
}

// bitwise_left_shift, bitwise_right_shift
TN_RULE(binary_shift) {
  const tn_dtype dtype = common_dtype(frame, 0, 2);
  if (!in_mask(dtype, TN_MASK_INT)) refuse(frame, dtype, "an integer dtype");
  binary(frame, dtype, dtype);
}

// equal, not_equal, logical_and, …: bool
TN_RULE(compare) { binary(frame, common_dtype(frame, 0, 2), TN_DTYPE_BOOL); }

// less, greater, …: of ordered dtypes
TN_RULE(compare_order) {
  const tn_dtype dtype = common_dtype(frame, 0, 2);
  if (is_complex(dtype)) refuse(frame, dtype, "an ordered dtype");
  binary(frame, dtype, TN_DTYPE_BOOL);
}

// where(condition, x, y)
TN_RULE(where) {
  operand(frame, 0);
  const tn_dtype dtype = common_dtype(frame, 1, 3);
  frame.cast(0, TN_DTYPE_BOOL);
  frame.cast(1, dtype);
  frame.cast(2, dtype);
  frame.elementwise(dtype);
}
