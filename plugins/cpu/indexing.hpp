// What the indexing ops share. Indices are checked before anything is read or written through them.
#pragma once

#include <algorithm>

#include "dispatch.hpp"
#include "kernels.hpp"
#include "threads.hpp"

namespace tenon::cpu {

// Throws "[op] index 7 at position 12 out of range for dimension 1 of size 5"; positions are
// row-major. Any strides. `wrap` lets negative indices count from the end.
void check_indices(const char* op, const tn_view& index, int64_t dim, int64_t size, bool wrap);

// Whether all of n indices lie in [-shift, range - shift): of those that do, neither sign bit is set.
inline bool in_range(const int64_t* index, int64_t n, int64_t step, uint64_t shift,
                     uint64_t range) {
  uint64_t signs = 0;
  const auto see = [&](int64_t i) {
    const uint64_t at = static_cast<uint64_t>(index[i]) + shift;
    signs |= at | (range - 1 - at);
  };
  if (step == 1)
    for (int64_t i = 0; i < n; ++i) see(i);
  else
    for (int64_t i = 0; i < n; ++i) see(i * step);
  return signs >> 63 == 0;
}

inline int64_t wrapped(int64_t index, int64_t size) { return index < 0 ? index + size : index; }

// The output starts as x, unless it is x (a call in place). Both are contiguous.
void start_as(const tn_view& x, const tn_view& out);

// Integers wrap around, bool is "or".
template <class T>
inline T add_values(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a || b;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}

// A dense array seen as outer × size × inner around one dimension.
struct Around {
  int64_t outer = 1, size = 1, inner = 1;
};
inline Around around(const tn_view& x, int64_t dim) {
  Around a;
  for (uint32_t d = 0; d < x.ndim; ++d) {
    int64_t& part = d < dim ? a.outer : d == dim ? a.size : a.inner;
    part *= x.shape[d];
  }
  return a;
}

// f(to[at[j]], from[j]) for the elements of rows of `width`, j in order; rows with a negative `at` are left out. Threads share
// columns or destinations, so the number of threads changes nothing.
template <class To, class T, class F>
void combine_rows(To* to, int64_t rows, const T* from, const int64_t* at, int64_t count,
                  int64_t width, F&& f) {
  const auto part = [&](int64_t first_row, int64_t last_row, int64_t first, int64_t last) {
    for (int64_t j = 0; j < count; ++j) {
      if (at[j] < first_row || at[j] >= last_row) continue;
      To* const a = to + at[j] * width;
      const T* const b = from + j * width;
      for (int64_t c = first; c < last; ++c) f(a[c], b[c]);
    }
  };
  const int64_t work = std::max<int64_t>(1, count * width);
  constexpr int64_t kManyRows = 256;  // so many destinations are shared evenly enough
  if (width >= 128 && rows < kManyRows)
    parallel_for(width, std::max<int64_t>(64, kGrainMath * width / work),
                 [&](int64_t begin, int64_t end) { part(0, rows, begin, end); });
  else
    parallel_for(rows, std::max<int64_t>(1, kGrainMath * rows / work),
                 [&](int64_t begin, int64_t end) { part(begin, end, 0, width); });
}

// to[at[j]] += from[j] for rows of `width` elements, j in order; rows with a negative `at` are
// left out. Halves are summed in f32.
void add_rows(tn_dtype dtype, void* to, int64_t rows, const void* from, const int64_t* at,
              int64_t count, int64_t width);

}  // namespace tenon::cpu
