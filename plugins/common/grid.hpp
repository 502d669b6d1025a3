// grid_sample: reads its calls, and finds the elements of x that a coordinate of the grid reads. For the CPU and for GPUs, where GPU_FN
// marks a function. ops/resample.cpp has the same formulas as tensors.
#ifndef TENON_PLUGINS_COMMON_GRID_HPP
#define TENON_PLUGINS_COMMON_GRID_HPP

#include <cmath>
#include <cstdint>
#include <string_view>

#include "host_device.hpp"
#include "tenon/kernel_call.hpp"
#include "tenon/schemas.h"

namespace tenon {

enum class GridPadding : uint32_t { kZeros, kBorder, kReflection };

// Element counts stay below this, and coordinates beyond it are clamped to it.
inline constexpr int64_t kMostGridPlaces = int64_t{1} << 30;

// A call of grid_sample or its gradient, brought to three spatial dimensions: the first has size 1 if the call has two.
struct GridGeometry {
  int64_t batch, channels, in_plane = 1, out_plane = 1;
  int32_t in[3] = {1, 1, 1};
  uint32_t spatial, taps;  // taps: elements that an output reads along a dimension
  GridPadding padding;
  bool align;

  template <class arg>
  static GridGeometry of(const tn_call& raw) {
    const sdk::Call call(raw);
    const tn_view &x = *raw.args[arg::x].as.view, &grid = *raw.args[arg::grid].as.view;
    const std::string_view mode = call.str(arg::mode), padding = call.str(arg::padding_mode);
    GridGeometry g;
    g.batch = x.shape[0];
    g.channels = x.shape[1];
    g.spatial = x.ndim - 2;
    for (uint32_t d = 0; d < g.spatial; ++d) {
      g.in[d + 3 - g.spatial] = static_cast<int32_t>(x.shape[d + 2]);
      g.in_plane *= x.shape[d + 2];
      g.out_plane *= grid.shape[d + 1];
    }
    g.taps = mode == "nearest" ? 1 : mode == "bicubic" ? 4 : 2;
    g.padding = padding == "zeros"    ? GridPadding::kZeros
                : padding == "border" ? GridPadding::kBorder
                                      : GridPadding::kReflection;
    g.align = call.flag(arg::align_corners);
    return g;
  }

  uint32_t taps_of_output() const { return taps * taps * (spatial == 3 ? taps : 1); }
  // Whether 32 bits suffice to count the elements of all samples' planes and all taps of their outputs.
  bool fits() const {
    return in_plane < kMostGridPlaces && batch * in_plane < INT32_MAX &&
           batch * out_plane < INT32_MAX / taps_of_output();
  }
};

// A coordinate as a position along a dimension, in elements, and the position's derivative.
template <class C>
struct GridPlace {
  C at, slope;
};

template <class C>
TENON_SHARED_INLINE_FN C grid_clamped(C x, C low, C high) {
  return x > low ? (x < high ? x : high) : low;
}

// NaN counts as −1.
template <class C>
TENON_SHARED_INLINE_FN GridPlace<C> grid_place(C coordinate, C size, bool align) {
  const C slope = (align ? size - C(1) : size) / C(2), most = static_cast<C>(kMostGridPlaces);
  const bool nan = coordinate != coordinate;
  const C c = nan ? C(-1) : grid_clamped(coordinate, -most, most);
  return {(c + C(1)) * slope - (align ? C(0) : C(0.5)), nan ? C(0) : slope};
}

// Clamped to the dimension; the slope is 0 where it was outside.
template <class C>
TENON_SHARED_INLINE_FN GridPlace<C> grid_clipped(const GridPlace<C>& place, C size) {
  if (!(place.at > C(0))) return {C(0), C(0)};
  if (!(place.at < size - C(1))) return {size - C(1), C(0)};
  return place;
}

// Mirrored at the centres of the outer elements, or at their outer edges.
template <class C>
TENON_SHARED_INLINE_FN GridPlace<C> grid_reflected(const GridPlace<C>& place, C size, bool align) {
  const C low = align ? C(0) : C(-0.5), span = align ? size - C(1) : size;
  if (span == C(0)) return {C(0), C(0)};
  const C behind = place.at - low;
  C rest = std::fabs(behind);
  if (rest >= span + span) rest = std::fmod(rest, span + span);
  const bool back = rest >= span;
  return {(back ? span + span - rest : rest) + low,
          back != (behind < C(0)) ? -place.slope : place.slope};
}

// Keys' cubic convolution with a = −3/4 at the distance x, 0 to 1 or 1 to 2, and its derivative.
template <class C>
TENON_SHARED_INLINE_FN GridPlace<C> grid_cubic(C x, bool near) {
  if (near) return {(C(1.25) * x - C(2.25)) * x * x + C(1), (C(3.75) * x - C(4.5)) * x};
  return {((C(-0.75) * x + C(3.75)) * x - C(6)) * x + C(3), (C(-2.25) * x + C(7.5)) * x - C(6)};
}

// An integer position after padding; −1: nothing is read.
TENON_SHARED_INLINE_FN int32_t grid_padded(int32_t at, int32_t size, GridPadding padding,
                                           bool align) {
  if (at >= 0 && at < size) return at;
  if (padding == GridPadding::kZeros) return -1;
  if (padding == GridPadding::kBorder || size == 1) return at < 0 ? 0 : size - 1;
  const int32_t period = 2 * (align ? size - 1 : size);
  const int32_t rest = at % period, turned = rest < 0 ? rest + period : rest;
  return turned < size ? turned : period - (align ? 0 : 1) - turned;
}

// The elements that one coordinate reads along its dimension.
template <class C, uint32_t kTaps>
struct GridAxis {
  int32_t at[kTaps];  // −1: nothing
  C weight[kTaps], slope[kTaps];

