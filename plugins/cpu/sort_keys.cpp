#include "sort_keys.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "sort_few.hpp"
#include "threads.hpp"

namespace tenon::cpu {
namespace {

template <class K>
struct Entry {
  K key;
  uint32_t index;
};
template <>
struct Entry<uint64_t> {
  uint64_t key;
  uint64_t index;
};

// Entries worth a thread of their own.
constexpr int64_t kGrainSort = 32768;

// One pass over a digit: entries of part p begin for value v at starts[p][v]. Stable, and the same for any number of parts.
template <unsigned Bits, class K>
class Radix {
 public:
  explicit Radix(int64_t n)
      : n_(n),
        parts_(std::clamp<int64_t>(n / kGrainSort, 1, max_threads())),
        starts_(static_cast<size_t>(parts_)) {}

  // By digits from the lowest up; digits that are all equal are passed over.
  void sort(Entry<K>* entries, Entry<K>* other) {
    Entry<K>* const home = entries;
    for (unsigned shift = 0; shift < 8 * sizeof(K); shift += Bits) {
      if (!count(entries, shift)) continue;
      parallel_each(parts_, [&](int64_t p) {
        Starts& at = starts_[static_cast<size_t>(p)];
        for (int64_t i = begin(p); i < begin(p + 1); ++i)
          other[at[digit(entries[i], shift)]++] = entries[i];
      });
      std::swap(entries, other);
    }
    if (entries != home) std::copy_n(entries, n_, home);
  }

 private:
  static constexpr size_t kValues = size_t{1} << Bits;
  using Starts = std::array<std::conditional_t<sizeof(K) == 8, int64_t, uint32_t>, kValues>;

  static size_t digit(const Entry<K>& entry, unsigned shift) {
    return static_cast<size_t>(entry.key >> shift) & (kValues - 1);
  }
  int64_t begin(int64_t p) const { return n_ * p / parts_; }
  // Where each part's values go; false where all are equal.
  bool count(const Entry<K>* entries, unsigned shift) {
    parallel_each(parts_, [&](int64_t p) {
      Starts& counts = starts_[static_cast<size_t>(p)];
      counts.fill(0);
      for (int64_t i = begin(p); i < begin(p + 1); ++i) ++counts[digit(entries[i], shift)];
    });
    typename Starts::value_type at = 0;
    for (size_t v = 0; v < kValues; ++v) {
      const auto before = at;
      for (Starts& each : starts_) at += std::exchange(each[v], at);
      if (static_cast<int64_t>(at - before) == n_) return false;
    }
    return true;
  }

  int64_t n_, parts_;
  std::vector<Starts> starts_;
};

// Entries put in order by their ranks; false where there are too many.
template <class E>
bool place_few(E* entries, size_t n) {
  using K = decltype(E::key);
  if (n > kMostFew) return false;
  SignedKey<K> keys[kMostFew + kFewMargin], ranks[kMostFew + kFewMargin];
  for (size_t i = 0; i < n; ++i) keys[i] = signed_key(entries[i].key);
  std::fill_n(keys + n, kFewMargin, 0);
  if (!rank_few(keys, n, ranks)) return false;
  E few[kMostFew];
  for (size_t i = 0; i < n; ++i) few[ranks[i]] = entries[i];
  std::copy_n(few, n, entries);
  return true;
}

// In stable order; behind the n entries is room for as many.
template <class K>
void arrange(Entry<K>* entries, int64_t n) {
  using E = Entry<K>;
  constexpr int64_t kByComparing = sizeof(K) < 8 ? 64 : 128;  // counters cost more than so many
  if (place_few(entries, static_cast<size_t>(n))) return;
  if (n <= kByComparing)
    return std::sort(entries, entries + n, [](const E& a, const E& b) {
      return a.key < b.key || (a.key == b.key && a.index < b.index);
    });
  if (sizeof(K) == 1 || n < 16384)  // fewer counters for short rows
    return Radix<8, K>(n).sort(entries, entries + n);
  Radix<11, K>(n).sort(entries, entries + n);
}

template <class T>
void sort_row(const T* row, int64_t n, bool descending, int64_t* indices, uint8_t* begins) {
  using K = Key<T>;
  using E = Entry<K>;
  constexpr int64_t kFew = 256;  // fit on the stack
  E few[2 * kFew];
  const auto memory =
      n <= kFew ? nullptr : std::make_unique_for_overwrite<E[]>(static_cast<size_t>(2 * n));
  E* const entries = n <= kFew ? few : memory.get();
  parallel_for(n, kGrainSort, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const K key = key_of(row[i]);
      entries[i] = {descending ? static_cast<K>(~key) : key, static_cast<decltype(E::index)>(i)};
    }
  });
  arrange(entries, n);
  parallel_for(n, kGrainSort, [=](int64_t begin, int64_t end) {
    const K nan = static_cast<K>(descending ? 0 : ~K{0});
    for (int64_t i = begin; i < end; ++i) {
      indices[i] = static_cast<int64_t>(entries[i].index);
      if (begins != nullptr)
        begins[i] = i == 0 || entries[i].key != entries[i - 1].key ||
                    (is_float_v<T> && entries[i].key == nan);
    }
  });
}

}  // namespace

void sort_indices(tn_dtype dtype, const void* row, int64_t n, bool descending, int64_t* indices,
                  uint8_t* begins) {
  visit_dtype<TN_MASK_REAL | TN_MASK_BOOL>(dtype, [&]<class T>(Tag<T>) {
    sort_row(static_cast<const T*>(row), n, descending, indices, begins);
  });
}

}  // namespace tenon::cpu
