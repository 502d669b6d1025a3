// logsumexp: the largest element is taken out, so nothing overflows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/reduce_logsumexp.cpp"
#include <hwy/foreach_target.h>

#include <cmath>

#include "exp-inl.hpp"
#include "reduce-inl.hpp"
#include "tenon/schemas.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

// log Σ exp = max + log(sum); an infinite or NaN max decides alone.
template <class T>
struct LogSumExp {
  using Elem = T;
  struct State {
    T max;
    double sum;
  };
  static constexpr bool ordered = false;
  State start() const { return {-std::numeric_limits<T>::infinity(), 0}; }
  void merge(State& into, const State& other) const {
    if (!std::isfinite(into.max) || !std::isfinite(other.max)) {
      if (other.max > into.max || other.max != other.max) into = other;
    } else if (other.max <= into.max) {
      into.sum += other.sum * std::exp(static_cast<double>(other.max) - into.max);
    } else {
      into = {other.max,
              other.sum + into.sum * std::exp(static_cast<double>(into.max) - other.max)};
    }
  }
  State run(const T* x, int64_t n, int64_t) const {
    const LaneTag<T> d;
    const T max = max_of(d, x, static_cast<size_t>(n));
    if (!std::isfinite(max)) return {max, 1};
    const auto shift = hn::Set(d, max);
    const auto step = [d, shift](auto acc, auto v)
                          HWY_ATTR { return hn::Add(acc, exp_below(d, hn::Sub(v, shift))); };
    const auto add = [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); };
    const T lowest = -std::numeric_limits<T>::infinity();
    return {max, hn::GetLane(hn::SumOfLanes(
                     d, fold(d, x, static_cast<size_t>(n), hn::Zero(d), lowest, step, add)))};
  }
  // Lanes hold columns: their maxima, then the sums below them.
  void columns(const T* x, int64_t step, int64_t rows, int64_t cols, int64_t, State* s) const {
    const LaneTag<T> d;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    const T lowest = -std::numeric_limits<T>::infinity();
    HWY_ALIGN T max[hn::MaxLanes(d)], sum[hn::MaxLanes(d)];
    for (int64_t c = 0; c < cols; c += lanes) {
      const int64_t n = std::min(lanes, cols - c);
      const auto row = [&](int64_t r) HWY_ATTR { return load_columns(d, x + r * step + c, n); };
      auto top = hn::Set(d, lowest), total = hn::Zero(d);
      for (int64_t r = 0; r < rows; ++r) top = max_nan(d, top, row(r));
      // An infinite or NaN maximum decides alone, whatever its sum.
      for (int64_t r = 0; r < rows; ++r) total = hn::Add(total, exp_below(d, hn::Sub(row(r), top)));
      hn::Store(top, d, max);
      hn::Store(total, d, sum);
      for (int64_t i = 0; i < n; ++i) merge(s[c + i], {max[i], sum[i]});
    }
  }
};

template <class Out, class T>
void put(const LogSumExp<T>&, char* out, int64_t at, int64_t step,
         const typename LogSumExp<T>::State* states, int64_t n, int64_t) {
  constexpr int64_t kTogether = 32;
  double logs[kTogether];
  Out* const to = reinterpret_cast<Out*>(out) + at;
  for (int64_t begin = 0; begin < n; begin += kTogether) {
    const int64_t end = std::min(n, begin + kTogether);
    for (int64_t i = begin; i < end; ++i) logs[i - begin] = states[i].sum;
    log_sums(logs, static_cast<size_t>(end - begin));
    for (int64_t i = begin; i < end; ++i) {
      const T max = states[i].max;
      to[i * step] = std::isfinite(max) ? static_cast<T>(max + logs[i - begin]) : max;
    }
  }
}

void logsumexp(const tn_call& call) {
  visit_dtype<TN_MASK_FLOAT>(input(call, arg::logsumexp::x).dtype, [&]<class T>(Tag<T>) {
    using C = Compute<T>;
    reduce_call(call, LogSumExp<C>(), source_of<C, TN_MASK(kDtype<T>)>(kDtype<T>), put<T, C>);
  });
}

void add_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_LOGSUMEXP, .dtypes = TN_MASK_FLOAT, .run = run_of<logsumexp>});
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_reduce_logsumexp_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
