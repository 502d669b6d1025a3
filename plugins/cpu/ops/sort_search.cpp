// searchsorted: a binary search for each value, without branches and several at once, since each waits for what it reads.
#include <algorithm>
#include <vector>

#include "dispatch.hpp"
#include "kernels.hpp"
#include "sort_keys.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

namespace tenon::cpu {
namespace {

constexpr int64_t kTogether = 8;

// How many of n keys in order stand before each of m values: those below it, with Right those equal to it as well.
template <bool Right, class T, class KeyAt>
void search(const KeyAt& key_at, int64_t n, const T* values, int64_t m, int64_t* out) {
  const auto step = [&](int64_t at, Key<T> value, int64_t by) {
    const Key<T> key = key_at(at);
    return by & -static_cast<int64_t>(Right ? key <= value : key < value);
  };
  for (int64_t i = 0; i < m; i += kTogether) {
    const int64_t count = std::min(kTogether, m - i);
    Key<T> keys[kTogether] = {};
    int64_t found[kTogether] = {};
    for (int64_t k = 0; k < count; ++k) keys[k] = key_of(values[i + k]);
    for (int64_t left = n; left > 1; left -= left / 2)
      for (int64_t k = 0; k < kTogether; ++k)
        found[k] += step(found[k] + left / 2 - 1, keys[k], left / 2);
    for (int64_t k = 0; k < count; ++k)
      out[i + k] = n == 0 ? 0 : found[k] + step(found[k], keys[k], 1);
  }
}

// Each of some values in its row of n sorted elements; rows are taken one after the other.
template <bool Right, class T>
void search_rows(const T* sorted, int64_t n, const T* values, int64_t count, int64_t width,
                 int64_t* out) {
  std::vector<Key<T>> keys;  // of the one row that all values are looked for in
  if (width == count && count >= n)
    for (int64_t i = 0; i < n; ++i) keys.push_back(key_of(sorted[i]));
  parallel_for(count, kGrainMath, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const T* const row = sorted + begin / width * n;
      const int64_t m = std::min(end - begin, width - begin % width);
      const auto with = [&](const auto& key_at) {
        search<Right>(key_at, n, values + begin, m, out + begin);
      };
      keys.empty() ? with([row](int64_t i) { return key_of(row[i]); })
                   : with([all = keys.data()](int64_t i) { return all[i]; });
      begin += m;
    }
  });
}

void searchsorted(const tn_call& call) {
  using arg = tenon::arg::searchsorted;
  const tn_view& sorted = input(call, arg::sorted);
  const tn_view& values = input(call, arg::values);
  const int64_t n = sorted.shape[sorted.ndim - 1], count = numel(values);
  const int64_t width = sorted.ndim == 1 ? count : values.shape[values.ndim - 1];
  const bool right = call.args[arg::right].as.i != 0;
  visit_dtype<TN_MASK_REAL | TN_MASK_BOOL>(sorted.dtype, [&]<class T>(Tag<T>) {
    (right ? search_rows<true, T> : search_rows<false, T>)(data_of<const T>(sorted), n,
                                                           data_of<const T>(values), count, width,
                                                           data_of<int64_t>(output(call)));
  });
}

}  // namespace

void add_sort_search_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_SEARCHSORTED,
            .dtypes = TN_MASK_REAL | TN_MASK_BOOL,
            .run = run_of<searchsorted>});
}

}  // namespace tenon::cpu
