// softmax, log_softmax and their backward, row by row: max, exp with its sum, scale, while the row
// lies in the cache. A long row is cut into blocks for the threads; sums are merged block by block,
// so the number of threads changes nothing.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/softmax.cpp"
#include <hwy/foreach_target.h>

#include <cmath>
#include <vector>

#include "exp-inl.hpp"
#include "float_kernels.hpp"
#include "kernels.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

constexpr size_t kBlock = 4096;

// From the terms, or from x, to the result.
template <bool Log, bool Keep, class T>
HWY_INLINE void finish(const T* x, T* y, size_t n, Compute<T> max, double sum) {
  const LaneTag<T> d;
  using C = Compute<T>;
  if constexpr (Log) {
    const auto log_sum = hn::Set(d, static_cast<C>(std::log(sum)));
    const auto shift = hn::Set(d, max);
    map_row(x, y, n, [=](auto v) HWY_ATTR { return hn::Sub(hn::Sub(v, shift), log_sum); });
  } else {
    const auto scale = hn::Set(d, static_cast<C>(1 / sum));
    if constexpr (Keep) {
      map_row(y, y, n, [=](auto v) HWY_ATTR { return hn::Mul(v, scale); });
    } else {
      const auto shift = hn::Set(d, max);
      map_row(x, y, n,
              [=](auto v) HWY_ATTR { return hn::Mul(exp_below(d, hn::Sub(v, shift)), scale); });
    }
  }
}

template <bool Log, class T>
void row(const T* x, T* y, size_t n) {
  constexpr bool kKeep = !Log && !is_half_v<T>;
  using C = Compute<T>;
  if (n <= kBlock) {
    const C max = greatest(x, n);
    return finish<Log, kKeep>(x, y, n, max, exp_sum<kKeep>(x, y, n, max));
  }
  const int64_t blocks = static_cast<int64_t>((n + kBlock - 1) / kBlock);
  std::vector<C> partial(static_cast<size_t>(blocks));
  const auto each = [&](auto&& body) {
    parallel_for(blocks, 4, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b)
        body(static_cast<size_t>(b), static_cast<size_t>(b) * kBlock);
    });
  };
  const auto size = [&](size_t at) { return std::min(kBlock, n - at); };
  each([&](size_t b, size_t at) { partial[b] = greatest(x + at, size(at)); });
  const C max = greatest(partial.data(), partial.size());
  each([&](size_t b, size_t at) { partial[b] = exp_sum<kKeep>(x + at, y + at, size(at), max); });
  double sum = 0;
  for (const C part : partial) sum += part;
  each([&](size_t, size_t at) { finish<Log, kKeep>(x + at, y + at, size(at), max, sum); });
}

// softmax: y·(g - Σ g·y); log_softmax: g - exp(y)·Σ g
template <bool Log, class T>
void backward_row(const T* g, const T* y, T* out, size_t n) {
  const LaneTag<T> d;
  double total = 0;
  for (size_t at = 0; at < n; at += kBlock) {
    const size_t m = std::min(kBlock, n - at);
    total += Log ? sum_of(d, g + at, m)
                 : sum_pairs(d, g + at, y + at, m,
                             [](auto a, auto b) HWY_ATTR { return hn::Mul(a, b); });
  }
  const auto sum = hn::Set(d, static_cast<Compute<T>>(total));
  map_rows(g, y, out, n, [=](auto gv, auto yv) HWY_ATTR {
    if constexpr (Log) return hn::NegMulAdd(exp_below(d, yv), sum, gv);
    return hn::Mul(yv, hn::Sub(gv, sum));
  });
}

// body(offset) for each row.
template <class Body>
void for_rows(const tn_view& view, size_t n, Body&& body) {
  if (n == 0) return;
  const int64_t rows = numel(view) / static_cast<int64_t>(n);
  const int64_t grain = std::max<int64_t>(1, kGrainMath / static_cast<int64_t>(n));
  if (rows < 2 * max_threads() && n >= 16 * kBlock) {  // the row itself is spread
    for (int64_t r = 0; r < rows; ++r) body(static_cast<size_t>(r) * n);
    return;
  }
  parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) body(static_cast<size_t>(r) * n);
  });
}

template <bool Log, class T>
void forward(const tn_call& call) {
  const tn_view& view = input(call, arg::softmax::x);
  const size_t n = static_cast<size_t>(view.shape[view.ndim - 1]);
  const T* const x = data_of<const T>(view);
  T* const y = data_of<T>(output(call));
  for_rows(view, n, [=](size_t at) { row<Log>(x + at, y + at, n); });
}

template <bool Log, class T>
void backward(const tn_call& call) {
  const tn_view& view = input(call, arg::softmax_backward::g);
  const size_t n = static_cast<size_t>(view.shape[view.ndim - 1]);
  const T* const g = data_of<const T>(view);
  const T* const y = data_of<const T>(input(call, arg::softmax_backward::y));
  T* const out = data_of<T>(output(call));
  for_rows(view, n, [=](size_t at) { backward_row<Log>(g + at, y + at, out + at, n); });
}

void add_kernels(KernelList& list) {
  for_each_float([&]<class T>(Tag<T>) {
    const uint64_t dtype = TN_MASK(kDtype<T>);
    list.add({.schema = TN_SCHEMA_SOFTMAX, .dtypes = dtype, .run = run_of<forward<false, T>>});
    list.add({.schema = TN_SCHEMA_LOG_SOFTMAX, .dtypes = dtype, .run = run_of<forward<true, T>>});
    list.add(
        {.schema = TN_SCHEMA_SOFTMAX_BACKWARD, .dtypes = dtype, .run = run_of<backward<false, T>>});
    list.add({.schema = TN_SCHEMA_LOG_SOFTMAX_BACKWARD,
              .dtypes = dtype,
              .run = run_of<backward<true, T>>});
  });
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_softmax_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
