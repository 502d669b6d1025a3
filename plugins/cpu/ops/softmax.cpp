// softmax, log_softmax and their backward, row by row: max, exp with its sum, scale, while the row
// lies in the cache. A long row is cut into blocks for the threads; sums are merged block by block,
// so the number of threads changes nothing. Along another dimension than the last, the same for a
// vector of columns at a time.
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

// Rows that are finished together, as long as they lie in the innermost cache.
constexpr size_t kTogether = 16;

// What rows with these sums subtract, or are multiplied by.
template <bool Log, class C>
HWY_INLINE void turn_sums(C* sums, size_t n) {
  if constexpr (Log)
    log_sums(sums, n);
  else
    for (size_t i = 0; i < n; ++i) sums[i] = 1 / sums[i];
}

// From the terms, or from x, to the result.
template <bool Log, bool Keep, class T>
HWY_INLINE void finish(const T* x, T* y, size_t n, Compute<T> max, Compute<T> turned) {
  const LaneTag<T> d;
  if constexpr (Log) {
    const auto log_sum = hn::Set(d, turned);
    const auto shift = hn::Set(d, max);
    map_row(x, y, n, [=](auto v) HWY_ATTR { return hn::Sub(hn::Sub(v, shift), log_sum); });
  } else {
    const auto scale = hn::Set(d, turned);
    if constexpr (Keep) {
      map_row(y, y, n, [=](auto v) HWY_ATTR { return hn::Mul(v, scale); });
    } else {
      const auto shift = hn::Set(d, max);
      map_row(x, y, n,
              [=](auto v) HWY_ATTR { return hn::Mul(exp_below(d, hn::Sub(v, shift)), scale); });
    }
  }
}

// A step of all rows before the next one: no row waits for what the one before it comes to.
template <bool Log, class T>
void short_rows(const T* x, T* y, size_t n, size_t rows) {
  constexpr bool kKeep = !Log && !is_half_v<T>;
  Compute<T> max[kTogether], sums[kTogether];
  for (size_t r = 0; r < rows; ++r) max[r] = greatest(x + r * n, n);
  for (size_t r = 0; r < rows; ++r) sums[r] = exp_sum<kKeep>(x + r * n, y + r * n, n, max[r]);
  turn_sums<Log>(sums, rows);
  for (size_t r = 0; r < rows; ++r) finish<Log, kKeep>(x + r * n, y + r * n, n, max[r], sums[r]);
}

