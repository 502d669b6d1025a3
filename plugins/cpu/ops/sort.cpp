// sort (always stable) and topk. NaN counts as the greatest: last going up,
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
                     parallel_for(n, kGrainMath, [=](int64_t first, int64_t last) {
                       for (int64_t i = r * n + first; i < r * n + last; ++i)
                         to[i] = from[r * n + indices[i]];
                     });
                   }
                 });
  });
}

// An element of a row, and whether it comes before another among the best: of equal ones the first.
template <class T>
struct Entry {
  Key<T> key;
  int64_t index;
  Entry() = default;
  Entry(const T* row, int64_t i, bool largest)
      : key(largest ? static_cast<Key<T>>(~key_of(row[i])) : key_of(row[i])), index(i) {}
  bool operator<(const Entry& other) const {
    return key < other.key || (key == other.key && index < other.index);
  }
};

// Whether none of n elements may come before `worst`. NaN is the greatest.
template <class T>
bool none_better(const T* x, int64_t n, T worst, bool largest) {
  const auto limit = static_cast<Compute<T>>(worst);
  if (limit != limit) return false;
  bool some = false;
  if (largest)
    for (int64_t i = 0; i < n; ++i) some |= !(static_cast<Compute<T>>(x[i]) <= limit);
  else
    for (int64_t i = 0; i < n; ++i) some |= static_cast<Compute<T>>(x[i]) < limit;
  return !some;
}

// Few of many: the best so far in order, whose last most elements do not reach.
constexpr int64_t kFew = 32;
template <class T>
void few_best(const T* row, int64_t n, int64_t k, bool largest, Entry<T>* best) {
  constexpr int64_t kBlock = 64;
  for (int64_t i = 0; i < k; ++i) best[i] = Entry<T>(row, i, largest);
  std::sort(best, best + k);
  for (int64_t block = k; block < n; block += kBlock) {
    const int64_t end = std::min(block + kBlock, n);
    if (none_better(row + block, end - block, row[best[k - 1].index], largest)) continue;
    for (int64_t i = block; i < end; ++i) {
      const Entry<T> next(row, i, largest);
      if (next.key >= best[k - 1].key) continue;
      int64_t at = k - 1;
      for (; at > 0 && next.key < best[at - 1].key; --at) best[at] = best[at - 1];
      best[at] = next;
    }
  }
}

template <class T>
void many_best(const T* row, int64_t n, int64_t k, bool largest, Entry<T>* best) {
  for (int64_t i = 0; i < n; ++i) best[i] = Entry<T>(row, i, largest);
  if (k < n) std::nth_element(best, best + k, best + n);
  std::sort(best, best + k);
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
                   std::vector<Entry<T>> best(static_cast<size_t>(k <= kFew ? k : n));
                   for (int64_t r = begin; r < end; ++r) {
                     const T* const row = from + r * n;
                     (k <= kFew ? few_best<T> : many_best<T>)(row, n, k, largest, best.data());
                     for (int64_t i = 0; i < k; ++i) {
                       const int64_t at = best[static_cast<size_t>(i)].index;
                       indices[r * k + i] = at;
                       to[r * k + i] = row[at];
                     }
                   }
                 });
  });
}

}  // namespace

void add_sort_kernels(KernelList& list) {
  constexpr uint64_t kOrdered = TN_MASK_REAL | TN_MASK_BOOL;
  list.add({.schema = TN_SCHEMA_SORT, .dtypes = kOrdered, .run = run_of<sort>});
  list.add({.schema = TN_SCHEMA_TOPK, .dtypes = kOrdered, .run = run_of<topk>});
}

}  // namespace tenon::cpu
