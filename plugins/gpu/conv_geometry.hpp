// How a conv, conv_backward_input or conv_backward_weight call is read.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "kernels.hpp"

namespace tenon::gpu {

enum Pass : uint32_t { kForward, kInput, kWeight };

// A call brought to three spatial dimensions; the first ones have size 1 where it has fewer.
struct Geometry {
  using Three = std::array<int64_t, 3>;
  static int64_t product(const Three& sizes) { return sizes[0] * sizes[1] * sizes[2]; }

  int64_t batch = 0, groups = 1, channels = 0, filters = 0;  // the last two of a group
  Three in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, padding{0, 0, 0},
      dilation{1, 1, 1};

  // The last `spatial` of them.
  static std::vector<int64_t> last(const Three& sizes, uint32_t spatial) {
    return {sizes.end() - spatial, sizes.end()};
  }

  // Attributes: stride, padding, dilation, groups from argument 3 on.
  Geometry(const tn_call& call, Pass pass) {
    const tn_view& x = pass == kInput ? output(call) : input(call, pass == kWeight ? 1 : 0);
    const tn_view& weight = pass == kWeight ? output(call) : input(call, 1);
    const tn_view& y = pass == kForward ? output(call) : input(call, 0);
    groups = call.args[6].as.i;
    batch = x.shape[0];
    channels = weight.shape[1];
    filters = weight.shape[0] / groups;
    const uint32_t lead = 5 - x.ndim;
    for (uint32_t d = lead; d < 3; ++d) {
      const uint32_t s = d - lead;
      in[d] = x.shape[s + 2];
      out[d] = y.shape[s + 2];
      kernel[d] = weight.shape[s + 2];
      stride[d] = call.args[3].as.ints[s];
      padding[d] = call.args[4].as.ints[s];
      dilation[d] = call.args[5].as.ints[s];
    }
  }
};

// A dense tensor of a convolution as libraries take it, with two or three spatial dimensions: a line is a plane that is one high.
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

// Multiplications, for libraries that are not worth their fixed cost below some.
inline double work_of(const Geometry& g) {
  return static_cast<double>(g.batch * g.groups * g.filters) *
         static_cast<double>(Geometry::product(g.out)) *
         static_cast<double>(g.channels * Geometry::product(g.kernel));
}

// Adds a value for each channel to a dense result (N, C, ...) of floats: for libraries that leave the bias out. activate.cpp.
// [stream-ordered]
void add_to_planes(const tn_call& call, const tn_view& result, const tn_view& bias);

}  // namespace tenon::gpu
