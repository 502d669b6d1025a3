// Rows that are combined with other rows, by the best instructions of this processor.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tenon/dtype.h"

namespace tenon::cpu {

enum class Combine : uint8_t { kAdd, kMultiply, kGreater, kSmaller };

// Integers wrap around, bool is "or" and "and", NaN is the greatest and the smallest.
template <Combine kHow, class T>
[[gnu::always_inline]] inline T combined(T a, T b) {
  if constexpr (kHow == Combine::kGreater) {
    return b > a || b != b ? b : a;
  } else if constexpr (kHow == Combine::kSmaller) {
    return b < a || b != b ? b : a;
  } else if constexpr (std::is_same_v<T, bool>) {
    return kHow == Combine::kAdd ? (a | b) : (a & b);
  } else if constexpr (std::is_integral_v<T>) {
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<T>(kHow == Combine::kAdd ? x + y : x * y);
  } else {
    return kHow == Combine::kAdd ? a + b : a * b;
  }
}

// Columns [first, last) of rows of `width` elements; the rows of `to` that halves come to are f32.
struct RowList {
  void* to;
  const void* from;
  const int64_t* at;     // negative: left out
  const int64_t* order;  // of the rows of `from`, or NULL for 0, 1, …
  int64_t count, width, first, last;
};
// to[at[j]] = combined(to[at[j]], from[j]) for `count` j in order. Complex numbers have no greater one.
using RowCombiner = void (*)(const RowList& list);
RowCombiner row_combiner(Combine how, tn_dtype dtype);

}  // namespace tenon::cpu
