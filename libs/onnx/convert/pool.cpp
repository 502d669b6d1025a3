// Pooling. The input is padded beforehand, so padding may be uneven and the last window may be cut.
#include <cmath>
#include <functional>
#include <numeric>

#include "convert/layers.hpp"
#include "convert/table.hpp"
#include "convert/window.hpp"

namespace tenon::onnx {
namespace {

using Ints = std::vector<int64_t>;

// Whether the pooling ops pad like these windows, which they then do at any size of the input.
bool is_plain(const Windows& windows) {
  bool plain = windows.symmetric();
  for (size_t d = 0; d < windows.rank(); ++d)
    plain = plain && windows.begin[d] >= 0 && 2 * windows.begin[d] <= windows.kernel[d];
  return plain;
}

// The padding behind that completes the last window.
Ints behind(const Windows& windows, const Tensor& x, bool ceil) {
  Ints made;
  for (size_t d = 0; d < windows.rank(); ++d) {
    const int64_t size = x.shape()[d + 2], count = window_count(windows, d, size, ceil);
    made.push_back((count - 1) * windows.stride[d] + windows.reach(d) - size - windows.begin[d]);
  }
  return made;
}

double area_of(const Windows& windows) {
  double area = 1;
  for (const int64_t size : windows.kernel) area *= static_cast<double>(size);
  return area;
}

// Sums over the windows, without padding.
Tensor sums(const Tensor& x, const Windows& windows) {
  const size_t rank = windows.rank();
  if (windows.dilation == Ints(rank, 1))
    return avg_pool(x, windows.kernel, windows.stride) * area_of(windows);
  Ints flat = {x.shape(0) * x.shape(1), 1}, kernel = {1, 1};
  flat.insert(flat.end(), x.shape().begin() + 2, x.shape().end());
  kernel.insert(kernel.end(), windows.kernel.begin(), windows.kernel.end());
  const Tensor y = conv(x.reshape(flat), ones(kernel, x.dtype(), x.device()), {}, windows.stride,
                        Ints(rank, 0), windows.dilation);
  Ints sizes = {x.shape(0), x.shape(1)};
  sizes.insert(sizes.end(), y.shape().begin() + 2, y.shape().end());
  return y.reshape(sizes);
}

// The same divided by the size of a window.
Tensor means(const Tensor& x, const Windows& windows) {
  if (windows.dilation == Ints(windows.rank(), 1))
    return avg_pool(x, windows.kernel, windows.stride);
  return sums(x, windows) / area_of(windows);
}

}  // namespace

Tensor average_pool_of(const Call& call, const Tensor& x, bool whole) {
  const Windows windows = windows_of(call, x, {});
  const bool ceil = call.flag("ceil_mode"), counts_pads = call.flag("count_include_pad");
  whole = whole && ceil && counts_pads;
  if (!whole && is_plain(windows) && windows.dilation == Ints(windows.rank(), 1))
    return avg_pool(x, windows.kernel, windows.stride, windows.begin, ceil, counts_pads);
  const Ints end = behind(windows, x, ceil), none(windows.rank(), 0);
  Tensor averages = means(padded_spatially(x, windows.begin, end, 0), windows);
  if (whole) return averages;
  // The number of elements in each window. Padding counts if the node says so; what only completes the last window never does.
  Ints sizes = {1, 1}, beyond;
  sizes.insert(sizes.end(), x.shape().begin() + 2, x.shape().end());
  for (size_t d = 0; d < end.size(); ++d) beyond.push_back(end[d] - windows.end[d]);
  const Tensor one = ones(sizes, x.dtype(), x.device());
  const Tensor counted = padded_spatially(
      padded_spatially(one, windows.begin, windows.end, counts_pads ? 1 : 0), none, beyond, 0);
  return averages / means(counted, windows);
}

namespace {

Tensor lp_pool(const Call& call) {
  const Tensor x = call.x(0);
  const Windows windows = windows_of(call, x, {});
  const double p = static_cast<double>(call.i("p", 2));
  const Tensor powers = pow(
      abs(padded_spatially(x, windows.begin, behind(windows, x, call.flag("ceil_mode")), 0)), p);
  return pow(sums(powers, windows), 1 / p);
}

double lowest(DType dtype) {
  if (is_floating(dtype)) return -INFINITY;
  return is_signed(dtype) ? -std::ldexp(1.0, static_cast<int>(size_of(dtype)) * 8 - 1) : 0;
}

// Converts positions in padded planes to positions in the whole tensor (N, C, spatial…).
Tensor unpadded(const Tensor& indices, const Tensor& x, const Tensor& padded,
                const Windows& windows, bool columns) {
  Tensor rest = indices, place = full_like(indices, 0);
  int64_t plane = 1, step = 1;
  for (int64_t d = 2; d < x.ndim(); ++d) plane *= x.shape(d);
  Ints steps(windows.rank());
  for (size_t i = 0; i < steps.size(); ++i) {  // row-major, or with the first dimension fastest
    const size_t d = columns ? i : steps.size() - 1 - i;
    steps[d] = step;
    step *= x.shape()[d + 2];
  }
  for (size_t d = windows.rank(); d-- > 0;) {
    const int64_t size = padded.shape()[d + 2];
    place = place + (remainder(rest, size) - windows.begin[d]) * steps[d];
    rest = floor_divide(rest, size);
  }
  Ints sizes(static_cast<size_t>(x.ndim()), 1), firsts;
  sizes[0] = x.shape(0);
  sizes[1] = x.shape(1);
  for (int64_t i = 0; i < sizes[0] * sizes[1]; ++i) firsts.push_back(i * plane);
  return place + host(firsts, sizes, DType::I64, x.device());
}

Results max_pool_of(const Call& call) {
  const Tensor x = call.x(0);
  const Windows windows = windows_of(call, x, {});
  const bool ceil = call.flag("ceil_mode");
  if (is_plain(windows) && !call.wants(1))
    return max_pool(x, windows.kernel, windows.stride, windows.begin, windows.dilation, ceil)
        .values;
  const Ints end = behind(windows, x, ceil);
  // As much padding behind as in front gives the same windows if none more fits.
  bool plain = !call.wants(1);
  for (size_t d = 0; d < windows.rank(); ++d) {
    const int64_t more = windows.begin[d] - end[d];
    plain =
        plain && more >= 0 && more < windows.stride[d] && 2 * windows.begin[d] <= windows.kernel[d];
  }
  if (plain)
    return max_pool(x, windows.kernel, windows.stride, windows.begin, windows.dilation).values;
  const Tensor padded = padded_spatially(x, windows.begin, end, lowest(x.dtype()));
  const auto found =
      max_pool(padded, windows.kernel, windows.stride, Ints(windows.rank(), 0), windows.dilation);
  if (!call.wants(1)) return found.values;
  return {found.values, unpadded(found.indices, x, padded, windows, call.flag("storage_order"))};
}

Tensor max_unpool(const Call& call) {
  const Tensor x = call.x(0), places = call.x(1);
  const Windows windows = windows_of(call, x, {});
  Ints sizes = {x.shape(0), x.shape(1)};
  for (size_t d = 0; d < windows.rank(); ++d)
    sizes.push_back((x.shape()[d + 2] - 1) * windows.stride[d] - windows.begin[d] - windows.end[d] +
                    windows.kernel[d]);
  const int64_t whole =
      std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
  const Tensor flat = zeros({x.numel() == 0 ? 0 : whole}, x.dtype(), x.device());
  Tensor made = scatter(flat, 0, places.reshape({-1}), x.reshape({-1})).reshape(sizes);
  if (!call.has(2)) return made;
  const Ints wanted = call.ints(2);
  Ints more;
  for (size_t d = 2; d < wanted.size(); ++d) more.push_back(wanted[d] - sizes[d]);
  return padded_spatially(made, Ints(more.size(), 0), more, 0);
}

Ints spatial(const Tensor& x) {
  Ints dims;
  for (int64_t d = 2; d < x.ndim(); ++d) dims.push_back(d);
  return dims;
}

}  // namespace

Family pool_ops() {
  static const Entry ops[] = {
      {"AveragePool", 7, [](const Call& call) { return average_pool_of(call, call.x(0), false); }},
      {"MaxPool", 1, max_pool_of},
      {"LpPool", 2, lp_pool},
      {"MaxUnpool", 9, max_unpool},
      {"GlobalAveragePool", 1,
       [](const Call& call) {
         const Tensor x = call.x(0);
         return x.mean(spatial(x), true);
       }},
      {"GlobalMaxPool", 1,
       [](const Call& call) {
         const Tensor x = call.x(0);
         return x.max(spatial(x), true);
       }},
      {"GlobalLpPool", 2,
       [](const Call& call) {
         const Tensor x = call.x(0);
         const auto p = static_cast<double>(call.i("p", 2));
         return pow(pow(abs(x), p).sum(spatial(x), true), 1 / p);
       }},
  };
  return ops;
}

}  // namespace tenon::onnx
