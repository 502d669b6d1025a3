// Ops that make tensors from numbers, and triangles of matrices.
#include "shape/number.hpp"

using namespace tenon::core;

namespace {

// Steps from `start` below `end`; exact for integers.
int64_t count_steps(const Frame& frame) {
  const auto whole = [&](uint32_t i) { return kind_of(frame.arg(i)) <= Kind::Int; };
  if (whole(0) && whole(1) && whole(2)) {
    const int64_t start = frame.integer(0), end = frame.integer(1), step = frame.integer(2);
    frame.require(step != 0, "step is 0");
    const bool empty = step > 0 ? start >= end : start <= end;
    if (empty) return 0;
    // Unsigned, so that the distance between the ends of the range of i64 is exact.
    const uint64_t distance = step > 0 ? static_cast<uint64_t>(end) - static_cast<uint64_t>(start)
                                       : static_cast<uint64_t>(start) - static_cast<uint64_t>(end);
    const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : -static_cast<uint64_t>(step);
    return static_cast<int64_t>((distance - 1) / stride + 1);
  }
  const double start = frame.real(0), end = frame.real(1), step = frame.real(2);
  frame.require(step != 0, "step is 0");
  const double count = std::ceil((end - start) / step);
  frame.require(std::isfinite(count), "from {} to {} by {} has no finite length", start, end, step);
  return count > 0 ? static_cast<int64_t>(std::min(count, 0x1p62)) : 0;
}

// A value that is to be written in `dtype`.
void require_value(const Frame& frame, uint32_t i, tn_dtype dtype) {
  const tn_value& value = frame.arg(i);
  frame.require(value.tag != TN_VALUE_COMPLEX || is_complex(dtype),
                "a complex value does not fit {}", dtype_name(dtype));
  require_holds(frame, dtype, value);
}

}  // namespace

// full(shape, value, dtype, device)
TN_RULE(full) {
  const tn_dtype dtype = frame.dtype_or(2, default_dtype(kind_of(frame.arg(1))));
  require_sizes(frame, frame.ints(0));
  require_value(frame, 1, dtype);
  frame.result(0, dtype, frame.ints(0));
}

// full_like(x, value, dtype)
TN_RULE(full_like) {
  const tn_tensor& x = operand(frame, 0);
  const tn_dtype dtype = frame.dtype_or(2, x.dtype());
  require_value(frame, 1, dtype);
  frame.result(0, dtype, x.sizes());
}

// arange(start, end, step, dtype, device)
TN_RULE(arange) {
  Kind kind = Kind::Int;
  for (uint32_t i = 0; i < 3; ++i) {
    frame.require(frame.arg(i).tag != TN_VALUE_COMPLEX, "start, end and step must be real");
    kind = std::max(kind, kind_of(frame.arg(i)));
  }
  const tn_dtype dtype = real_dtype(frame, 3, default_dtype(kind), TN_MASK_REAL, "a real dtype");
  const int64_t n = count_steps(frame);
  frame.result(0, dtype, {&n, 1});
}

// linspace(start, end, num, endpoint, dtype, device)
TN_RULE(linspace) {
  const tn_dtype dtype = real_dtype(frame, 4, TN_DTYPE_F32, TN_MASK_FLOAT, "a float dtype");
  const int64_t n = frame.integer(2);
  frame.require(n >= 0, "num is {}, must not be negative", n);
  frame.result(0, dtype, {&n, 1});
}

// eye(n, m, k, dtype, device)
TN_RULE(eye) {
  const tn_dtype dtype = frame.dtype_or(3, TN_DTYPE_F32);
  const int64_t n = frame.integer(0);
  const int64_t sizes[] = {n, frame.has(1) ? frame.integer(1) : n};
  require_sizes(frame, sizes);
  frame.result(0, dtype, sizes);
}

// tril(x, k), triu(x, k): of each matrix
TN_RULE(matrix) {
  const tn_tensor& x = operand(frame, 0);
  frame.require_rank(0, 2, TN_MAX_DIMS);
  frame.result(0, x.dtype(), x.sizes());
}
