// Negative log-likelihood; log_probs is (C) or (N, C, …), target the same without C.
#include "shape/operands.hpp"

using namespace tenon::core;

namespace {

void check_nll(Frame& frame, uint32_t first, uint32_t reduction) {
  tn_tensor& x = operand(frame, first);
  frame.require_dtype(first, TN_MASK_FLOAT, "a floating dtype");
  tn_tensor& target = index_operand(frame, first + 1);
  frame.require(x.ndim() >= 1, "log_probs must be (C) or (N, C, …), got rank 0");
  const uint32_t channel = x.ndim() == 1 ? 0 : 1;
  Dims expected;
  for (uint32_t d = 0; d < x.ndim(); ++d) {
    if (d != channel) expected.push(x.shape()[d]);
  }
  frame.require(same_shape(target.sizes(), expected),
                "target has shape {}, expected {} for log_probs of shape {}",
                format_shape(target.sizes()), format_shape(expected), format_shape(x.sizes()));
  if (frame.has(first + 2)) {
    tn_tensor& weight = operand(frame, first + 2);
    frame.require(weight.ndim() == 1 && weight.shape()[0] == x.shape()[channel],
                  "weight has shape {}, expected ({})", format_shape(weight.sizes()),
                  x.shape()[channel]);
    if (weight.dtype() != x.dtype()) frame.cast(first + 2, x.dtype());
  }
  const auto how = frame.str(reduction);
  frame.require(how == "none" || how == "mean" || how == "sum",
                "reduction must be none, mean or sum, got \"{}\"", how);
}

}  // namespace

// nll_loss(log_probs, target, weight, reduction, ignore_index) -> loss, total_weight
TN_RULE(nll_loss) {
  check_nll(frame, 0, 3);
  const tn_dtype dtype = frame.tensor(0).dtype();
  frame.result(0, dtype,
               frame.str(3) == "none" ? frame.tensor(1).sizes() : std::span<const int64_t>{});
  frame.result(1, dtype, std::span<const int64_t>{});
}

// nll_loss_backward(g, log_probs, target, weight, total_weight, reduction, ignore_index)
TN_RULE(nll_loss_backward) {
  check_nll(frame, 1, 5);
  const tn_dtype dtype = frame.tensor(1).dtype();
  const auto expected =
      frame.str(5) == "none" ? frame.tensor(2).sizes() : std::span<const int64_t>{};
  operand(frame, 0);
  require_shape(frame, 0, expected);
  frame.require(operand(frame, 4).numel == 1, "total_weight must hold one element");
  frame.cast(0, dtype);
  frame.cast(4, dtype);
  frame.result(0, dtype, frame.tensor(1).sizes());
}