template <bool Log, class T>
void long_row(const T* x, T* y, size_t n) {
  constexpr bool kKeep = !Log && !is_half_v<T>;
  using C = Compute<T>;
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
  const C turned = static_cast<C>(Log ? std::log(sum) : 1 / sum);
  each([&](size_t, size_t at) { finish<Log, kKeep>(x + at, y + at, size(at), max, turned); });
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

// ---- Along another dimension: (outer, n, inner) -------------------------------------------------

// Columns that are worked on at a time, with their maxima and sums in the innermost cache.
constexpr size_t kColumns = 256;
// Rows whose terms are summed before they are added to the total.
constexpr size_t kTerms = 64;

// n rows, `inner` elements apart, of the first `width` columns.
struct Columns {
  size_t n, inner, width;
};

// body(row, first column, how many from there) for each vector of each row.
template <class T, class Body>
HWY_INLINE void each_vector(const Columns& of, size_t first_row, size_t last_row, Body&& body) {
  const size_t lanes = hn::Lanes(LaneTag<T>());
  for (size_t i = first_row; i < last_row; ++i)
    for (size_t c = 0; c < of.width; c += lanes) body(i * of.inner + c, c, of.width - c);
}

template <class D, class T>
HWY_INLINE hn::Vec<D> load_some(D d, const T* p, size_t n) {
  return n >= hn::Lanes(d) ? load(d, p) : load_first(d, p, n, hn::TFromD<D>{0});
}
template <class D, class T>
HWY_INLINE void store_some(hn::Vec<D> v, D d, T* p, size_t n) {
  n >= hn::Lanes(d) ? store(v, d, p) : store_first(v, d, p, n);
}

// sums[c] = Σ term(place, c, left) down column c.
template <class T, class Term>
HWY_INLINE void sum_down(const Columns& of, Compute<T>* sums, Term&& term) {
  const LaneTag<T> d;
  Compute<T> part[kColumns];
  std::fill_n(sums, kColumns, Compute<T>{0});
  for (size_t row = 0; row < of.n; row += kTerms) {
    std::fill_n(part, kColumns, Compute<T>{0});
    each_vector<T>(of, row, std::min(of.n, row + kTerms),
                   [&](size_t at, size_t c, size_t left) HWY_ATTR {
                     store(hn::Add(load(d, part + c), term(at, c, left)), d, part + c);
                   });
    for (size_t c = 0; c < kColumns; ++c) sums[c] += part[c];
  }
}

template <bool Log, class T>
void columns(const T* x, T* y, const Columns& of) {
  constexpr bool kKeep = !Log && !is_half_v<T>;  // the terms, in y
  const LaneTag<T> d;
  Compute<T> max[kColumns], sums[kColumns];
  std::fill_n(max, kColumns, -std::numeric_limits<Compute<T>>::infinity());
  each_vector<T>(of, 0, of.n, [&](size_t at, size_t c, size_t left) HWY_ATTR {
    store(hn::Max(load(d, max + c), load_some(d, x + at, left)), d, max + c);
  });
  sum_down<T>(of, sums, [&](size_t at, size_t c, size_t left) HWY_ATTR {
    const auto term = exp_below(d, hn::Sub(load_some(d, x + at, left), load(d, max + c)));
    if constexpr (kKeep) store_some(term, d, y + at, left);
    return term;
  });
  turn_sums<Log>(sums, of.width);
  each_vector<T>(of, 0, of.n, [&](size_t at, size_t c, size_t left) HWY_ATTR {
    const auto sum = load(d, sums + c);
    if constexpr (kKeep) {
      store_some(hn::Mul(load_some(d, y + at, left), sum), d, y + at, left);
    } else {
      const auto v = hn::Sub(load_some(d, x + at, left), load(d, max + c));
      store_some(Log ? hn::Sub(v, sum) : hn::Mul(exp_below(d, v), sum), d, y + at, left);
    }
  });
}

template <bool Log, class T>
void backward_columns(const T* g, const T* y, T* out, const Columns& of) {
  const LaneTag<T> d;
  Compute<T> sums[kColumns];
  sum_down<T>(of, sums, [&](size_t at, size_t, size_t left) HWY_ATTR {
    const auto gv = load_some(d, g + at, left);
    return Log ? gv : hn::Mul(gv, load_some(d, y + at, left));
  });
  each_vector<T>(of, 0, of.n, [&](size_t at, size_t c, size_t left) HWY_ATTR {
    const auto gv = load_some(d, g + at, left), yv = load_some(d, y + at, left);
    const auto sum = load(d, sums + c);
    store_some(Log ? hn::NegMulAdd(exp_below(d, yv), sum, gv) : hn::Mul(yv, hn::Sub(gv, sum)), d,
               out + at, left);
  });
}

// Elements between neighbours along `dim`.
inline size_t inner_of(const tn_view& view, int64_t dim) {
  size_t inner = 1;
  for (uint32_t k = static_cast<uint32_t>(dim) + 1; k < view.ndim; ++k)
    inner *= static_cast<size_t>(view.shape[k]);
  return inner;
}

// Long columns side by side in less than four vectors are done faster as rows, copies included.
template <uint32_t dim_arg>
bool by_columns(const tn_call& call) {
  const tn_view& view = output(call);
  const int64_t dim = call.args[dim_arg].as.i;
  return dim + 1 >= view.ndim || view.shape[dim] <= 32 || inner_of(view, dim) >= 64;
}

// body(offset, columns) for all columns along `dim`.
template <class Body>
void for_columns(const tn_view& view, int64_t dim, Body&& body) {
  if (numel(view) == 0) return;
  const size_t n = static_cast<size_t>(view.shape[dim]), inner = inner_of(view, dim);
  const size_t blocks = (inner + kColumns - 1) / kColumns;
  const size_t outer = static_cast<size_t>(numel(view)) / (n * inner);
  const size_t work = n * std::min(inner, kColumns);
  const auto grain = std::max<int64_t>(1, kGrainMath / static_cast<int64_t>(work));
  parallel_for(static_cast<int64_t>(outer * blocks), grain, [&](int64_t begin, int64_t end) {
    for (size_t i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      const size_t first = i % blocks * kColumns;
      body(i / blocks * n * inner + first, Columns{n, inner, std::min(kColumns, inner - first)});
    }
  });
}

// body(offset, rows): `together` rows at a time, or what is left.
template <class Body>
void for_rows(const tn_view& view, size_t n, size_t together, Body&& body) {
  if (n == 0) return;
  const size_t rows = static_cast<size_t>(numel(view)) / n;
  const int64_t grain = std::max<int64_t>(1, kGrainMath / static_cast<int64_t>(n));
  if (static_cast<int64_t>(rows) < 2 * max_threads() &&
      n >= 16 * kBlock) {  // the row itself is spread
    for (size_t r = 0; r < rows; ++r) body(r * n, 1);
    return;
  }
  parallel_for(static_cast<int64_t>(rows), grain, [&](int64_t begin, int64_t end) {
    const size_t last = static_cast<size_t>(end);
    for (size_t r = static_cast<size_t>(begin); r < last; r += together)
      body(r * n, std::min(together, last - r));
  });
}

template <bool Log, class T>
void forward(const tn_call& call) {
  const tn_view& view = input(call, arg::softmax::x);
  const size_t n = static_cast<size_t>(view.shape[view.ndim - 1]);
  const T* const x = data_of<const T>(view);
  T* const y = data_of<T>(output(call));
  const int64_t dim = call.args[arg::softmax::dim].as.i;
  if (dim + 1 < view.ndim)
    return for_columns(view, dim,
                       [=](size_t at, const Columns& of) { columns<Log>(x + at, y + at, of); });
  const size_t together = std::clamp<size_t>(kBlock / std::max<size_t>(n, 1), 1, kTogether);
  for_rows(view, n, together, [=](size_t at, size_t rows) {
    n <= kBlock ? short_rows<Log>(x + at, y + at, n, rows) : long_row<Log>(x + at, y + at, n);
  });
}

template <bool Log, class T>
void backward(const tn_call& call) {
  const tn_view& view = input(call, arg::softmax_backward::g);
  const size_t n = static_cast<size_t>(view.shape[view.ndim - 1]);
  const T* const g = data_of<const T>(view);
  const T* const y = data_of<const T>(input(call, arg::softmax_backward::y));
  T* const out = data_of<T>(output(call));
  const int64_t dim = call.args[arg::softmax_backward::dim].as.i;
  if (dim + 1 < view.ndim)
    return for_columns(view, dim, [=](size_t at, const Columns& of) {
      backward_columns<Log>(g + at, y + at, out + at, of);
    });
  for_rows(view, n, 1, [=](size_t at, size_t) { backward_row<Log>(g + at, y + at, out + at, n); });
}

template <uint32_t dim_arg>
void add_both(KernelList& list, std::string_view schema, uint64_t dtypes,
              tn_status* (*run)(void*, void*, const tn_call*)) {
  list.add({.schema = schema,
            .dtypes = dtypes,
            .run = run,
            .flags = TN_KERNEL_ANY_DIM,
            .priority = 1,
            .supports = supports_of<by_columns<dim_arg>>});
  list.add({.schema = schema, .dtypes = dtypes, .run = run});
}

void add_kernels(KernelList& list) {
  constexpr uint32_t kDim = arg::softmax::dim, kBackwardDim = arg::softmax_backward::dim;
  for_each_float([&]<class T>(Tag<T>) {
    const uint64_t t = TN_MASK(kDtype<T>);
    add_both<kDim>(list, TN_SCHEMA_SOFTMAX, t, run_of<forward<false, T>>);
    add_both<kDim>(list, TN_SCHEMA_LOG_SOFTMAX, t, run_of<forward<true, T>>);
    add_both<kBackwardDim>(list, TN_SCHEMA_SOFTMAX_BACKWARD, t, run_of<backward<false, T>>);
    add_both<kBackwardDim>(list, TN_SCHEMA_LOG_SOFTMAX_BACKWARD, t, run_of<backward<true, T>>);
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
