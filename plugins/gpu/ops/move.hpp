// Copies elements between layouts, as bits.
#pragma once

#include "kernels.hpp"
#include "launch.hpp"

namespace tenon::gpu {

// Units in which contiguous bytes move: 1, 2, 4, 8 or 16 bytes.
using Sixteen = Vec<uint64_t, 2>;
template <class Fn>
void with_unit(uint32_t bytes, Fn&& fn) {
  switch (bytes) {
    case 1:
      return fn(TypeTag<uint8_t>{});
    case 2:
      return fn(TypeTag<uint16_t>{});
    case 4:
      return fn(TypeTag<uint32_t>{});
    case 8:
      return fn(TypeTag<uint64_t>{});
    default:
      return fn(TypeTag<Sixteen>{});
  }
}
// The largest unit that divides all of these byte counts and addresses; `bits` is their bitwise or.
inline uint32_t unit_of(uint64_t bits) {
  uint32_t unit = 16;
  while (bits % unit != 0) unit /= 2;
  return unit;
}

// A view's memory in units; `first` counts elements.
template <class U>
Ptr<U> units(const tn_view& view, int64_t first = 0) {
  int64_t low = 0, high = 0;
  for (uint32_t d = 0; d < view.ndim; ++d) {
    const int64_t reach = (view.shape[d] - 1) * view.strides[d];
    (reach < 0 ? low : high) += reach;
  }
  const int64_t size = size_of(view.dtype), unit = sizeof(U);
  const int64_t end = numel(view) == 0 ? low : high + 1;
  return pointer_to(static_cast<U*>(view.data), first * size / unit, low * size / unit,
                    end * size / unit);
}

// to[i] = from[i] over a shape; strides in elements.
struct Move {
  uint32_t ndim = 0;
  int64_t shape[TN_MAX_DIMS];
  int64_t to[TN_MAX_DIMS], from[TN_MAX_DIMS];
  void add(int64_t size, int64_t to_stride, int64_t from_stride) {
    shape[ndim] = size;
    to[ndim] = to_stride;
    from[ndim++] = from_stride;
  }
};
// Positions in the memory of views, counted from their first elements. Both views have the same element size.
struct Place {
  const tn_view* view;
  int64_t first = 0;
};
void move_elements(const tn_call& call, const Move& move, const Place& to, const Place& from);
// Copies a whole contiguous view to another; does nothing if they are the same memory.
void move_all(const tn_call& call, const tn_view& to, const tn_view& from);

}  // namespace tenon::gpu