  TENON_SHARED_INLINE_FN void set(uint32_t k, int32_t place, C w, C s) {
    at[k] = place;
    weight[k] = w;
    slope[k] = s;
  }
  TENON_SHARED_INLINE_FN void read(C coordinate, int32_t size, GridPadding padding, bool align) {
    const C wide = static_cast<C>(size), most = static_cast<C>(kMostGridPlaces);
    GridPlace<C> place = grid_place(coordinate, wide, align);
    if constexpr (kTaps == 4) {
      const C period = C(2) * (align ? wide - C(1) : wide);
      if (padding == GridPadding::kReflection && std::fabs(place.at) > period)
        place.at = period == C(0) ? C(0) : std::fmod(place.at, period);
      place.at = grid_clamped(place.at, -most, most);
    } else {
      if (padding == GridPadding::kReflection) place = grid_reflected(place, wide, align);
      if (padding != GridPadding::kZeros) place = grid_clipped(place, wide);
      if (!(std::fabs(place.at) < most)) place.at = C(-2);
    }
    const C base = kTaps == 1 ? std::nearbyint(place.at) : std::floor(place.at);
    const int32_t first = static_cast<int32_t>(base);
    const C t = place.at - base;
    if constexpr (kTaps == 4) {
      for (uint32_t k = 0; k < 4; ++k) {
        const C distance = k < 2 ? t + static_cast<C>(1 - static_cast<int32_t>(k))
                                 : static_cast<C>(static_cast<int32_t>(k) - 1) - t;
        const GridPlace<C> w = grid_cubic(distance, k == 1 || k == 2);
        set(k, grid_padded(first - 1 + static_cast<int32_t>(k), size, padding, align), w.at,
            k < 2 ? place.slope * w.slope : -place.slope * w.slope);
      }
    } else if constexpr (kTaps == 2) {
      set(0, grid_padded(first, size, GridPadding::kZeros, align), C(1) - t, -place.slope);
      set(1, grid_padded(first + 1, size, GridPadding::kZeros, align), t, place.slope);
    } else {
      set(0, grid_padded(first, size, GridPadding::kZeros, align), C(1), C(0));
    }
  }
};

// The elements that an output reads, in their order. kDepth: the taps along the first of three dimensions, 1 if there are two.
template <class C, uint32_t kTaps, uint32_t kDepth>
struct GridSpot {
  static constexpr uint32_t kCount = kDepth * kTaps * kTaps;
  GridAxis<C, kDepth> z;
  GridAxis<C, kTaps> y, x;
  int32_t height, width;

  TENON_SHARED_INLINE_FN GridSpot(const GridGeometry& g, C at_x, C at_y, C at_z)
      : height(g.in[1]), width(g.in[2]) {
    x.read(at_x, g.in[2], g.padding, g.align);
    y.read(at_y, g.in[1], g.padding, g.align);
    z.set(0, 0, C(1), C(0));
    if (kDepth > 1 || g.spatial == 3) z.read(at_z, g.in[0], g.padding, g.align);
  }
  // A position in x's plane; −1: nothing is read.
  TENON_SHARED_INLINE_FN int32_t at(uint32_t k) const {
    const int32_t a = z.at[k / (kTaps * kTaps)], b = y.at[k / kTaps % kTaps], c = x.at[k % kTaps];
    return (a | b | c) < 0 ? -1 : (a * height + b) * width + c;
  }
  TENON_SHARED_INLINE_FN C weight(uint32_t k) const {
    return z.weight[k / (kTaps * kTaps)] * y.weight[k / kTaps % kTaps] * x.weight[k % kTaps];
  }
  // The derivative of the weight with respect to a coordinate of the grid; coordinate 0 is x's.
  TENON_SHARED_INLINE_FN C slope(uint32_t k, uint32_t coordinate) const {
    const uint32_t a = k / (kTaps * kTaps), b = k / kTaps % kTaps, c = k % kTaps;
    return (coordinate == 2 ? z.slope[a] : z.weight[a]) *
           (coordinate == 1 ? y.slope[b] : y.weight[b]) *
           (coordinate == 0 ? x.slope[c] : x.weight[c]);
  }
};

template <uint32_t kTapsAlong, uint32_t kTapsDeep>
struct GridTaps {
  template <class C>
  using spot = GridSpot<C, kTapsAlong, kTapsDeep>;
};

// run(GridTaps<…>()) for the taps that a call has.
template <class Run>
void with_grid_taps(const GridGeometry& g, const Run& run) {
  if (g.taps == 1) return run(GridTaps<1, 1>());
  if (g.taps == 4) return run(GridTaps<4, 1>());
  g.spatial == 3 ? run(GridTaps<2, 2>()) : run(GridTaps<2, 1>());
}

}  // namespace tenon
#endif
