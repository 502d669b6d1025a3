// searchsorted: a binary search for each value, without branches and several at once, since each waits for what it reads. In short
// rows all keys are compared with many values at once.
#include <algorithm>
#include <vector>

#include "dispatch.hpp"
#include "kernels.hpp"
#include "sort_keys.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/sort_search.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace {

// counts[i]: how many of n keys stand before values[i]. m is a whole number of vectors.
template <bool Right, class K>
HWY_INLINE void count_each(const K* keys, int64_t n, const K* values, int64_t m, K* counts) {
  const hn::ScalableTag<K> d;
  [[maybe_unused]] const auto all = hn::Set(d, static_cast<K>(n));
  for (int64_t i = 0; i < m; i += static_cast<int64_t>(hn::Lanes(d))) {
    const auto value = hn::LoadU(d, values + i);
    auto count = hn::Zero(d);
    for (int64_t j = 0; j < n; ++j) {
      const auto key = hn::Set(d, keys[j]);
      const auto stands = Right ? hn::Lt(value, key) : hn::Lt(key, value);
      count = hn::Sub(count, hn::VecFromMask(d, stands));
    }
    if constexpr (Right) count = hn::Sub(all, count);  // of those behind
    hn::StoreU(count, d, counts + i);
  }
}
void count_4(bool right, const uint32_t* keys, int64_t n, const uint32_t* values, int64_t m,
             uint32_t* counts) {
  (right ? count_each<true, uint32_t> : count_each<false, uint32_t>)(keys, n, values, m, counts);
}
void count_8(bool right, const uint64_t* keys, int64_t n, const uint64_t* values, int64_t m,
             uint64_t* counts) {
  (right ? count_each<true, uint64_t> : count_each<false, uint64_t>)(keys, n, values, m, counts);
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(count_4);
HWY_EXPORT(count_8);
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

// Whether comparing every key is quicker than halving them: they fit into a few vectors.
template <class T>
bool is_short(int64_t n) {
  return sizeof(T) >= 4 && n <= 256 / static_cast<int64_t>(sizeof(T));
}

// The same for a short row.
template <bool Right, class T>
void search_short(const T* row, int64_t n, const T* values, int64_t m, int64_t* out) {
  constexpr int64_t kBlock = 256;  // whole vectors of any width
  Key<T> keys[256 / sizeof(T)], wanted[kBlock] = {}, counts[kBlock];
  for (int64_t j = 0; j < n; ++j) keys[j] = key_of(row[j]);
  for (int64_t done = 0; done < m; done += kBlock) {
    const int64_t some = std::min(kBlock, m - done), padded = (some + 63) / 64 * 64;
    for (int64_t i = 0; i < some; ++i) wanted[i] = key_of(values[done + i]);
    if constexpr (sizeof(T) == 4)
      HWY_DYNAMIC_DISPATCH(count_4)(Right, keys, n, wanted, padded, counts);
    else
      HWY_DYNAMIC_DISPATCH(count_8)(Right, keys, n, wanted, padded, counts);
    for (int64_t i = 0; i < some; ++i) out[done + i] = static_cast<int64_t>(counts[i]);
  }
}

// keys: those of the row, if it is worth having them.
template <bool Right, class T>
void search_row(const T* row, int64_t n, const std::vector<Key<T>>& keys, const T* values,
                int64_t m, int64_t* out) {
  if constexpr (sizeof(T) >= 4)
    if (is_short<T>(n)) return search_short<Right>(row, n, values, m, out);
  if (keys.empty())
    search<Right>([row](int64_t i) { return key_of(row[i]); }, n, values, m, out);
  else
    search<Right>([all = keys.data()](int64_t i) { return all[i]; }, n, values, m, out);
}

// Each of some values in its row of n sorted elements; rows are taken one after the other.
template <bool Right, class T>
void search_rows(const T* sorted, int64_t n, const T* values, int64_t count, int64_t width,
                 int64_t* out) {
  std::vector<Key<T>> keys;  // of the one row that all values are looked for in
  if (!is_short<T>(n) && width == count && count >= n)
    for (int64_t i = 0; i < n; ++i) keys.push_back(key_of(sorted[i]));
  parallel_for(count, kGrainMath, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const T* const row = sorted + begin / width * n;
      const int64_t m = std::min(end - begin, width - begin % width);
      search_row<Right>(row, n, keys, values + begin, m, out + begin);
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
#endif
