// The memory that a tensor shows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tenon/tensor.hpp"

namespace tenon::graph {

// From the first byte to behind the last; gaps in between count.
struct Reach {
  const void* space;  // what the bytes are counted in: NULL for addresses
  uintptr_t begin, end;

  bool meets(const Reach& other) const {
    return space == other.space && begin < other.end && other.begin < end;
  }
};

inline Reach reach_of(const tn_view& view) {
  int64_t low = 0, high = 1;
  for (uint32_t d = 0; d < view.ndim; ++d) {
    if (view.shape[d] == 0) high = low = 0;
    if (view.shape[d] == 0) break;
    (view.strides[d] < 0 ? low : high) += view.strides[d] * (view.shape[d] - 1);
  }
  const auto size = static_cast<int64_t>(tn_dtype_size(view.dtype));
  const auto at = [&](uintptr_t first, int64_t element) {
    return first + static_cast<uintptr_t>(element * size);
  };
  const uintptr_t first = view.data != nullptr ? reinterpret_cast<uintptr_t>(view.data)
                                               : static_cast<uintptr_t>(view.offset);
  return {view.data != nullptr ? nullptr : view.buffer, at(first, low), at(first, high)};
}

}  // namespace tenon::graph
