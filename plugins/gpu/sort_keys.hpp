// Elements as unsigned keys of the same order: NaN last, -0 equal to 0.
#pragma once

#include "source.hpp"

namespace tenon::gpu {

template <class T, class K>
GPU_FN K key_of(T value) {
  constexpr K kSign = K{1} << (8 * sizeof(T) - 1), kAll = kSign | (kSign - 1);
  if constexpr (kIsFloat<T>) {
    using Bits = std::conditional_t<sizeof(T) == 8, uint64_t,
                                    std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>;
    const auto wide = widen<T>(value);
    if (wide != wide) return kAll;
    const K bits = wide == 0 ? K{0} : static_cast<K>(bits_as<Bits>(value));
    return (bits & kSign) != 0 ? ~bits & kAll : bits | kSign;
  } else if constexpr (std::is_signed_v<T> && !std::is_same_v<T, bool>) {
    return (static_cast<K>(value) & kAll) ^ kSign;
  } else {
    return static_cast<K>(value);
  }
}

// K is uint32_t for elements of up to four bytes, otherwise uint64_t.
template <class K>
GPU_DEVICE K load_key(const Source& from, int64_t i) {
  K key = 0;
  visit_types(All{}, from.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr ((sizeof(T) == 8) == (sizeof(K) == 8)) {
      const T value = ptr_cast<const T>(from.at)[i];
      key = key_of<T, K>(value);
    }
  });
  return key;
}

// Calls fn with the key type for this dtype.
template <class Fn>
void with_key(tn_dtype dtype, Fn&& fn) {
  if (size_of(dtype) == 8) return fn(TypeTag<uint64_t>{});
  fn(TypeTag<uint32_t>{});
}

// The bits of these dtypes, unchanged.
GPU_DEVICE void copy_element(const Target& to, int64_t i, const Source& from, int64_t j,
                             uint32_t bytes) {
  if (bytes == 8)
    ptr_cast<uint64_t>(to.at)[i] = static_cast<uint64_t>(ptr_cast<const uint64_t>(from.at)[j]);
  else if (bytes == 4)
    ptr_cast<uint32_t>(to.at)[i] = static_cast<uint32_t>(ptr_cast<const uint32_t>(from.at)[j]);
  else if (bytes == 2)
    ptr_cast<uint16_t>(to.at)[i] = static_cast<uint16_t>(ptr_cast<const uint16_t>(from.at)[j]);
  else
    to.at[i] = static_cast<uint8_t>(from.at[j]);
}

}  // namespace tenon::gpu
