// The geometry of a convolution, brought to three spatial dimensions, and its passes.
#pragma once

#include <array>

#include "kernels.hpp"

namespace tenon::cpu {

struct ConvGeometry {
  int64_t batch, groups;
  int64_t channels, filters;  // of one group
  std::array<int64_t, 3> in, out, kernel, stride, padding, dilation;

  int64_t in_plane() const { return in[0] * in[1] * in[2]; }
  int64_t out_plane() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t depth() const { return channels * taps(); }  // of one product
  bool pointwise() const;                              // every output reads one place of x
};

// From (x or its shape), weight, the output and the attributes stride, padding, dilation, groups
// from argument `at` on.
struct ConvShapes {
  const int64_t *x, *weight, *out;
  uint32_t ndim;
};
ConvGeometry conv_geometry(const ConvShapes& shapes, const tn_call& call, uint32_t at);

// The forward and backward passes on contiguous arrays.
template <class T>
void conv_forward(const ConvGeometry& g, const T* x, const T* weight, const T* bias, T* out);
template <class T>
void conv_backward_input(const ConvGeometry& g, const T* grad, const T* weight, T* gx);
template <class T>
void conv_backward_weight(const ConvGeometry& g, const T* grad, const T* x, T* gweight);

}  // namespace tenon::cpu
