// Elements of one layout moved to another, as bits.
#pragma once

#include "kernels.hpp"

namespace tenon::vulkan {

// Where elements lie: `first` and strides in elements of the view's memory.
struct Placed {
  const tn_view* view;
  int64_t first;
  std::vector<int64_t> strides;
};

// to[i] = from[i] over `shape`. One dispatch.
void move_elements(const tn_call& call, std::vector<int64_t> shape, Placed to, Placed from);
// All of a contiguous view onto another; nothing where they are the same memory.
void move_all(const tn_call& call, const tn_view& to, const tn_view& from);

}  // namespace tenon::vulkan
