// Convolution as a product of matrices that are never stored:
//   forward: out[f, (image, o)] = sum over (c, tap) of w[f, (c, tap)] x[c, (image, o), tap]
//   input:   gx[c, (image, i)]  = sum over (f, tap) of w[(f, tap), c] g[f, (image, i), tap]
//   weight:  gw[f, (c, tap)]    = sum over (image, o) of g[f, (image, o)] x[c, (image, o), tap]
#pragma once

#include "conv_geometry.hpp"
#include "layout.hpp"
#include "matmul.hpp"

namespace tenon::gpu {

// The plane that is iterated (outputs; in the input pass, inputs), the plane that is read, and how their positions correspond.
struct Planes {
  int32_t across[3], source[3], kernel[3], stride[3], padding[3], dilation[3];
  Divider plane, slice, line;  // of the iterated plane
  Divider taps, kernel_slice, kernel_line;
  Divider strides[3];
  uint32_t groups, channels, filters;  // the last two are per group
  int64_t source_plane;
  bool strided;
};

#if !defined(TENON_GPU_HOST_ONLY)

// A position in the plane: what its first tap reads (in the input pass, before dividing by the stride).
struct ConvPlace {
  uint32_t image, at;
  int32_t from[3];
};

template <Pass kPass>
GPU_DEVICE ConvPlace conv_place(const Planes& g, uint32_t i) {
  ConvPlace p;
  p.image = g.plane.divide(i);
  p.at = i - p.image * g.plane.divisor;
  const uint32_t z = g.slice.divide(p.at), rest = p.at - z * g.slice.divisor,
                 y = g.line.divide(rest), x = rest - y * g.line.divisor;
  const auto first = [&](uint32_t o, uint32_t d) {
    return kPass == kInput ? static_cast<int32_t>(o) + g.padding[d]
                           : static_cast<int32_t>(o) * g.stride[d] - g.padding[d];
  };
  p.from[0] = first(z, 0);
  p.from[1] = first(y, 1);
  p.from[2] = first(x, 2);
  return p;
}

// The index that tap k reads along a dimension, or -1.
template <Pass kPass>
GPU_DEVICE int32_t tap_at(const Planes& g, uint32_t d, int32_t from, int32_t k) {
  int32_t at = kPass == kInput ? from - k * g.dilation[d] : from + k * g.dilation[d];
  if (kPass == kInput && g.strided) {
    if (at < 0) return -1;
    const auto q = static_cast<int32_t>(g.strides[d].divide(static_cast<uint32_t>(at)));
    if (q * g.stride[d] != at) return -1;
    at = q;
  }
  return at >= 0 && at < g.source[d] ? at : -1;
}

// The index of a channel's plane in the source; a group has `channels` of them.
GPU_DEVICE int64_t plane_of(const Planes& g, const ConvPlace& p, uint32_t group, uint32_t channels,
                            uint32_t channel) {
  return (static_cast<int64_t>(p.image) * g.groups + group) * channels + channel;
}

// What the taps read: channel and tap in one index. In the weight pass this is along k, otherwise along the positions.
template <class T, Pass kPass>
struct Gathered {
  static constexpr uint32_t kTogether = 1;
  static constexpr bool by_k = kPass == kWeight;
  const Planes& g;
  Ptr<const T> at;
  uint32_t group, size;  // columns
  uint32_t known = 0xffffffff;
  ConvPlace place{};

  GPU_DEVICE Vec<Compute<T>, 1> fetch(uint32_t i, uint32_t k, uint32_t end) {
    if (i >= size || k >= end) return {Compute<T>(0)};
    const uint32_t where = kPass == kWeight ? k : i, what = kPass == kWeight ? i : k;
    if (where != known) {
      known = where;
      place = conv_place<kPass>(g, where);
    }
    const uint32_t channel = g.taps.divide(what), tap = what - channel * g.taps.divisor;
    const uint32_t kz = g.kernel_slice.divide(tap), rest = tap - kz * g.kernel_slice.divisor,
                   ky = g.kernel_line.divide(rest), kx = rest - ky * g.kernel_line.divisor;
    const int32_t z = tap_at<kPass>(g, 0, place.from[0], static_cast<int32_t>(kz)),
                  y = tap_at<kPass>(g, 1, place.from[1], static_cast<int32_t>(ky)),
                  x = tap_at<kPass>(g, 2, place.from[2], static_cast<int32_t>(kx));
    if ((z | y | x) < 0) return {Compute<T>(0)};
    const uint32_t channels = kPass == kInput ? g.filters : g.channels;
    const int64_t first = plane_of(g, place, group, channels, channel) * g.source_plane;
    return {load<T>(at, first + (static_cast<int64_t>(z) * g.source[1] + y) * g.source[2] + x)};
  }
};

// The weights in the input pass: rows are channels, k is filter and tap.
template <class T>
struct TurnedWeights {
  static constexpr uint32_t kTogether = 1;
  static constexpr bool by_k = true;
  const Planes& g;
  Ptr<const T> at;
  uint32_t group, size;

  GPU_DEVICE Vec<Compute<T>, 1> fetch(uint32_t i, uint32_t k, uint32_t end) const {
    if (i >= size || k >= end) return {Compute<T>(0)};
    const uint32_t filter = g.taps.divide(k), tap = k - filter * g.taps.divisor;
    const int64_t row = (int64_t{group} * g.filters + filter) * g.channels + i;
    return {load<T>(at, row * g.taps.divisor + tap)};
  }
};

// The gradients in the weight pass: rows are filters, k is image and position.
template <class T>
struct Gradients {
  static constexpr uint32_t kTogether = 1;
  static constexpr bool by_k = true;
  const Planes& g;
  Ptr<const T> at;
  uint32_t group, size;

  GPU_DEVICE Vec<Compute<T>, 1> fetch(uint32_t i, uint32_t k, uint32_t end) const {
    if (i >= size || k >= end) return {Compute<T>(0)};
    const uint32_t image = g.plane.divide(k);
    const int64_t plane = (static_cast<int64_t>(image) * g.groups + group) * g.filters + i;
    return {load<T>(at, plane * g.plane.divisor + (k - image * g.plane.divisor))};
  }
};

// The sum over one channel's taps at a position. `x` begins at the channel's plane, `w` at its taps.
template <class T, Pass kPass>
GPU_DEVICE Compute<T> sum_taps(const Planes& g, const ConvPlace& p, const Ptr<const T>& x,
                               const Ptr<const T>& w) {
  Compute<T> sum = 0;
  for (int32_t kz = 0; kz < g.kernel[0]; ++kz) {
    const int32_t z = tap_at<kPass>(g, 0, p.from[0], kz);
    if (z < 0) continue;
    for (int32_t ky = 0; ky < g.kernel[1]; ++ky) {
      const int32_t y = tap_at<kPass>(g, 1, p.from[1], ky);
      if (y < 0) continue;
      const int64_t line = (static_cast<int64_t>(z) * g.source[1] + y) * g.source[2],
                    tap = (static_cast<int64_t>(kz) * g.kernel[1] + ky) * g.kernel[2];
      for (int32_t kx = 0; kx < g.kernel[2]; ++kx) {
        const int32_t at = tap_at<kPass>(g, 2, p.from[2], kx);
        if (at >= 0) sum = plus(sum, times(load<T>(w, tap + kx), load<T>(x, line + at)));
      }
    }
  }
  return sum;
}

#endif

}  // namespace tenon::gpu
