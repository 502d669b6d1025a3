// Reads a call of a pooling op or of its gradient.
#ifndef TENON_PLUGINS_COMMON_POOL_GEOMETRY_HPP
#define TENON_PLUGINS_COMMON_POOL_GEOMETRY_HPP

#include <algorithm>
#include <array>

#include "call.hpp"
#include "tenon/schemas.h"

namespace tenon {

enum PoolOp : uint32_t {
  kMaxPool,
  kAvgPool,
  kAvgPoolBackward,
  kAdaptiveMaxPool,
  kAdaptiveAvgPool,
  kAdaptiveAvgPoolBackward
};

// Brought to three spatial dimensions; if the call has fewer, the first ones have size 1. `in` belongs to x or to its gradient.
struct PoolGeometry {
  using Three = std::array<int64_t, 3>;
  bool maximum, backward, adaptive, include_pad = false;
  int64_t planes;  // N·C
  Three in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, padding{0, 0, 0},
      dilation{1, 1, 1};

  PoolGeometry(const tn_call& call, uint32_t op)
      : maximum(op == kMaxPool || op == kAdaptiveMaxPool),
        backward(op == kAvgPoolBackward || op == kAdaptiveAvgPoolBackward),
        adaptive(op >= kAdaptiveMaxPool) {
    // x and g are the first arguments.
    const tn_view &first = input(call, arg::max_pool::x), &result = output(call);
    const tn_view &x = backward ? result : first, &y = backward ? first : result;
    planes = x.shape[0] * x.shape[1];
    spatial(in, x.shape + 2, x.ndim - 2);
    spatial(out, y.shape + 2, y.ndim - 2);
    if (op == kMaxPool) read<arg::max_pool>(call);
    if (op == kAvgPool) read<arg::avg_pool>(call);
    if (op == kAvgPoolBackward) read<arg::avg_pool_backward>(call);
  }

  int64_t in_plane() const { return in[0] * in[1] * in[2]; }
  int64_t out_plane() const { return out[0] * out[1] * out[2]; }
  // Roughly how many elements a window has.
  int64_t window() const {
    int64_t elements = 1;
    for (uint32_t d = 0; d < 3; ++d)
      elements *= adaptive ? (in[d] + out[d] - 1) / std::max<int64_t>(out[d], 1) : kernel[d];
    return elements;
  }
  // Whether 32 bits suffice to count the places along each dimension, padding included.
  bool fits() const {
    for (uint32_t d = 0; d < 3; ++d) {
      if (adaptive && (in[d] + 1) * (out[d] + 1) > INT32_MAX) return false;
      if (out[d] * stride[d] + kernel[d] * dilation[d] + in[d] + 2 * padding[d] > INT32_MAX)
        return false;
    }
    return true;
  }

 private:
  static void spatial(Three& to, const int64_t* sizes, uint32_t n) {
    std::copy(sizes, sizes + n, to.end() - n);
  }
  template <class Arg>
  void read(const tn_call& call) {
    const auto list = [&](Three& to, uint32_t at) {
      spatial(to, call.args[at].as.ints, call.args[at].count);
    };
    list(kernel, Arg::kernel);
    list(stride, Arg::stride);
    list(padding, Arg::padding);
    if constexpr (requires { Arg::dilation; }) list(dilation, Arg::dilation);
    if constexpr (requires { Arg::count_include_pad; })
      include_pad = int_arg(call, Arg::count_include_pad) != 0;
  }
};

}  // namespace tenon
#endif
