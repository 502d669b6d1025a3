#include "sort_keys.hpp"

#include <algorithm>
#include <memory>

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

// By digits of 11 bits from the lowest up (8 for short keys); digits that are all equal are passed
// over.
template <class K>
void radix_sort(Entry<K>* entries, Entry<K>* other, int64_t n) {
  constexpr unsigned kBits = sizeof(K) == 1 ? 8 : 11, kDigits = (8 * sizeof(K) + kBits - 1) / kBits;
  constexpr size_t kValues = size_t{1} << kBits;
  const auto counts = std::make_unique<int64_t[]>(kValues * kDigits);
  for (int64_t i = 0; i < n; ++i) {
    for (unsigned d = 0; d < kDigits; ++d)
      ++counts[d * kValues + ((entries[i].key >> (d * kBits)) & (kValues - 1))];
  }
  Entry<K>* const home = entries;
  for (unsigned d = 0; d < kDigits; ++d) {
    int64_t* const count = counts.get() + d * kValues;
    if (count[(entries[0].key >> (d * kBits)) & (kValues - 1)] == n) continue;
    int64_t at = 0;
    for (size_t v = 0; v < kValues; ++v) at += std::exchange(count[v], at);
    for (int64_t i = 0; i < n; ++i)
      other[count[(entries[i].key >> (d * kBits)) & (kValues - 1)]++] = entries[i];
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
  } else {
    radix_sort(entries, entries + n, n);
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
