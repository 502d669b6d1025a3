// Reductions: the loop's last dimensions are reduced, `dims` absent means all of them.
#include "shape/number.hpp"

using namespace tenon::core;

namespace {

constexpr uint64_t kReal = TN_MASK_REAL | TN_MASK_BOOL;

// Without an identity every result needs at least one element.
void require_elements(const Frame& frame, const tn_tensor& x, uint32_t mask) {
  int64_t kept = 1, reduced = 1;
  for (uint32_t d = 0; d < x.ndim(); ++d) ((mask >> d & 1) != 0 ? reduced : kept) *= x.shape()[d];
  frame.require(reduced != 0 || kept == 0, "nothing to reduce in a tensor of shape {}",
                format_shape(x.sizes()));
}

}  // namespace

// sum(x, dims, keepdim, dtype), prod
TN_RULE(reduce_sum) {
  const tn_dtype out = sum_result(frame, 3);
  frame.reduce(out, frame.dim_mask(1, frame.tensor(0).ndim()), frame.flag(2));
}

// min(x, dims, keepdim), max
TN_RULE(reduce_order) {
  tn_tensor& x = operand(frame, 0, TN_MASK_REAL | TN_MASK_BOOL, "an ordered dtype");
  const uint32_t mask = frame.dim_mask(1, x.ndim());
  require_elements(frame, x, mask);
  frame.reduce(x.dtype(), mask, frame.flag(2));
}

// mean(x, dims, keepdim), var(x, dims, correction, keepdim)
TN_RULE(reduce_float) {
  const bool var = frame.nargs() == 4;
  const tn_tensor& x = float_operand(frame, 0, var ? kReal : TN_MASK_ALL);
  frame.reduce(fractional(x.dtype()), frame.dim_mask(1, x.ndim()), frame.flag(var ? 3 : 2));
}

// logsumexp(x, dims, keepdim), norm(x, p, dims, keepdim); the norm of complex numbers is real
TN_RULE(reduce_real) {
  const uint32_t dims = frame.nargs() == 4 ? 2 : 1;
  const tn_tensor& x = float_operand(frame, 0, dims == 1 ? kReal : TN_MASK_ALL);
  frame.reduce(real_part(fractional(x.dtype())), frame.dim_mask(dims, x.ndim()),
               frame.flag(dims + 1));
}

// any(x, dims, keepdim), all
TN_RULE(reduce_bool) {
  tn_tensor& x = operand(frame, 0);
  frame.reduce(TN_DTYPE_BOOL, frame.dim_mask(1, x.ndim()), frame.flag(2));
}

// argmin(x, dim, keepdim), argmax; dim absent: the position in row-major order
TN_RULE(reduce_arg) {
  tn_tensor& x = operand(frame, 0, TN_MASK_REAL | TN_MASK_BOOL, "an ordered dtype");
  const uint32_t all = (1u << x.ndim()) - 1;
  const uint32_t mask = frame.has(1) ? 1u << frame.wrap_dim(frame.integer(1), x.ndim()) : all;
  require_elements(frame, x, mask);
  frame.reduce(TN_DTYPE_I64, mask, frame.flag(2));
}
