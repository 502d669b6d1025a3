// cumsum, cumprod, cummax, cummin. Running totals of f32 are kept in f64, of integers in 64 bits.
#include <algorithm>

#include "dispatch.hpp"
#include "indexing.hpp"
#include "kernels.hpp"
#include "ops/halves.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

namespace tenon::cpu {
namespace {

template <class T>
using Total =
    std::conditional_t<is_complex_v<T>, std::complex<double>,
                       std::conditional_t<is_float_v<T>, double, uint64_t>>;  // integers wrap
                                                                              // around

template <class Out, class A>
Out narrow(A total) {
  if constexpr (is_half_v<Out>) {
    return static_cast<float>(total);
  } else {
    return static_cast<Out>(total);
  }
}

// Goes on with the totals of kRows rows, which lie `step` apart. Some rows at a time: each addition waits for the one before it in its row.
template <bool Product, int64_t kRows, class In, class Out>
void scan_rows(const In* x, int64_t step, int64_t n, Out* y, Total<In>* running) {
  Total<In> totals[kRows];
  std::copy_n(running, kRows, totals);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t r = 0; r < kRows; ++r) {
      const auto value = static_cast<Total<In>>(x[r * step + i]);
      totals[r] = Product ? totals[r] * value : totals[r] + value;
      y[r * step + i] = narrow<Out>(totals[r]);
    }
  std::copy_n(totals, kRows, running);
}

// body(first row, how many) for rows [begin, end).
template <class Body>
void some_rows(int64_t begin, int64_t end, Body&& body) {
  constexpr int64_t kTogether = 4;
  for (; begin + kTogether <= end; begin += kTogether)
    body(begin, std::integral_constant<int64_t, kTogether>());
  for (; begin < end; ++begin) body(begin, std::integral_constant<int64_t, 1>());
}

template <bool Product, class In, class Out>
void scan_range(const In* x, int64_t rows, int64_t n, Out* y) {
  some_rows(0, rows, [=]<int64_t kRows>(int64_t r, std::integral_constant<int64_t, kRows>) {
    Total<In> totals[kRows];
    std::fill_n(totals, kRows, Total<In>(Product ? 1 : 0));
    scan_rows<Product, kRows>(x + r * n, n, n, y + r * n, totals);
  });
}

// Halves are f32 meanwhile: short rows many at a time, long ones block by block.
template <bool Product, class T>
void scan_halves(const T* x, int64_t rows, int64_t n, T* y) {
  constexpr int64_t kBlock = 256, kMost = 4 * kBlock;
  float wide[kMost];
  if (n <= kBlock) {
    for (const int64_t together = kMost / n; rows > 0; rows -= together) {
      const int64_t some = std::min(rows, together);
      widen_range(x, wide, some * n);
      scan_range<Product>(wide, some, n, wide);
      round_range(wide, y, some * n);
      x += some * n, y += some * n;
    }
    return;
  }
  some_rows(0, rows, [&]<int64_t kRows>(int64_t row, std::integral_constant<int64_t, kRows>) {
    double totals[kRows];
    std::fill_n(totals, kRows, Product ? 1 : 0);
    for (int64_t i = 0; i < n; i += kBlock) {
      const int64_t some = std::min(kBlock, n - i);
      for (int64_t r = 0; r < kRows; ++r)
        widen_range(x + (row + r) * n + i, wide + r * kBlock, some);
      scan_rows<Product, kRows>(wide, kBlock, some, wide, totals);
      for (int64_t r = 0; r < kRows; ++r)
        round_range(wide + r * kBlock, y + (row + r) * n + i, some);
    }
  });
}

// Columns that lie side by side, which a row at a time is added to.
constexpr int64_t kColumns = 64;

template <bool Product, class In, class Out>
void scan_columns(const In* x, int64_t n, int64_t step, int64_t width, Out* y) {
  Total<In> totals[kColumns];
  std::fill_n(totals, width, Total<In>(Product ? 1 : 0));
  for (; n > 0; --n, x += step, y += step) {
    const auto add = [&](const auto* from, auto* to) {
      for (int64_t c = 0; c < width; ++c) {
        const auto value = static_cast<Total<In>>(from[c]);
        totals[c] = Product ? totals[c] * value : totals[c] + value;
        to[c] = narrow<std::remove_pointer_t<decltype(to)>>(totals[c]);
      }
    };
    if constexpr (is_half_v<In>) {
      float wide[kColumns];
      widen_range(x, wide, width);
      add(wide, wide);
      round_range(wide, y, width);
    } else {
      add(x, y);
    }
  }
}

bool by_columns(const tn_call& call) {
  const tn_view& x = input(call, arg::cumsum::x);
  const bool half = x.dtype == TN_DTYPE_F16 || x.dtype == TN_DTYPE_BF16;
  const int64_t few = half ? 32 : 4;  // fewer are better moved to rows
  return around(x, call.args[arg::cumsum::dim].as.i).inner >= few;
}

// Along any dimension where by_columns(), otherwise along the last.
template <bool Product, class In, class Out>
void scan(const tn_call& call) {
  static_assert(arg::cumsum::dim == arg::cumprod::dim);
  const tn_view& view = input(call, arg::cumsum::x);
  const int64_t dim = view.ndim == 0 ? 0 : call.args[arg::cumsum::dim].as.i;
  const Around a = around(view, dim);
  const int64_t n = a.size, inner = a.inner;
  if (numel(view) == 0) return;
  const In* const x = data_of<const In>(view);
  Out* const y = data_of<Out>(output(call));
  if (inner > 1) {
    const int64_t pieces = (inner + kColumns - 1) / kColumns;
    const int64_t grain = std::max<int64_t>(1, kGrainMath / (n * std::min(inner, kColumns)));
    return parallel_for(a.outer * pieces, grain, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t column = i % pieces * kColumns, at = i / pieces * n * inner + column;
        scan_columns<Product>(x + at, n, inner, std::min(kColumns, inner - column), y + at);
      }
    });
  }
  parallel_for(a.outer, std::max<int64_t>(1, kGrainMath / n), [=](int64_t begin, int64_t end) {
    if constexpr (is_half_v<In>)
      scan_halves<Product>(x + begin * n, end - begin, n, y + begin * n);
    else
      scan_range<Product>(x + begin * n, end - begin, n, y + begin * n);
  });
}

