// Convolutions.
#include <algorithm>

#include "convert/layers.hpp"
#include "convert/table.hpp"
#include "convert/window.hpp"

namespace tenon::onnx {
namespace {

using Ints = std::vector<int64_t>;

Ints kernel_of(const Tensor& weight) { return {weight.shape().begin() + 2, weight.shape().end()}; }

}  // namespace

Tensor convolution_of(const Call& call, const Tensor& given, const Tensor& weight,
                      const Tensor& bias) {
  if (given.ndim() < 3 || weight.ndim() != given.ndim())
    call.fail("it needs operands (N, C, spatial…) and (O, C/groups, kernel…)");
  Windows windows = windows_of(call, given, kernel_of(weight));
  Tensor x = given;
  if (!windows.symmetric()) {
    x = padded_spatially(x, windows.begin, windows.end, 0);
    windows.begin.assign(windows.rank(), 0);
  }
  return conv(x, weight, bias, windows.stride, windows.begin, windows.dilation, call.i("group", 1));
}

namespace {

// Pads images (N, H, W, C) with a number that is known only in a run.
Tensor padded_with(const Tensor& image, const Ints& pads, const Tensor& fill) {
  const Tensor inside = zeros({1, image.shape(1), image.shape(2), 1}, image.dtype());
  const Tensor border = pad(inside, pads, "constant", 1);
  return pad(image, pads, "constant", 0) + border * fill.to(image.dtype()).reshape({});
}

}  // namespace

Tensor window_rows(const Call& call, const Tensor& x, const std::vector<int64_t>& kernel,
                   size_t fill) {
  const Windows w = windows_of(call, x, kernel);
  const int64_t rows = window_count(w, 0, x.shape(2), false);
  const int64_t columns = window_count(w, 1, x.shape(3), false);
  Tensor image = x.permute({0, 2, 3, 1});
  const Ints pads = {0, 0, w.begin[1], w.end[1], w.begin[0], w.end[0]};
  if (std::ranges::max(pads) > 0) {
    const bool known = !call.has(fill) || call.constant({fill});
    image = known ? pad(image, pads, "constant", call.has(fill) ? call.number(fill) : 0)
                  : padded_with(image, pads, call.x(fill));
  }
  image = image.contiguous();
  const int64_t channels = image.shape(3), row = image.shape(2) * channels;
  const Tensor seen = as_strided(image, {x.shape(0), rows, columns, kernel[0], kernel[1], channels},
                                 {image.shape(1) * row, w.stride[0] * row, w.stride[1] * channels,
                                  w.dilation[0] * row, w.dilation[1] * channels, 1});
  return seen.reshape({x.shape(0), rows, columns, kernel[0] * kernel[1] * channels});
}

// f32 sums are exact up to 2²⁴, so this many channels are added at a time; otherwise f64 is used.
Tensor integer_convolution(const Call& call, const Tensor& x, const Tensor& weight, int64_t bound) {
  int64_t area = 1;
  for (const int64_t size : kernel_of(weight)) area *= size;
  const int64_t channels = weight.shape(1);
  const int64_t step = (int64_t{1} << 24) / std::max<int64_t>(1, bound * area);
  if (channels <= step) return convolution_of(call, x, weight, {}).to(DType::I32);
  if (step == 0 || call.i("group", 1) != 1)
    return convolution_of(call, x.to(DType::F64), weight.to(DType::F64), {}).to(DType::I32);
  Tensor sum;
  for (int64_t at = 0; at < channels; at += step) {
    const int64_t count = std::min(step, channels - at);
    const Tensor part =
        convolution_of(call, x.narrow(1, at, count), weight.narrow(1, at, count), {})
            .to(DType::I32);
    sum = sum.defined() ? sum + part : part;
  }
  return sum;
}

namespace {

// The elements of the plain result from `begin` on, padded with zeros on both sides if necessary.
Tensor conv_transposed(const Call& call) {
  const Tensor x = call.x(0), weight = call.x(1);
  if (x.ndim() < 3 || weight.ndim() != x.ndim())
    call.fail("it needs operands (N, C, spatial…) and (C, O/groups, kernel…)");
  Windows windows = windows_of(call, x, kernel_of(weight));
  const size_t rank = windows.rank();
  const Ints more = call.list("output_padding", Ints(rank, 0)), sizes = call.list("output_shape");
  const std::string mode = call.s("auto_pad", "NOTSET");
  if (more.size() != rank || (!sizes.empty() && sizes.size() != rank))
    call.fail("lists of different lengths");
  bool plain = windows.symmetric() && mode == "NOTSET" && sizes.empty();
  Ints behind(rank);
  for (size_t d = 0; d < rank; ++d) {
    const int64_t size = x.shape()[d + 2], full = windows.stride[d] * (size - 1) + windows.reach(d);
    if (!sizes.empty() || mode == "SAME_UPPER" || mode == "SAME_LOWER") {
      const int64_t wanted = sizes.empty() ? size * windows.stride[d] : sizes[d];
      const int64_t total = full + more[d] - wanted;
      windows.begin[d] = total < 0 ? 0 : mode == "SAME_UPPER" ? total / 2 : total - total / 2;
      windows.end[d] = total - windows.begin[d];
    }
    behind[d] = more[d] - windows.end[d];
    plain = plain && more[d] < std::max(windows.stride[d], windows.dilation[d]);
  }
  const int64_t groups = call.i("group", 1);
  const Tensor bias = call.maybe(2);
  if (plain)
    return conv_transpose(x, weight, bias, windows.stride, windows.begin, more, windows.dilation,
                          groups);
  Ints front;
  for (const int64_t one : windows.begin) front.push_back(-one);
  const Tensor y = conv_transpose(x, weight, {}, windows.stride, Ints(rank, 0), Ints(rank, 0),
                                  windows.dilation, groups);
  Tensor cut = padded_spatially(y, front, behind, 0);
  if (!bias.defined()) return cut;
  Ints along(static_cast<size_t>(x.ndim()), 1);
  along[1] = bias.shape(0);
  return cut + bias.reshape(along);
}

// A causal depthwise convolution. The past may come from an earlier call.
Results causal_conv(const Call& call) {
  const Tensor x = call.x(0), weight = call.x(1);
  const int64_t channels = x.shape(1), past = weight.shape(2) - 1;
  const Tensor state =
      call.has(3) ? call.x(3) : zeros({x.shape(0), channels, past}, x.dtype(), x.device());
  const Tensor all = concat({state, x}, 2);
  Tensor y = conv(all, weight, call.maybe(2), {1}, {0}, {1}, channels);
  const std::string activation = call.s("activation", "none");
  if (activation == "silu" || activation == "swish") y = silu(y);
  return {y, all.narrow(2, all.shape(2) - past, past)};
}

// Adds columns (N, C·kernel, windows) up into the image that they came from.
Tensor col_to_im(const Call& call) {
  const Tensor columns = call.x(0);
  const Ints image = call.ints(1), kernel = call.ints(2);
  int64_t area = 1;
  for (const int64_t size : kernel) area *= size;
  const int64_t channels = columns.shape(1) / area;
  Ints sizes = {columns.shape(0), channels};
  sizes.insert(sizes.end(), image.begin(), image.end());
  Windows windows = windows_of(call, tenon::empty(sizes), kernel);
  // The gradient of im2col: each position in the kernel is a channel that is placed at its offset.
  Ints padded_sizes = sizes, counts;
  for (size_t d = 0; d < kernel.size(); ++d) {
    counts.push_back(window_count(windows, d, image[d], false));
    padded_sizes[d + 2] += windows.begin[d] + windows.end[d];
  }
  Ints split = {columns.shape(0), channels, area};
  split.insert(split.end(), counts.begin(), counts.end());
  const Tensor parts = columns.reshape(split);
  Tensor made = zeros(padded_sizes, columns.dtype(), columns.device());
  for (int64_t k = 0; k < area; ++k) {
    Tensor place = made;
    int64_t rest = k;
    for (size_t d = kernel.size(); d-- > 0;) {
      const int64_t at = rest % kernel[d] * windows.dilation[d];
      rest /= kernel[d];
      place = place.slice(static_cast<int64_t>(d) + 2, at,
                          at + (counts[d] - 1) * windows.stride[d] + 1, windows.stride[d]);
    }
    place += parts.select(2, k);
  }
  Ints front, behind;
  for (size_t d = 0; d < kernel.size(); ++d) {
    front.push_back(-windows.begin[d]);
    behind.push_back(-windows.end[d]);
  }
  return padded_spatially(made, front, behind, 0);
}

}  // namespace

// Folds the norm's scale and shift for each output channel into the weights.
Tensor normalised_convolution(const Call& call) {
  using Weights = std::pair<Tensor, Tensor>;
  const auto weights = call.kept(call.constant({1, 2, 3, 4, 5, 6}), [&]() -> Weights {
    const Tensor w = call.x(1);
    const DType dtype = w.dtype() == DType::F64 ? DType::F64 : DType::F32;
    const auto wide = [&](size_t i) { return call.x(i).to(dtype); };
    const Tensor scale = wide(3) / sqrt(wide(6) + call.f("epsilon", 1e-5F));
    const Tensor shift = call.has(2) ? wide(2) - wide(5) : -wide(5);
    Ints each(static_cast<size_t>(w.ndim()), 1);
    each[0] = w.shape(0);
    return {(w.to(dtype) * scale.reshape(each)).to(w.dtype()),
            (shift * scale + wide(4)).to(w.dtype())};
  });
  return convolution_of(call, call.x(0), weights->first, weights->second);
}

Family conv_ops() {
  static const Entry ops[] = {
      {"Conv", 1,
       [](const Call& call) { return convolution_of(call, call.x(0), call.x(1), call.maybe(2)); }},
      {"ConvTranspose", 1, conv_transposed},
      {"CausalConvWithState", 27, causal_conv},
      {"Col2Im", 18, col_to_im},
  };
  return ops;
}

}  // namespace tenon::onnx
