// Describes convolutions to libraries, and reads their calls.
#pragma once

#include <algorithm>
#include <vector>

#include "../common/conv_geometry.hpp"
#include "kernels.hpp"

namespace tenon::gpu {

using Pass = ConvPass;
using Geometry = ConvGeometry;

// A dense tensor in the form that libraries take, with two or three spatial dimensions: a line becomes a plane of height one.
inline uint32_t spatial_of(const tn_view& view) { return std::max(view.ndim - 2, 2u); }
inline std::vector<int64_t> plane_sizes(const tn_view& view) {
  std::vector<int64_t> sizes(view.shape, view.shape + view.ndim);
  if (view.ndim == 3) sizes.insert(sizes.begin() + 2, 1);
  return sizes;
}
inline std::vector<int64_t> dense_strides(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t d = sizes.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * sizes[d + 1];
  return strides;
}

// Adds a value for each channel to a dense result (N, C, ...) of floats, for libraries without a bias. activate.cpp. [stream-ordered]
void add_to_planes(const tn_call& call, const tn_view& result, const tn_view& bias);

}  // namespace tenon::gpu