// Integers come out in any integer dtype, everything else in its own.
template <bool Product>
void scan_any(const tn_call& call) {
  visit_dtype(input(call, arg::cumsum::x).dtype, [&]<class In>(Tag<In>) {
    if constexpr (std::is_integral_v<In>) {
      visit_size(size_of(output(call).dtype), [&]<class Out>(Tag<Out>) {
        if constexpr (std::is_integral_v<Out>) scan<Product, In, Out>(call);
      });
    } else {
      scan<Product, In, In>(call);
    }
  });
}

// dx of rows from their ends: dxⱼ = y₍ⱼ₋₁₎·Sⱼ with Sⱼ = gⱼ + x₍ⱼ₊₁₎·S₍ⱼ₊₁₎, some rows at a time.
template <int64_t kRows, class T>
void product_rows_backward(const T* g, const T* x, const T* y, int64_t n, T* dx) {
  using A = Total<T>;
  const auto wide = [](T v) {
    if constexpr (is_complex_v<T>)
      return std::conj(static_cast<A>(v));
    else
      return static_cast<A>(static_cast<Compute<T>>(v));
  };
  A sums[kRows] = {};
  for (int64_t i = n; i-- > 0;)
    for (int64_t r = 0; r < kRows; ++r) {
      const int64_t at = r * n + i;
      A own;
      if constexpr (is_complex_v<T>)
        own = static_cast<A>(g[at]);
      else
        own = wide(g[at]);
      sums[r] = i + 1 < n ? own + wide(x[at + 1]) * sums[r] : own;
      dx[at] = narrow<T>(i > 0 ? wide(y[at - 1]) * sums[r] : sums[r]);
    }
}

