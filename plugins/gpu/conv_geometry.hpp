// How a conv, conv_backward_input or conv_backward_weight call is read.
#pragma once

#include <array>

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

// Adds a value for each channel to a dense result (N, C, ...) of floats: for libraries that leave the bias out. activate.cpp.
// [stream-ordered]
void add_to_planes(const tn_call& call, const tn_view& result, const tn_view& bias);

}  // namespace tenon::gpu
