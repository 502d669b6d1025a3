// The windows of convolutions and poolings: what ONNX's attributes say of each spatial dimension.
#pragma once

#include "convert/call.hpp"

namespace tenon::onnx {

struct Windows {
  std::vector<int64_t> kernel, stride, dilation, begin, end;

  size_t rank() const { return kernel.size(); }
  // Elements from a window's first to its last.
  int64_t reach(size_t d) const { return dilation[d] * (kernel[d] - 1) + 1; }
  bool symmetric() const { return begin == end; }
};

// Of an operand (N, C, spatial…). Throws Error where lists are too long or too short.
Windows windows_of(const Call& call, const Tensor& x, std::vector<int64_t> kernel);
// So many windows along a dimension; one more where `ceil` and it begins before the padding behind.
int64_t window_count(const Windows& windows, size_t d, int64_t size, bool ceil);
// x padded with `value`, in front and behind, along its spatial dimensions; negative numbers cut.
Tensor padded_spatially(const Tensor& x, const std::vector<int64_t>& begin,
                        const std::vector<int64_t>& end, double value);

}  // namespace tenon::onnx