void product_backward(const tn_call& call) {
  using arg = tenon::arg::cumprod_backward;
  const tn_view& view = input(call, arg::x);
  const int64_t n = view.shape[view.ndim - 1];
  if (n == 0) return;
  visit_dtype<TN_MASK_FLOAT | TN_MASK_COMPLEX>(view.dtype, [&]<class T>(Tag<T>) {
    const T* const g = data_of<const T>(input(call, arg::g));
    const T* const x = data_of<const T>(view);
    const T* const y = data_of<const T>(input(call, arg::y));
    T* const dx = data_of<T>(output(call));
    parallel_for(
        numel(view) / n, std::max<int64_t>(1, kGrainMath / n), [=](int64_t begin, int64_t end) {
          some_rows(begin, end,
                    [=]<int64_t kRows>(int64_t r, std::integral_constant<int64_t, kRows>) {
                      product_rows_backward<kRows>(g + r * n, x + r * n, y + r * n, n, dx + r * n);
                    });
        });
  });
}

// Whether x takes the place of the most extreme so far: of equal ones the last, and NaN for good.
template <bool Largest, class T>
bool takes_over(T x, T best) {
  const bool reached = Largest ? x >= best : x <= best;  // never with NaN
  if constexpr (std::is_floating_point_v<T>) return reached | (x != x);
  return reached;
}

// Blocks in which nothing takes over, as are most of a long row, are looked at by vectors and filled.
template <bool Largest, class T>
void extreme_row(const T* x, int64_t n, T* values, int64_t* indices) {
  constexpr int64_t kBlock = 16;
  int64_t best = 0;
  const auto beaten = [&](int64_t i) {
    return takes_over<Largest>(static_cast<Compute<T>>(x[i]), static_cast<Compute<T>>(x[best]));
  };
  for (int64_t i = 0; i < n;) {
    const int64_t end = std::min(i + kBlock, n);
    bool some = end - i < kBlock;
    if (!some) {
      const auto top = static_cast<Compute<T>>(x[best]);
      for (int64_t k = 0; k < kBlock; ++k)
        some |= takes_over<Largest>(static_cast<Compute<T>>(x[i + k]), top);
    }
    if (!some) {
      std::fill_n(values + i, kBlock, x[best]);
      std::fill_n(indices + i, kBlock, best);
      i = end;
    }
    for (; i < end; ++i) {
      if (beaten(i)) best = i;
      values[i] = x[best];
      indices[i] = best;
    }
  }
}

template <bool Largest>
void extremes(const tn_call& call) {
  using arg = tenon::arg::cummax;
  const tn_view& view = input(call, arg::x);
  const int64_t n = view.shape[view.ndim - 1];
  if (n == 0) return;
  int64_t* const indices = data_of<int64_t>(output(call, arg::result::indices));
  visit_dtype(view.dtype, [&]<class T>(Tag<T>) {
    if constexpr (!is_complex_v<T>) {
      const T* const x = data_of<const T>(view);
      T* const values = data_of<T>(output(call, arg::result::values));
      parallel_for(numel(view) / n, std::max<int64_t>(1, kGrainMath / n),
                   [=](int64_t begin, int64_t end) {
                     for (int64_t r = begin; r < end; ++r)
                       extreme_row<Largest>(x + r * n, n, values + r * n, indices + r * n);
                   });
    }
  });
}

}  // namespace

void add_scan_kernels(KernelList& list) {
  const auto add = [&](std::string_view schema, auto* run) {
    list.add({.schema = schema,
              .dtypes = TN_MASK_ALL,
              .run = run,
              .flags = TN_KERNEL_ANY_DIM,
              .priority = 1,
              .supports = supports_of<by_columns>});
    list.add({.schema = schema, .dtypes = TN_MASK_ALL, .run = run});
  };
  add(TN_SCHEMA_CUMSUM, run_of<scan_any<false>>);
  add(TN_SCHEMA_CUMPROD, run_of<scan_any<true>>);
  list.add({.schema = TN_SCHEMA_CUMPROD_BACKWARD,
            .dtypes = TN_MASK_FLOAT | TN_MASK_COMPLEX,
            .run = run_of<product_backward>});
  constexpr uint64_t kOrdered = TN_MASK_REAL | TN_MASK_BOOL;
  list.add({.schema = TN_SCHEMA_CUMMAX, .dtypes = kOrdered, .run = run_of<extremes<true>>});
  list.add({.schema = TN_SCHEMA_CUMMIN, .dtypes = kOrdered, .run = run_of<extremes<false>>});
}

}  // namespace tenon::cpu
