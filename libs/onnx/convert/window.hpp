// The windows of convolutions and poolings, from ONNX's attributes for each spatial dimension.
#pragma once

#include "convert/call.hpp"

namespace tenon::onnx {

struct Windows {
  std::vector<int64_t> kernel, stride, dilation, begin, end;

  size_t rank() const { return kernel.size(); }
  // Number of elements from the first to the last that a window covers.
  int64_t reach(size_t d) const { return dilation[d] * (kernel[d] - 1) + 1; }
  bool symmetric() const { return begin == end; }
};

// For an operand (N, C, spatial…). Throws Error if a list is too long or too short.
Windows windows_of(const Call& call, const Tensor& x, std::vector<int64_t> kernel);
// How many windows fit along a dimension. `ceil` allows one more, if it begins before the padding behind.
int64_t window_count(const Windows& windows, size_t d, int64_t size, bool ceil);
// Pads x with `value` on both sides of its spatial dimensions; negative pads cut.
Tensor padded_spatially(const Tensor& x, const std::vector<int64_t>& begin,
                        const std::vector<int64_t>& end, double value);

}  // namespace tenon::onnx
