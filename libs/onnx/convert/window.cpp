#include "convert/window.hpp"

#include <algorithm>

namespace tenon::onnx {

Windows windows_of(const Call& call, const Tensor& x, std::vector<int64_t> kernel) {
  const auto rank = static_cast<size_t>(std::max<int64_t>(0, x.ndim() - 2));
  Windows made;
  made.kernel = call.list("kernel_shape", std::move(kernel));
  made.stride = call.list("strides", std::vector<int64_t>(rank, 1));
  made.dilation = call.list("dilations", std::vector<int64_t>(rank, 1));
  std::vector<int64_t> pads = call.list("pads", std::vector<int64_t>(2 * rank, 0));
  if (rank == 0 || made.kernel.size() != rank || made.stride.size() != rank ||
      made.dilation.size() != rank || pads.size() != 2 * rank)
    call.fail("kernel, strides, dilations and pads are not those of " + std::to_string(rank) +
              " dimensions");
  for (size_t d = 0; d < rank; ++d)
    if (made.kernel[d] < 1 || made.stride[d] < 1 || made.dilation[d] < 1)
      call.fail("a kernel, stride or dilation below 1");
  made.begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(rank));
  made.end.assign(pads.begin() + static_cast<std::ptrdiff_t>(rank), pads.end());
  const std::string mode = call.s("auto_pad", "NOTSET");
  if (mode == "VALID") made.begin = made.end = std::vector<int64_t>(rank, 0);
  if (mode == "SAME_UPPER" || mode == "SAME_LOWER")
    for (size_t d = 0; d < rank; ++d) {
      const int64_t size = x.shape()[d + 2], count = (size + made.stride[d] - 1) / made.stride[d];
      const int64_t total =
          std::max<int64_t>(0, (count - 1) * made.stride[d] + made.reach(d) - size);
      made.begin[d] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
      made.end[d] = total - made.begin[d];
    }
  return made;
}

int64_t window_count(const Windows& windows, size_t d, int64_t size, bool ceil) {
  const int64_t stride = windows.stride[d],
                room = size + windows.begin[d] + windows.end[d] - windows.reach(d);
  if (room < 0) throw Error(TN_INVALID_ARGUMENT, "a window larger than its input with padding");
  int64_t count = (ceil ? (room + stride - 1) / stride : room / stride) + 1;
  if (ceil && (count - 1) * stride >= size + windows.begin[d]) --count;
  return count;
}

Tensor padded_spatially(const Tensor& x, const std::vector<int64_t>& begin,
                        const std::vector<int64_t>& end, double value) {
  Tensor y = x;
  std::vector<int64_t> pads;
  for (size_t d = begin.size(); d-- > 0;) {
    pads.push_back(std::max<int64_t>(0, begin[d]));
    pads.push_back(std::max<int64_t>(0, end[d]));
    const int64_t low = std::max<int64_t>(0, -begin[d]), high = std::max<int64_t>(0, -end[d]);
    const auto axis = static_cast<int64_t>(d) + 2;
    if (low + high > 0) y = y.narrow(axis, low, y.shape(axis) - low - high);
  }
  return std::ranges::all_of(pads, [](int64_t one) { return one == 0; })
             ? y
             : pad(y, pads, "constant", value);
}

}  // namespace tenon::onnx
