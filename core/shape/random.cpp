// Random tensors. Elements are numbered in row-major order, so these are no loops: see
// sdk/include/tenon/philox.hpp.
#include "shape/number.hpp"

using namespace tenon::core;

namespace {

// The integer dtype that argument `i` asks for.
tn_dtype integer_dtype(const Frame& frame, uint32_t i) {
  const tn_dtype dtype = frame.dtype_or(i, TN_DTYPE_I64);
  frame.require(is_integral(dtype), "dtype must be an integer dtype, got {}", dtype_name(dtype));
  return dtype;
}

}  // namespace

// uniform(shape, low, high, dtype, device, generator), normal(shape, mean, std, …)
TN_RULE(random_real) {
  const tn_dtype dtype = frame.dtype_or(3, TN_DTYPE_F32);
  frame.require(is_floating(dtype), "dtype must be a float dtype, got {}", dtype_name(dtype));
  require_sizes(frame, frame.ints(0));
  const double a = frame.real(1), b = frame.real(2);
  frame.require(std::isfinite(a) && std::isfinite(b), "{} and {} must be finite", a, b);
  if (frame.op().name() == "uniform")
    frame.require(a <= b, "low {} is above high {}", a, b);
  else
    frame.require(b >= 0, "std is {}, must not be negative", b);
  frame.result(0, dtype, frame.ints(0));
}

// randint(shape, low, high, dtype, device, generator)
TN_RULE(random_int) {
  const tn_dtype dtype = integer_dtype(frame, 3);
  require_sizes(frame, frame.ints(0));
  const int64_t low = frame.integer(1), high = frame.integer(2);
  frame.require(low < high, "nothing in the range from {} to below {}", low, high);
  frame.require(holds(dtype, low) && holds(dtype, high - 1), "{} to {} does not fit {}", low,
                high - 1, dtype_name(dtype));
  frame.result(0, dtype, frame.ints(0));
}

// randperm(n, dtype, device, generator)
TN_RULE(randperm) {
  const tn_dtype dtype = integer_dtype(frame, 1);
  const int64_t n = frame.integer(0);
  frame.require(n >= 0, "n is {}, must not be negative", n);
  frame.require(n == 0 || holds(dtype, n - 1), "{} does not fit {}", n - 1, dtype_name(dtype));
  frame.result(0, dtype, {&n, 1});
}

// bernoulli(p, generator): 0 or 1 in p's dtype
TN_RULE(bernoulli) {
  const tn_tensor& p = float_operand(frame, 0);
  frame.result(0, fractional(p.dtype()), p.sizes());
}

// dropout_mask(x, p, generator): 0 with probability p, 1 / (1 - p) otherwise, in x's dtype
TN_RULE(dropout_mask) {
  const tn_tensor& x = operand(frame, 0, TN_MASK_FLOAT, "a float dtype");
  const double p = frame.real(1);
  frame.require(p >= 0 && p <= 1, "p is {}, must lie in [0, 1]", p);
  frame.result(0, x.dtype(), x.sizes());
}
