// sort (always stable), topk and unique. NaN counts as the greatest: last going up,
// first going down.
#include <algorithm>
#include <vector>

#include "kernels.hpp"
#include "sort_keys.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

namespace tenon::cpu {
namespace {

void sort(const tn_call& call) {
  using arg = tenon::arg::sort;
  const tn_view& x = input(call, arg::x);
  const int64_t n = x.shape[x.ndim - 1];
  if (numel(x) == 0) return;
  const bool descending = call.args[arg::descending].as.i != 0;
  int64_t* const indices = data_of<int64_t>(output(call, arg::result::indices));
  visit_size(size_of(x.dtype), [&]<class T>(Tag<T>) {
    const T* const from = data_of<const T>(x);
    T* const to = data_of<T>(output(call));
    parallel_for(numel(x) / n, std::max<int64_t>(1, kGrainHeavy / n),
                 [=, &x](int64_t begin, int64_t end) {
                   for (int64_t r = begin; r < end; ++r) {
                     sort_indices(x.dtype, from + r * n, n, descending, indices + r * n);
                     for (int64_t i = r * n; i < (r + 1) * n; ++i) to[i] = from[r * n + indices[i]];
                   }
                 });
  });
}

// The k best of a row in order, of equal ones the first. A heap of k for few, selection for many.
template <class T>
void top_row(const T* row, int64_t n, int64_t k, bool largest, T* values, int64_t* indices) {
  if (k == 0) return;
  struct Entry {
    Key<T> key;
    int64_t index;
    bool operator<(const Entry& other) const {
      return key < other.key || (key == other.key && index < other.index);
    }
  };
  const auto entry = [&](int64_t i) {
    const Key<T> key = key_of(row[i]);
    return Entry{largest ? static_cast<Key<T>>(~key) : key, i};
  };
  std::vector<Entry> best;
  if (k <= 256 && k * 8 <= n) {
    best.reserve(static_cast<size_t>(k));
    for (int64_t i = 0; i < k; ++i) best.push_back(entry(i));
    std::make_heap(best.begin(), best.end());
    for (int64_t i = k; i < n; ++i) {
      const Entry next = entry(i);
      if (next.key >= best.front().key) continue;
      std::pop_heap(best.begin(), best.end());
      best.back() = next;
      std::push_heap(best.begin(), best.end());
    }
    std::sort_heap(best.begin(), best.end());
  } else {
    best.reserve(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) best.push_back(entry(i));
    if (k < n) std::nth_element(best.begin(), best.begin() + k, best.end());
    std::sort(best.begin(), best.begin() + k);
  }
  for (int64_t i = 0; i < k; ++i) {
    indices[i] = best[static_cast<size_t>(i)].index;
    values[i] = row[indices[i]];
  }
}

void topk(const tn_call& call) {
  using arg = tenon::arg::topk;
  const tn_view& x = input(call, arg::x);
  const int64_t n = x.shape[x.ndim - 1], k = call.args[arg::k].as.i;
  if (numel(x) == 0 || k == 0) return;
  const bool largest = call.args[arg::largest].as.i != 0;
  int64_t* const indices = data_of<int64_t>(output(call, arg::result::indices));
  visit_dtype<TN_MASK_REAL | TN_MASK_BOOL>(x.dtype, [&]<class T>(Tag<T>) {
    const T* const from = data_of<const T>(x);
    T* const to = data_of<T>(output(call));
    parallel_for(numel(x) / n, std::max<int64_t>(1, kGrainMath / n),
                 [=](int64_t begin, int64_t end) {
                   for (int64_t r = begin; r < end; ++r)
                     top_row(from + r * n, n, k, largest, to + r * k, indices + r * k);
                 });
  });
}

// Sorted distinct values, where each first occurs, which one each element is, how often each
// occurs. No NaN equals another.
void unique(const tn_call& call) {
  using arg = tenon::arg::unique;
  const tn_view& x = input(call, arg::x);
  const int64_t n = numel(x);
  std::vector<int64_t> order(static_cast<size_t>(n));
  if (n > 0) sort_indices(x.dtype, x.data, n, false, order.data());
  visit_dtype<TN_MASK_REAL | TN_MASK_BOOL>(x.dtype, [&]<class T>(Tag<T>) {
    const T* const from = data_of<const T>(x);
    const auto value = [&](int64_t i) {
      return static_cast<Compute<T>>(from[order[static_cast<size_t>(i)]]);
    };
    std::vector<int64_t> starts;
    int64_t* const inverse = data_of<int64_t>(output(call, arg::result::inverse));
    for (int64_t i = 0; i < n; ++i) {
      if (i == 0 || !(value(i) == value(i - 1))) starts.push_back(i);
      inverse[order[static_cast<size_t>(i)]] = static_cast<int64_t>(starts.size()) - 1;
    }
    const int64_t shape[] = {static_cast<int64_t>(starts.size())};
    const sdk::Call c(call);
    T* const values = data_of<T>(sdk::make_output(c, arg::result::values, shape));
    int64_t* const first = data_of<int64_t>(sdk::make_output(c, arg::result::indices, shape));
    int64_t* const counts = data_of<int64_t>(sdk::make_output(c, arg::result::counts, shape));
    starts.push_back(n);
    for (int64_t u = 0; u < shape[0]; ++u) {
      const size_t at = static_cast<size_t>(u);
      first[u] = order[static_cast<size_t>(starts[at])];
      values[u] = from[first[u]];
      counts[u] = starts[at + 1] - starts[at];
    }
  });
}

}  // namespace

void add_sort_kernels(KernelList& list) {
  constexpr uint64_t kOrdered = TN_MASK_REAL | TN_MASK_BOOL;
  list.add({.schema = TN_SCHEMA_SORT, .dtypes = kOrdered, .run = run_of<sort>});
  list.add({.schema = TN_SCHEMA_TOPK, .dtypes = kOrdered, .run = run_of<topk>});
  list.add({.schema = TN_SCHEMA_UNIQUE, .dtypes = kOrdered, .run = run_of<unique>});
}

}  // namespace tenon::cpu
