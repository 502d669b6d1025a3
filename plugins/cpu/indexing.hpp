// What the indexing ops share. Indices are checked before anything is read or written through them.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "combine.hpp"
#include "dispatch.hpp"
#include "kernels.hpp"
#include "ops/halves.hpp"
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

// memcpy, by all threads where it is long.
inline void copy_bytes(char* to, const char* from, int64_t bytes) {
  const auto copy = [=](int64_t begin, int64_t end) {
    std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
  };
  parallel_for(bytes, kGrainCopy * 4, copy);
}

// The output starts as x, unless it is x (a call in place). Both are contiguous.
void start_as(const tn_view& x, const tn_view& out);

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

// Rows that an index names lie anywhere: those to come are asked for early.
constexpr int64_t kRowsAhead = 8;
template <class T>
inline void prefetch_row(const T* row, int64_t width) {
  constexpr int64_t kLine = 64, kMost = 4 * kLine;  // bytes; caches foresee the rest
  const int64_t bytes = std::min(width * static_cast<int64_t>(sizeof(T)), kMost);
  for (int64_t at = 0; at < bytes; at += kLine)
    __builtin_prefetch(reinterpret_cast<const char*>(row) + at);
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

// body(order, count, first, last) for parts of `count` rows of `width` elements that go to rows `at` of a result: the columns
// [first, last) of the rows in `order`, or of all if that is NULL. Threads share destinations or, where rows are long, columns: caches
// fetch lines in pairs and ahead, so threads that write parts of a short row get in each other's way. Their number changes nothing.
template <class Body>
void share_rows(int64_t rows, const int64_t* at, int64_t count, int64_t width, int64_t size,
                Body&& body) {
  constexpr int64_t kRangesOfThread = 8;  // they are not equally full
  constexpr int64_t kShort = 8;           // elements: not worth a sort
  const int64_t threads =
      width < kShort ? 1 : std::min<int64_t>(max_threads(), count * width / kGrainMath);
  const int64_t columns = (rows < threads * kRangesOfThread ? 128 : 4096) / size;
  if (threads < 2 || width >= threads * columns)
    return parallel_for(width, threads < 2 ? width : columns, [&](int64_t begin, int64_t end) {
      body(static_cast<const int64_t*>(nullptr), count, begin, end);
    });
  const ByRange shares(at, count, rows, threads * kRangesOfThread);
  parallel_each(shares.ranges(), [&](int64_t range) {
    const std::span<const int64_t> order = shares.of(range);
    body(order.data(), static_cast<int64_t>(order.size()), int64_t{0}, width);
  });
}

// to[at[j]] = combined(to[at[j]], from[j]) for rows of `width` elements, j in order; rows with a negative `at` are left out. Halves
// are combined with f32.
void combine_rows(Combine how, tn_dtype dtype, void* to, int64_t rows, const void* from,
                  const int64_t* at, int64_t count, int64_t width);

// body(data) of n elements, which are f32 meanwhile if they are halves.
template <class Body>
void with_wide(tn_dtype dtype, void* data, int64_t n, Body&& body) {
  const auto with = [&]<class T>(T* halves) {
    std::vector<float> wide(static_cast<size_t>(n));
    widen_all(halves, wide.data(), n);
    body(static_cast<void*>(wide.data()));
    round_all(wide.data(), halves, n);
  };
  if (dtype == TN_DTYPE_F16)
    with(static_cast<F16*>(data));
  else if (dtype == TN_DTYPE_BF16)
    with(static_cast<BF16*>(data));
  else
    body(data);
}

// to[at[j]] += from[j] for rows of `width` elements, j in order; rows with a negative `at` are
// left out. Halves are summed in f32.
void add_rows(tn_dtype dtype, void* to, int64_t rows, const void* from, const int64_t* at,
              int64_t count, int64_t width);

}  // namespace tenon::cpu
