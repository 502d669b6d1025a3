// sort (always stable) and topk. NaN counts as the greatest: last going up,
// first going down.
#include <algorithm>
#include <limits>
#include <vector>

#include "kernels.hpp"
#include "sort_few.hpp"
#include "sort_keys.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

namespace tenon::cpu {
namespace {

// Rows that are short beside what a row costs by itself.
constexpr int64_t kShortRow = 16, kManyRows = 4;

template <class T>
void sort_short_rows(const T* from, int64_t rows, int64_t n, bool descending, T* to,
                     int64_t* indices) {
  using K = Key<T>;
  constexpr auto kTogether = static_cast<int64_t>(kRowsOfFew);
  SignedKey<K> keys[kShortRow * kTogether] = {}, ranks[kShortRow * kTogether];
  for (; rows > 0; rows -= kTogether) {
    const int64_t some = std::min(rows, kTogether);
    for (int64_t r = 0; r < some; ++r)
      for (int64_t i = 0; i < n; ++i) {
        const K key = key_of(from[r * n + i]);
        keys[i * kTogether + r] = signed_key(descending ? static_cast<K>(~key) : key);
      }
    rank_rows(keys, static_cast<size_t>(n), ranks);
    for (int64_t r = 0; r < some; ++r)
      for (int64_t i = 0; i < n; ++i) {
        const int64_t at = r * n + ranks[i * kTogether + r];
        to[at] = from[r * n + i];
        indices[at] = i;
      }
    from += some * n, to += some * n, indices += some * n;
  }
}

// A row whose ranks are counted; false where other ways are faster.
template <class T>
bool sort_few(const T* from, int64_t n, bool descending, T* to, int64_t* indices) {
  using K = Key<T>;
  if (n > static_cast<int64_t>(kMostFew)) return false;
  SignedKey<K> keys[kMostFew + kFewMargin], ranks[kMostFew + kFewMargin];
  const K turn = static_cast<K>(descending ? ~K{0} : K{0});
  for (int64_t i = 0; i < n; ++i) keys[i] = signed_key(static_cast<K>(key_of(from[i]) ^ turn));
  std::fill_n(keys + n, kFewMargin, 0);
  if (!rank_few(keys, static_cast<size_t>(n), ranks)) return false;
  for (int64_t i = 0; i < n; ++i) {
    to[ranks[i]] = from[i];
    indices[ranks[i]] = i;
  }
  return true;
}

template <class T>
void sort_rows(const tn_view& x, int64_t begin, int64_t end, bool descending, T* to,
               int64_t* indices) {
  const int64_t n = x.shape[x.ndim - 1];
  const T* const from = data_of<const T>(x);
  if (n <= kShortRow && end - begin >= kManyRows)
    return sort_short_rows(from + begin * n, end - begin, n, descending, to + begin * n,
                           indices + begin * n);
  for (int64_t r = begin; r < end; ++r) {
    if (sort_few(from + r * n, n, descending, to + r * n, indices + r * n)) continue;
    sort_indices(x.dtype, from + r * n, n, descending, indices + r * n);
    parallel_for(n, kGrainMath, [=](int64_t first, int64_t last) {
      for (int64_t i = r * n + first; i < r * n + last; ++i) to[i] = from[r * n + indices[i]];
    });
  }
}

void sort(const tn_call& call) {
  using arg = tenon::arg::sort;
  const tn_view& x = input(call, arg::x);
  const int64_t n = x.shape[x.ndim - 1];
  if (numel(x) == 0) return;
  const bool descending = call.args[arg::descending].as.i != 0;
  int64_t* const indices = data_of<int64_t>(output(call, arg::result::indices));
  visit_dtype<TN_MASK_REAL | TN_MASK_BOOL>(x.dtype, [&]<class T>(Tag<T>) {
    T* const to = data_of<T>(output(call));
    parallel_for(
        numel(x) / n, std::max<int64_t>(1, kGrainHeavy / n),
        [=, &x](int64_t begin, int64_t end) { sort_rows(x, begin, end, descending, to, indices); });
  });
}

// Smaller for what comes first.
template <class T>
Key<T> best_key(T value, bool largest) {
  return static_cast<Key<T>>(key_of(value) ^ (largest ? ~Key<T>{0} : Key<T>{0}));
}

// An element of a row, and whether it comes before another among the best: of equal ones the first. Where both have at most 32 bits,
// key and index share a word.
template <class T>
class ShortEntry {
 public:
  ShortEntry() = default;
  ShortEntry(const T* row, int64_t i, bool largest)
      : word_(uint64_t{best_key(row[i], largest)} << 32 | static_cast<uint32_t>(i)) {}
  int64_t index() const { return static_cast<uint32_t>(word_); }
  bool operator<(const ShortEntry& other) const { return word_ < other.word_; }

