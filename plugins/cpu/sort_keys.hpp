// Elements as unsigned keys in their order: NaN last, -0 equal to 0.
#pragma once

#include <bit>
#include <limits>

#include "dispatch.hpp"

namespace tenon::cpu {

template <class T>
using Key =
    std::conditional_t<sizeof(T) == 8, uint64_t,
                       std::conditional_t<sizeof(T) == 4, uint32_t,
                                          std::conditional_t<sizeof(T) == 2, uint16_t, uint8_t>>>;

template <class T>
inline Key<T> key_of(T value) {
  using K = Key<T>;
  constexpr K kSign = K{1} << (8 * sizeof(K) - 1);
  if constexpr (is_float_v<T>) {
    if (static_cast<Compute<T>>(value) != static_cast<Compute<T>>(value))
      return static_cast<K>(~K{0});
    K bits = std::bit_cast<K>(value);
    if (bits == kSign) bits = 0;
    const K negative = static_cast<K>(K{0} - (bits >> (8 * sizeof(K) - 1)));  // all bits or none
    return static_cast<K>(bits ^ (negative | kSign));
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    return static_cast<K>(static_cast<K>(value) ^ kSign);
  } else {
    return static_cast<K>(value);
  }
}

// Keys that a signed comparison puts in their order.
template <class K>
using SignedKey = std::conditional_t<sizeof(K) == 8, int64_t, int32_t>;
template <class K>
inline SignedKey<K> signed_key(K key) {
  constexpr auto kLeast = sizeof(K) < 4 ? 0 : std::numeric_limits<SignedKey<K>>::min();
  return static_cast<SignedKey<K>>(static_cast<SignedKey<K>>(key) ^ kLeast);
}

// Indices of a row in stable order; `descending` turns the order of keys, equal ones stay as they are. begins[i], where wanted,
// tells whether the i-th in order differs from the one before; no NaN equals another.
void sort_indices(tn_dtype dtype, const void* row, int64_t n, bool descending, int64_t* indices,
                  uint8_t* begins = nullptr);

}  // namespace tenon::cpu
