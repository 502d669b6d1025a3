// What the indexing ops share. Indices are checked before anything is read or written through them.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

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

// Positions of a list of destinations, by ranges of these: in each the positions are in order. Negative destinations are left out.
class ByRange {
 public:
  // At most `most` ranges of [0, rows).
  ByRange(const int64_t* at, int64_t count, int64_t rows, int64_t most);
  int64_t ranges() const { return static_cast<int64_t>(begin_.size()) - 1; }
  std::span<const int64_t> of(int64_t range) const {
    const auto i = static_cast<size_t>(range);
    return {order_.data() + begin_[i], order_.data() + begin_[i + 1]};
  }

 private:
  std::vector<int64_t> begin_, order_;
};

// f(to[at[j]], from[j]) for the elements of rows of `width`, j in order; rows with a negative `at` are left out. Threads share
// columns or, where rows are short, destinations: the number of threads changes nothing.
template <class To, class T, class F>
void combine_rows(To* to, int64_t rows, const T* from, const int64_t* at, int64_t count,
                  int64_t width, F&& f) {
  const auto combine = [&](int64_t j, int64_t first, int64_t last) {
    To* const a = to + at[j] * width;
    const T* const b = from + j * width;
    for (int64_t c = first; c < last; ++c) f(a[c], b[c]);
  };
  constexpr int64_t kColumns = 128 / sizeof(T);  // two lines of the cache
  constexpr int64_t kRangesOfThread = 8;         // they are not equally full
  constexpr int64_t kShort = 8;                  // elements: not worth a sort
  const int64_t threads =
      width < kShort ? 1 : std::min<int64_t>(max_threads(), count * width / kGrainMath);
  if (threads < 2 || width >= threads * kColumns)
    return parallel_for(width, threads < 2 ? width : kColumns, [&](int64_t begin, int64_t end) {
      for (int64_t j = 0; j < count; ++j)
        if (at[j] >= 0) combine(j, begin, end);
    });
  const ByRange shares(at, count, rows, threads * kRangesOfThread);
  parallel_each(shares.ranges(), [&](int64_t range) {
    for (const int64_t j : shares.of(range)) combine(j, 0, width);
  });
}

// to[at[j]] += from[j] for rows of `width` elements, j in order; rows with a negative `at` are
// left out. Halves are summed in f32.
void add_rows(tn_dtype dtype, void* to, int64_t rows, const void* from, const int64_t* at,
              int64_t count, int64_t width);

}  // namespace tenon::cpu
