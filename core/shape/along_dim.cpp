// Ops along one dimension, which kernels get as the last and contiguous one.
#include "shape/operands.hpp"

using namespace tenon::core;

namespace {

// The dimension that argument `arg` names becomes the last one; after the results.
uint32_t along(Frame& frame, uint32_t arg) {
  const uint32_t dim = frame.wrap_dim(frame.integer(arg), frame.tensor(0).ndim());
  frame.along(arg, dim);
  return dim;
}

tn_tensor& ordered(const Frame& frame) {
  return operand(frame, 0, TN_MASK_REAL | TN_MASK_BOOL, "an ordered dtype");
}

}  // namespace

// cumsum(x, dim, dtype), cumprod
TN_RULE(scan) {
  const tn_dtype out = sum_result(frame, 2);
  frame.result(0, out, frame.tensor(0).sizes());
  along(frame, 1);
}

// softmax(x, dim), log_softmax
TN_RULE(along_dim) {
  const tn_tensor& x = float_operand(frame, 0);
  frame.result(0, fractional(x.dtype()), x.sizes());
  along(frame, 1);
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
  frame.result(0, out, y.sizes());
  along(frame, 2);
}

// sort(x, dim, descending, stable) -> values, indices
TN_RULE(sort) {
  const tn_tensor& x = ordered(frame);
  frame.result(0, x.dtype(), x.sizes());
  frame.result(1, TN_DTYPE_I64, x.sizes());
  along(frame, 1);
}

// topk(x, k, dim, largest, sorted) -> values, indices
TN_RULE(topk) {
  const tn_tensor& x = ordered(frame);
  const uint32_t dim = along(frame, 2);
  const int64_t k = frame.integer(1);
  const int64_t size = x.ndim() == 0 ? 1 : x.shape()[dim];
  const int64_t least = x.ndim() == 0 ? 1 : 0;  // a rank-0 result has one element
  frame.require(k >= least && k <= size, "k {} out of range for dimension {} of size {}", k, dim,
                size);
  Dims shape(x.sizes());
  if (x.ndim() > 0) shape[dim] = k;
  frame.result(0, x.dtype(), shape);
  frame.result(1, TN_DTYPE_I64, shape);
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
    broadcast_shapes(frame, x.sizes(), operand(frame, 1, TN_MASK_BOOL, "a bool mask").sizes());
    frame.dynamic_result(0, x.dtype());
  } else if (frame.op().schema.results.size() == 4) {
    ordered(frame);
    frame.dynamic_result(0, x.dtype());
    frame.dynamic_result(1, TN_DTYPE_I64);
    frame.result(2, TN_DTYPE_I64, x.sizes());
    frame.dynamic_result(3, TN_DTYPE_I64);
  } else {
    frame.dynamic_result(0, TN_DTYPE_I64);
  }
}