 private:
  uint64_t word_;
};
template <class T>
class Entry {
 public:
  Entry() = default;
  Entry(const T* row, int64_t i, bool largest) : key_(best_key(row[i], largest)), index_(i) {}
  int64_t index() const { return index_; }
  bool operator<(const Entry& other) const {
    return key_ < other.key_ || (key_ == other.key_ && index_ < other.index_);
  }

 private:
  Key<T> key_;
  int64_t index_;
};

// The first element from i on that comes before `worst`, or n. NaN is the greatest.
template <class T>
int64_t next_better(const T* x, int64_t i, int64_t n, T worst, bool largest) {
  const auto limit = static_cast<Compute<T>>(worst);
  const auto at = [x](int64_t j) { return static_cast<Compute<T>>(x[j]); };
  if (!largest)
    while (i < n && (at(i) >= limit || at(i) != at(i))) ++i;
  else if (limit == limit)
    while (i < n && at(i) <= limit) ++i;
  else
    return n;
  return i;
}

// Few of many: the best so far in order, whose last most elements do not reach.
constexpr int64_t kFew = 32;
template <class E, class T>
void few_best(const T* row, int64_t n, int64_t k, bool largest, E* best) {
  const auto insert = [=](int64_t i, int64_t at) {
    const E next(row, i, largest);
    for (; at > 0 && next < best[at - 1]; --at) best[at] = best[at - 1];
    best[at] = next;
  };
  for (int64_t i = 0; i < k; ++i) insert(i, i);
  const auto better = [=](int64_t i) {
    return next_better(row, i, n, row[best[k - 1].index()], largest);
  };
  for (int64_t i = better(k); i < n; i = better(i + 1)) insert(i, k - 1);
}

template <class E, class T>
void many_best(const T* row, int64_t n, int64_t k, bool largest, E* best) {
  for (int64_t i = 0; i < n; ++i) best[i] = E(row, i, largest);
  if (k < n) std::nth_element(best, best + k, best + n);
  std::sort(best, best + k);
}

template <class E, class T>
void best_of_rows(const tn_view& x, int64_t k, bool largest, T* to, int64_t* indices) {
  const T* const from = data_of<const T>(x);
  const int64_t n = x.shape[x.ndim - 1];
  parallel_for(numel(x) / n, std::max<int64_t>(1, kGrainMath / n), [=](int64_t begin, int64_t end) {
    std::vector<E> best(static_cast<size_t>(k <= kFew ? k : n));
    for (int64_t r = begin; r < end; ++r) {
      const T* const row = from + r * n;
      (k <= kFew ? few_best<E, T> : many_best<E, T>)(row, n, k, largest, best.data());
      for (int64_t i = 0; i < k; ++i) {
        const int64_t at = best[static_cast<size_t>(i)].index();
        indices[r * k + i] = at;
        to[r * k + i] = row[at];
      }
    }
  });
}

void topk(const tn_call& call) {
  using arg = tenon::arg::topk;
  const tn_view& x = input(call, arg::x);
  const int64_t k = call.args[arg::k].as.i;
  if (numel(x) == 0 || k == 0) return;
  const bool largest = call.args[arg::largest].as.i != 0;
  int64_t* const indices = data_of<int64_t>(output(call, arg::result::indices));
  visit_dtype<TN_MASK_REAL | TN_MASK_BOOL>(x.dtype, [&]<class T>(Tag<T>) {
    T* const to = data_of<T>(output(call));
    if constexpr (sizeof(T) <= 4)
      if (x.shape[x.ndim - 1] <= std::numeric_limits<uint32_t>::max())
        return best_of_rows<ShortEntry<T>>(x, k, largest, to, indices);
    best_of_rows<Entry<T>>(x, k, largest, to, indices);
  });
}

}  // namespace

void add_sort_kernels(KernelList& list) {
  constexpr uint64_t kOrdered = TN_MASK_REAL | TN_MASK_BOOL;
  list.add({.schema = TN_SCHEMA_SORT, .dtypes = kOrdered, .run = run_of<sort>});
  list.add({.schema = TN_SCHEMA_TOPK, .dtypes = kOrdered, .run = run_of<topk>});
}

}  // namespace tenon::cpu
