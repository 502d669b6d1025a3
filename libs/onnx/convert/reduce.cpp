// Reductions. The axes were an attribute before opset 13 (ReduceSum) and 18 (all others).
#include "convert/table.hpp"

namespace tenon::onnx {
namespace {

struct Axes {
  std::vector<int64_t> dims;
  bool keep, nothing;  // nothing: x as it is
};

Axes axes_of(const Call& call, int64_t rank) {
  std::vector<int64_t> dims = call.ints_or(1, "axes");
  const bool nothing = dims.empty() && call.flag("noop_with_empty_axes");
  if (dims.empty())
    for (int64_t d = 0; d < rank; ++d) dims.push_back(d);
  return {wrap(std::move(dims), rank), call.flag("keepdims", true), nothing};
}

// Integers keep their dtype.
template <Tensor (*kReduce)(const Tensor&, const Axes&), Tensor (*kBefore)(const Tensor&) = nullptr>
Results reduced(const Call& call) {
  const Tensor given = call.x(0);
  const Tensor x = kBefore == nullptr ? given : kBefore(given);
  const Axes axes = axes_of(call, x.ndim());
  if (axes.nothing) return x;
  return kReduce(x, axes).to(given.dtype());
}

Tensor sum_over(const Tensor& x, const Axes& a) { return sum(x, a.dims, a.keep); }
Tensor mean_over(const Tensor& x, const Axes& a) { return mean(x, a.dims, a.keep); }
Tensor prod_over(const Tensor& x, const Axes& a) { return prod(x, a.dims, a.keep); }
Tensor log_sum(const Tensor& x, const Axes& a) { return log(sum(x, a.dims, a.keep)); }
Tensor log_sum_exp(const Tensor& x, const Axes& a) { return logsumexp(x, a.dims, a.keep); }
Tensor root_of_sum(const Tensor& x, const Axes& a) { return sqrt(sum(x, a.dims, a.keep)); }

// For an empty reduction: the smallest or largest value of the dtype.
template <bool kLargest>
Tensor extreme(const Tensor& x, const Axes& a) {
  bool none = false;
  for (const int64_t d : a.dims) none |= x.shape(d) == 0;
  if (!none) return kLargest ? max(x, a.dims, a.keep) : min(x, a.dims, a.keep);
  const Tensor shape = sum(x.to(DType::I64), a.dims, a.keep);
  if (is_floating(x.dtype())) return full_like(shape, kLargest ? -INFINITY : INFINITY, x.dtype());
  if (x.dtype() == DType::Bool) return full_like(shape, !kLargest, x.dtype());
  const int bits = static_cast<int>(size_of(x.dtype())) * 8;
  if (!is_signed(x.dtype()))
    return kLargest ? full_like(shape, 0, x.dtype()) : bitwise_not(full_like(shape, 0, x.dtype()));
  const int64_t low = bits == 64 ? INT64_MIN : -(int64_t{1} << (bits - 1));
  return full_like(shape, kLargest ? low : -(low + 1), x.dtype());
}

// The first or last position of the maximum or minimum.
template <bool kLargest>
Results position(const Call& call) {
  const Tensor x = call.x(0);
  const int64_t axis = wrap(call.i("axis", 0), std::max<int64_t>(x.ndim(), 1));
  const bool keep = call.flag("keepdims", true);
  const auto of = [&](const Tensor& of_what) {
    return kLargest ? argmax(of_what, axis, keep) : argmin(of_what, axis, keep);
  };
  if (!call.flag("select_last_index")) return of(x);
  return x.shape(axis) - 1 - of(x.flip(axis));
}

// Running sums. The axis is an input; `exclusive` leaves out the element itself; `reverse` starts at the end.
template <Tensor (*kRun)(const Tensor&, int64_t, std::optional<DType>), int64_t kFirst>
Results running(const Call& call) {
  Tensor x = call.x(0);
  const int64_t axis = wrap(call.integer(1), x.ndim());
  const bool reverse = call.flag("reverse");
  if (reverse) x = x.flip(axis);
  Tensor y = kRun(x, axis, x.dtype());
  if (call.flag("exclusive")) {
    const Tensor first = full_like(y.narrow(axis, 0, std::min<int64_t>(1, y.shape(axis))), kFirst);
    y = concat({first, y.narrow(axis, 0, y.shape(axis) - first.shape(axis))}, axis);
  }
  return reverse ? y.flip(axis) : y;
}

Results top_k(const Call& call) {
  const Tensor x = call.x(0);
  const int64_t axis = wrap(call.i("axis", -1), x.ndim());
  const int64_t k = call.opset() < 10 ? call.i("k", 1) : call.integer(1);
  if (k < 0 || k > x.shape(axis))
    call.fail(std::to_string(k) + " of " + std::to_string(x.shape(axis)) + " elements");
  // A stable order: of equal elements the first comes first.
  const auto [values, indices] = sort(x, axis, call.flag("largest", true), true);
  return {values.narrow(axis, 0, k), indices.narrow(axis, 0, k)};
}

}  // namespace

Family reduce_ops() {
  static const Entry ops[] = {
      {"ReduceSum", 1, reduced<sum_over>},
      {"ReduceMean", 1, reduced<mean_over>},
      {"ReduceProd", 1, reduced<prod_over>},
      {"ReduceMax", 1, reduced<extreme<true>>},
      {"ReduceMin", 1, reduced<extreme<false>>},
      {"ReduceL1", 1, reduced<sum_over, abs>},
      {"ReduceL2", 1, reduced<root_of_sum, square>},
      {"ReduceSumSquare", 1, reduced<sum_over, square>},
      {"ReduceLogSum", 1, reduced<log_sum>},
      {"ReduceLogSumExp", 1, reduced<log_sum_exp>},
      {"ArgMax", 1, position<true>},
      {"ArgMin", 1, position<false>},
      {"CumSum", 11, running<cumsum, 0>},
      {"CumProd", 26, running<cumprod, 1>},
      {"TopK", 1, top_k},
  };
  return ops;
}

}  // namespace tenon::onnx
