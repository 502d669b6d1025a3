// Ops along one dimension, which kernels get as the last and contiguous one.
#include "shape/operands.hpp"

using namespace tenon::core;

// cumsum(x, dim, dtype), cumprod
TN_RULE(scan) {
  tn_tensor& x = operand(frame, 0);
  const tn_dtype out = sum_result(frame, 2);
  const uint32_t dim = frame.wrap_dim(frame.integer(1), x.ndim());
  frame.result(0, out, x.sizes());
  frame.along(1, dim);
}

// softmax(x, dim), log_softmax
TN_RULE(along_dim) {
  tn_tensor& x = operand(frame, 0);
  frame.require_dtype(0, TN_MASK_REAL | TN_MASK_BOOL, "a real dtype");
  const tn_dtype out = fractional(x.dtype());
  if (out != x.dtype()) frame.cast(0, out);
  const uint32_t dim = frame.wrap_dim(frame.integer(1), x.ndim());
  frame.result(0, out, x.sizes());
  frame.along(1, dim);
}

// softmax_backward(g, y, dim), log_softmax_backward
TN_RULE(along_dim2) {
  tn_tensor& g = operand(frame, 0);
  tn_tensor& y = operand(frame, 1);
  frame.require(same_shape(g.sizes(), y.sizes()), "shapes {} and {} differ",
                format_shape(g.sizes()), format_shape(y.sizes()));
  const tn_dtype out = promote(g.dtype(), y.dtype());
  frame.require((TN_MASK(out) & TN_MASK_FLOAT) != 0, "wants a floating dtype, got {}",
                dtype_name(out));
  frame.cast_all(out);
  const uint32_t dim = frame.wrap_dim(frame.integer(2), y.ndim());
  frame.result(0, out, y.sizes());
  frame.along(2, dim);
}

// sort(x, dim, descending, stable) -> values, indices
TN_RULE(sort) {
  tn_tensor& x = operand(frame, 0);
  frame.require_dtype(0, TN_MASK_REAL | TN_MASK_BOOL, "an ordered dtype");
  const uint32_t dim = frame.wrap_dim(frame.integer(1), x.ndim());
  frame.result(0, x.dtype(), x.sizes());
  frame.result(1, TN_DTYPE_I64, x.sizes());
  frame.along(1, dim);
}

// topk(x, k, dim, largest, sorted) -> values, indices
TN_RULE(topk) {
  tn_tensor& x = operand(frame, 0);
  frame.require_dtype(0, TN_MASK_REAL | TN_MASK_BOOL, "an ordered dtype");
  const uint32_t dim = frame.wrap_dim(frame.integer(2), x.ndim());
  const int64_t k = frame.integer(1);
  const int64_t size = x.ndim() == 0 ? 1 : x.shape()[dim];
  const int64_t least = x.ndim() == 0 ? 1 : 0;  // a rank-0 result has one element
  frame.require(k >= least && k <= size, "k {} out of range for dimension {} of size {}", k, dim,
                size);
  Dims shape(x.sizes());
  if (x.ndim() > 0) shape[dim] = k;
  frame.result(0, x.dtype(), shape);
  frame.result(1, TN_DTYPE_I64, shape);
  frame.along(2, dim);
}

// searchsorted(sorted, values, right): one sorted row for all values, or a row for each row of
// values
TN_RULE(searchsorted) {
  tn_tensor& sorted = operand(frame, 0);
  tn_tensor& values = operand(frame, 1);
  const uint32_t rank = sorted.ndim();
  const bool rows = rank == values.ndim() && rank > 0 &&
                    same_shape(sorted.sizes().first(rank - 1), values.sizes().first(rank - 1));
  frame.require(rank == 1 || rows, "sorted {} fits values {} neither as one row nor row by row",
                format_shape(sorted.sizes()), format_shape(values.sizes()));
  const tn_dtype common = promote(sorted.dtype(), values.dtype());
  frame.require(!is_complex(common), "wants an ordered dtype, got {}", dtype_name(common));
  frame.cast_all(common);
  frame.result(0, TN_DTYPE_I64, values.sizes());
}

// unique(x) -> values, indices, inverse, counts; nonzero(x); masked_select(x, mask)
TN_RULE(dynamic) {
  tn_tensor& x = operand(frame, 0);
  if (frame.nargs() == 2) {
    tn_tensor& mask = operand(frame, 1);
    frame.require_dtype(1, TN_MASK_BOOL, "a bool mask");
    broadcast_shapes(frame, x.sizes(), mask.sizes());
    frame.dynamic_result(0, x.dtype());
  } else if (frame.op().schema.results.size() == 4) {
    frame.require_dtype(0, TN_MASK_REAL | TN_MASK_BOOL, "an ordered dtype");
    frame.dynamic_result(0, x.dtype());
    frame.dynamic_result(1, TN_DTYPE_I64);
    frame.result(2, TN_DTYPE_I64, x.sizes());
    frame.dynamic_result(3, TN_DTYPE_I64);
  } else {
    frame.dynamic_result(0, TN_DTYPE_I64);
  }
}
