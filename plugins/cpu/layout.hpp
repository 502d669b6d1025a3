// How tensors lie in memory.
#pragma once

#include <algorithm>

#include "kernels.hpp"

namespace tenon::cpu {

// Elements without gaps and overlaps in some order of the dimensions.
inline bool is_dense(const tn_view& view) {
  int64_t stride = 1;
  uint32_t seen = 0;
  for (uint32_t round = 0; round < view.ndim; ++round) {
    bool found = false;
    for (uint32_t d = 0; d < view.ndim && !found; ++d) {
      if ((seen >> d & 1) != 0 || (view.shape[d] != 1 && view.strides[d] != stride)) continue;
      seen |= 1u << d;
      stride *= view.shape[d];
      found = true;
    }
    if (!found) return false;
  }
  return true;
}
inline bool same_layout(const tn_view& a, const tn_view& b) {
  for (uint32_t d = 0; d < a.ndim; ++d)
    if (a.shape[d] != 1 && a.strides[d] != b.strides[d]) return false;
  return true;
}
inline bool same_shape(const tn_view& a, const tn_view& b) {
  return std::equal(a.shape, a.shape + a.ndim, b.shape, b.shape + b.ndim);
}

}  // namespace tenon::cpu
