// softmax_cross_entropy and its backward: a row of logits is read once or twice while it lies in the cache, and only the logarithm of
// its sum is kept.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/loss_cross_entropy.cpp"
#include <hwy/foreach_target.h>

#include <cmath>
#include <string_view>

#include "dispatch.hpp"
#include "exp-inl.hpp"
#include "kernels.hpp"
#include "ops/targets.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

constexpr size_t kBlock = 4096;

// NaN where an element is NaN or infinite upwards, or all are −inf.
template <class T>
Compute<T> log_sum(const T* x, size_t n) {
  const Compute<T> top = greatest(x, n);
  if (!std::isfinite(top)) return std::numeric_limits<Compute<T>>::quiet_NaN();
  double sum = 0;
  for (size_t at = 0; at < n; at += kBlock)
    sum += exp_sum<false>(x + at, static_cast<T*>(nullptr), std::min(kBlock, n - at), top);
  return static_cast<Compute<T>>(top + std::log(sum));
}

// body(row) for each of them, on several threads.
template <class Body>
void for_rows(const tn_view& x, Body&& body) {
  const int64_t n = std::max<int64_t>(1, x.shape[1]);
  parallel_for(x.shape[0], std::max<int64_t>(1, kGrainMath / n), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) body(row);
  });
}

template <class T>
void forward(const tn_call& call) {
  using arg = tenon::arg::softmax_cross_entropy;
  using C = Compute<T>;
  const tn_view& logits = input(call, arg::logits);
  const int64_t rows = logits.shape[0], n = logits.shape[1];
  const int64_t ignore = call.args[arg::ignore_index].as.i;
  const T* const x = data_of<const T>(logits);
  const int64_t* const target = data_of<const int64_t>(input(call, arg::target));
  const tn_view* const weights = input_or_null(call, arg::weight);
  const C* const weight = weights != nullptr ? data_of<const C>(*weights) : nullptr;
  check_targets("softmax_cross_entropy", target, rows, n, ignore);
  C* const loss = data_of<C>(output(call, arg::result::loss));
  C* const counted = data_of<C>(output(call, arg::result::counted));
  C* const lse = data_of<C>(output(call, arg::result::lse));
  const auto loss_of = [=](int64_t row) {
    const int64_t t = target[row];
    return t == ignore ? C{0} : counted[row] * (lse[row] - static_cast<C>(x[row * n + t]));
  };
  const std::string_view reduction = text_arg(call, arg::reduction);
  const bool each = reduction == "none";
  for_rows(logits, [=](int64_t row) {
    lse[row] = log_sum(x + row * n, static_cast<size_t>(n));
    const int64_t t = target[row];
    counted[row] = t == ignore ? C{0} : weight != nullptr ? weight[t] : C{1};
    if (each) loss[row] = loss_of(row);
  });
  if (each) return;
  double sum = 0, total = 0;
  for (int64_t row = 0; row < rows; ++row) sum += loss_of(row), total += counted[row];
  *loss = static_cast<C>(reduction == "mean" ? sum / total : sum);
}

template <class T>
void backward(const tn_call& call) {
  using arg = tenon::arg::softmax_cross_entropy_backward;
  using C = Compute<T>;
  const tn_view& logits = input(call, arg::logits);
  const int64_t n = logits.shape[1];
  const T* const x = data_of<const T>(logits);
  const int64_t* const target = data_of<const int64_t>(input(call, arg::target));
  const tn_view& gradient = input(call, arg::g);
  const C* const g = data_of<const C>(gradient);
  const int64_t g_step = gradient.ndim;  // one for all, or of each row
  const C* const counted = data_of<const C>(input(call, arg::counted));
  const C* const lse = data_of<const C>(input(call, arg::lse));
  T* const out = data_of<T>(output(call));
  for_rows(logits, [=](int64_t row) {
    const T* const from = x + row * n;
    T* const to = out + row * n;
    const C scale = g[row * g_step] * counted[row];
    if (counted[row] == 0) return (void)std::fill(to, to + n, T(C{0}));
    const LaneTag<T> d;
    const auto shift = hn::Set(d, lse[row]), times = hn::Set(d, scale);
    map_row(from, to, static_cast<size_t>(n),
            [=](auto v) HWY_ATTR { return hn::Mul(exp_below(d, hn::Sub(v, shift)), times); });
    const int64_t t = target[row];  // p − 1 before it is rounded
    if (t >= 0 && t < n) to[t] = scale * std::expm1(static_cast<C>(from[t]) - lse[row]);
  });
}

// Kernels are found by the first tensor's dtype, which in the backward is that of g.
void run_forward(const tn_call& call) {
  const tn_view& logits = input(call, arg::softmax_cross_entropy::logits);
  visit_dtype<TN_MASK_FLOAT>(logits.dtype, [&]<class T>(Tag<T>) { forward<T>(call); });
}
void run_backward(const tn_call& call) {
  const tn_view& logits = input(call, arg::softmax_cross_entropy_backward::logits);
  visit_dtype<TN_MASK_FLOAT>(logits.dtype, [&]<class T>(Tag<T>) { backward<T>(call); });
}

void add_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_SOFTMAX_CROSS_ENTROPY,
            .dtypes = TN_MASK_FLOAT,
            .run = run_of<run_forward>});
  list.add({.schema = TN_SCHEMA_SOFTMAX_CROSS_ENTROPY_BACKWARD,
            .dtypes = TN_MASK_FLOAT,
            .run = run_of<run_backward>});
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_loss_cross_entropy_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
