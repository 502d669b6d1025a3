#include "sort_keys.hpp"

#include <algorithm>
#include <memory>
#include <utility>

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

// By digits of Bits bits from the lowest up; digits that are all equal are passed over.
template <unsigned Bits, class K>
void radix_sort(Entry<K>* entries, Entry<K>* other, int64_t n) {
  constexpr unsigned kDigits = (8 * sizeof(K) + Bits - 1) / Bits;
  constexpr size_t kValues = size_t{1} << Bits;
  using Count = std::conditional_t<Bits == 8, uint32_t, int64_t>;
  Count counts[kValues * kDigits] = {};
  for (int64_t i = 0; i < n; ++i) {
    for (unsigned d = 0; d < kDigits; ++d)
      ++counts[d * kValues + ((entries[i].key >> (d * Bits)) & (kValues - 1))];
  }
  Entry<K>* const home = entries;
  for (unsigned d = 0; d < kDigits; ++d) {
    Count* const count = counts + d * kValues;
    if (static_cast<int64_t>(count[(entries[0].key >> (d * Bits)) & (kValues - 1)]) == n) continue;
    Count at = 0;
    for (size_t v = 0; v < kValues; ++v) at += std::exchange(count[v], at);
    for (int64_t i = 0; i < n; ++i)
      other[count[(entries[i].key >> (d * Bits)) & (kValues - 1)]++] = entries[i];
    std::swap(entries, other);
  }
  if (entries != home) std::copy_n(entries, n, home);
}

template <class T>
void sort_row(const T* row, int64_t n, bool descending, int64_t* indices) {
  using K = Key<T>;
  using E = Entry<K>;
  constexpr int64_t kFew = 256;
  E few[kFew];
  const bool small = n <= kFew;
  const auto memory =
      small ? nullptr : std::make_unique_for_overwrite<E[]>(static_cast<size_t>(2 * n));
  E* const entries = small ? few : memory.get();
  for (int64_t i = 0; i < n; ++i) {
    const K key = key_of(row[i]);
    entries[i] = {descending ? static_cast<K>(~key) : key, static_cast<decltype(E::index)>(i)};
  }
  if (small) {
    std::sort(entries, entries + n, [](const E& a, const E& b) {
      return a.key < b.key || (a.key == b.key && a.index < b.index);
    });
  } else if (sizeof(K) == 1 || n < 16384) {  // fewer counters for short rows
    radix_sort<8>(entries, entries + n, n);
  } else {
    radix_sort<11>(entries, entries + n, n);
  }
  for (int64_t i = 0; i < n; ++i) indices[i] = static_cast<int64_t>(entries[i].index);
}

}  // namespace

void sort_indices(tn_dtype dtype, const void* row, int64_t n, bool descending, int64_t* indices) {
  visit_dtype<TN_MASK_REAL | TN_MASK_BOOL>(dtype, [&]<class T>(Tag<T>) {
    sort_row(static_cast<const T*>(row), n, descending, indices);
  });
}

}  // namespace tenon::cpu
