// Copies elements between layouts, as bits.
#pragma once

#include "kernels.hpp"

namespace tenon::vulkan {

// Positions of elements: `first` and strides count elements in the view's memory.
struct Placed {
  const tn_view* view;
  int64_t first;
  std::vector<int64_t> strides;
};

// to[i] = from[i] over `shape`. One dispatch.
void move_elements(const tn_call& call, std::vector<int64_t> shape, Placed to, Placed from);
// Copies a whole contiguous view to another; does nothing if they are the same memory.
void move_all(const tn_call& call, const tn_view& to, const tn_view& from);

}  // namespace tenon::vulkan
