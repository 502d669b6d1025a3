#include "indexing.hpp"

#include <atomic>
#include <cstring>
#include <vector>

#include "threads.hpp"

namespace tenon::cpu {
namespace {

// walk(offset, n, step) for each innermost row; repeated dimensions (stride 0) are looked at
// once unless `all`.
template <class Walk>
void for_index_rows(const tn_view& index, bool all, Walk&& walk) {
  int64_t shape[TN_MAX_DIMS], strides[TN_MAX_DIMS];
  uint32_t n = 0;
  int64_t rows = 1;
  for (uint32_t d = 0; d < index.ndim; ++d) {
    if (index.shape[d] == 0) return;
    if (!all && index.strides[d] == 0) continue;
    shape[n] = index.shape[d];
    strides[n++] = index.strides[d];
  }
  if (n == 0) return walk(int64_t{0}, int64_t{1}, int64_t{0});
  while (!all && n > 1 && strides[n - 2] == shape[n - 1] * strides[n - 1]) {
    shape[n - 2] *= shape[n - 1];
    strides[n - 2] = strides[n - 1];
    --n;
  }
  for (uint32_t d = 0; d + 1 < n; ++d) rows *= shape[d];
  for (int64_t r = 0; r < rows; ++r) {
    int64_t rest = r, offset = 0;
    for (uint32_t d = n - 1; d-- > 0; rest /= shape[d]) offset += rest % shape[d] * strides[d];
    walk(offset, shape[n - 1], strides[n - 1]);
  }
}

}  // namespace

void check_indices(const char* op, const tn_view& index, int64_t dim, int64_t size, bool wrap) {
  const int64_t* const data = data_of<const int64_t>(index);
  const uint64_t shift = wrap ? static_cast<uint64_t>(size) : 0;
  const uint64_t range = static_cast<uint64_t>(size) + shift;
  std::atomic<bool> bad = false;
  for_index_rows(index, false, [&](int64_t offset, int64_t n, int64_t step) {
    const int64_t* const row = data + offset;
    parallel_for(n, kGrainCopy, [&](int64_t begin, int64_t end) {
      if (!in_range(row + begin * step, end - begin, step, shift, range)) bad = true;
    });
  });
  if (!bad) return;
  int64_t position = 0;
  for_index_rows(index, true, [&](int64_t offset, int64_t n, int64_t step) {
    for (int64_t i = 0; i < n; ++i, ++position) {
      const int64_t at = data[offset + i * step];
      if (static_cast<uint64_t>(at) + shift >= range)
        fail(TN_OUT_OF_RANGE, "[", op, "] index ", at, " at position ", position,
             " out of range for dimension ", dim, " of size ", size);
    }
  });
}

void start_as(const tn_view& x, const tn_view& out) {
  if (x.data != out.data)
    copy_bytes(data_of<char>(out), data_of<const char>(x), numel(out) * size_of(out.dtype));
}

ByRange::ByRange(const int64_t* at, int64_t count, int64_t rows, int64_t most) {
  int shift = 0;
  while (((rows - 1) >> shift) >= most) ++shift;
  begin_.resize(static_cast<size_t>(std::max<int64_t>(0, rows - 1) >> shift) + 2);
  for (int64_t j = 0; j < count; ++j)
    if (at[j] >= 0) ++begin_[static_cast<size_t>(at[j] >> shift) + 1];
  for (size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
  order_.resize(static_cast<size_t>(begin_.back()));
  std::vector<int64_t> next = begin_;
  for (int64_t j = 0; j < count; ++j)
    if (at[j] >= 0) order_[static_cast<size_t>(next[static_cast<size_t>(at[j] >> shift)]++)] = j;
}

void combine_rows(Combine how, tn_dtype dtype, void* to, int64_t rows, const void* from,
                  const int64_t* at, int64_t count, int64_t width) {
  const RowCombiner combine = row_combiner(how, dtype);
  share_rows(rows, at, count, width, size_of(dtype),
             [&](const int64_t* order, int64_t n, int64_t first, int64_t last) {
               combine({to, from, at, order, n, width, first, last});
             });
}

void add_rows(tn_dtype dtype, void* to, int64_t rows, const void* from, const int64_t* at,
              int64_t count, int64_t width) {
  with_wide(dtype, to, rows * width, [&](void* sums) {
    combine_rows(Combine::kAdd, dtype, sums, rows, from, at, count, width);
  });
}

}  // namespace tenon::cpu
