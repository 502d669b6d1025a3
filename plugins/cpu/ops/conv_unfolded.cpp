#include "ops/conv_unfolded.hpp"

#include <algorithm>

#include "ops/conv_any.hpp"
#include "ops/matmul_gemm.hpp"
#include "ops/workspace.hpp"
#include "threads.hpp"

namespace tenon::cpu {
namespace {

// Of the batch, measured beside oneDNN, which copies all weights into its layout first; backward copies their gradient out of it.
constexpr int64_t kMostPlaces = 48, kMostPlacesForWeights = 256;
constexpr int64_t kLeastDepth = 64;
// A pointwise convolution is a product as it lies, unless its planes leave vectors empty.
constexpr int64_t kNarrow = 32;

int64_t places(const ConvGeometry& g) { return g.batch * g.out_plane(); }

// Where each tap of each place of an output plane reads its channel's plane; −1: padding.
std::vector<int32_t> reads_of(const ConvGeometry& g) {
  std::vector<int32_t> reads(static_cast<size_t>(g.out_plane() * g.taps()), -1);
  for (int64_t p = 0; p < g.out_plane(); ++p)
    for_taps(g, p, [&](int64_t tap, int64_t at) {
      reads[static_cast<size_t>(p * g.taps() + tap)] = static_cast<int32_t>(at);
    });
  return reads;
}

// body(n, c) for each plane of `channels` in the batch.
template <class Body>
void for_planes(const ConvGeometry& g, int64_t channels, int64_t size, Body&& body) {
  const int64_t grain = std::max<int64_t>(1, kGrainMath / std::max<int64_t>(1, size));
  parallel_for(g.batch * channels, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i / channels, i % channels);
  });
}

// What the places read: element (place, c·taps + t) at place·`place_step` + (c·taps + t)·`tap_step`.
template <class T>
T* unfold(const ConvGeometry& g, const T* x, int64_t place_step, int64_t tap_step) {
  const std::vector<int32_t> reads = reads_of(g);
  const int64_t plane = g.out_plane(), taps = g.taps();
  T* const to = workspace<T>(Workspace::Columns, places(g) * g.depth());
  for_planes(g, g.channels, plane * taps, [&](int64_t n, int64_t c) {
    const T* const from = x + (n * g.channels + c) * g.in_plane();
    T* const first = to + n * plane * place_step + c * taps * tap_step;
    // Along what lies side by side.
    const bool places_first = tap_step == 1;
    const int64_t outer = places_first ? plane : taps, inner = places_first ? taps : plane;
    for (int64_t i = 0; i < outer; ++i)
      for (int64_t j = 0; j < inner; ++j) {
        const int32_t at = reads[static_cast<size_t>(places_first ? i * taps + j : j * taps + i)];
        first[i * (places_first ? place_step : tap_step) + j] = at < 0 ? T(0) : from[at];
      }
  });
  return to;
}

// (batch, filters, plane) as (filters, batch·plane).
template <class T>
const T* by_filters(const ConvGeometry& g, const T* grad) {
  const int64_t plane = g.out_plane();
  if (g.batch == 1) return grad;
  T* const to = workspace<T>(Workspace::Packed, places(g) * g.filters);
  for_planes(g, g.filters, plane, [&](int64_t n, int64_t f) {
    std::copy_n(grad + (n * g.filters + f) * plane, plane, to + (f * g.batch + n) * plane);
  });
  return to;
}

}  // namespace

bool wants_unfolding(const ConvGeometry& g, ConvPass pass) {
  if (g.pointwise() && (g.batch == 1 || g.out_plane() >= kNarrow)) return false;
  return g.groups == 1 && places(g) > 0 &&
         places(g) <= (pass == kWeight ? kMostPlacesForWeights : kMostPlaces) &&
         g.depth() >= kLeastDepth && g.filters >= 16;
}

template <class T>
void unfolded_forward(const ConvGeometry& g, const T* x, const T* weight, const T* bias, T* out) {
  const int64_t n = places(g), depth = g.depth(), plane = g.out_plane();
  const T* const read = unfold(g, x, 1, n);
  T* const sums = g.batch == 1 ? out : workspace<T>(Workspace::Sums, n * g.filters);
  parallel_gemm(Gemm<T>{.m = g.filters,
                        .n = n,
                        .k = depth,
                        .a = weight,
                        .a_row = depth,
                        .a_col = 1,
                        .b = read,
                        .b_row = n,
                        .b_col = 1,
                        .c = sums,
                        .c_row = n,
                        .row_bias = bias});
  if (g.batch == 1) return;
  for_planes(g, g.filters, plane, [&](int64_t image, int64_t f) {
    std::copy_n(sums + (f * g.batch + image) * plane, plane, out + (image * g.filters + f) * plane);
  });
}

template <class T>
void unfolded_backward_weight(const ConvGeometry& g, const T* grad, const T* x, T* gweight) {
  const int64_t n = places(g), depth = g.depth();
  const T* const read = unfold(g, x, depth, 1);
  parallel_gemm(Gemm<T>{.m = g.filters,
                        .n = depth,
                        .k = n,
                        .a = by_filters(g, grad),
                        .a_row = n,
                        .a_col = 1,
                        .b = read,
                        .b_row = depth,
                        .b_col = 1,
                        .c = gweight,
                        .c_row = depth});
}

template <class T>
void unfolded_backward_input(const ConvGeometry& g, const T* grad, const T* weight, T* gx) {
  const int64_t n = places(g), depth = g.depth(), plane = g.out_plane(), taps = g.taps();
  T* const read = workspace<T>(Workspace::Columns, n * depth);
  parallel_gemm(Gemm<T>{.m = n,
                        .n = depth,
                        .k = g.filters,
                        .a = by_filters(g, grad),
                        .a_row = 1,
                        .a_col = n,
                        .b = weight,
                        .b_row = depth,
                        .b_col = 1,
                        .c = read,
                        .c_row = depth});
  const std::vector<int32_t> reads = reads_of(g);
  for_planes(g, g.channels, plane * taps, [&](int64_t image, int64_t c) {
    T* const to = gx + (image * g.channels + c) * g.in_plane();
    std::fill_n(to, g.in_plane(), T(0));
    for (int64_t p = 0; p < plane; ++p)
      for (int64_t t = 0; t < taps; ++t) {
        const int32_t at = reads[static_cast<size_t>(p * taps + t)];
        if (at >= 0) to[at] += read[(image * plane + p) * depth + c * taps + t];
      }
  });
}

#define TENON_CPU_UNFOLDED(T)                                                            \
  template void unfolded_forward(const ConvGeometry&, const T*, const T*, const T*, T*); \
  template void unfolded_backward_input(const ConvGeometry&, const T*, const T*, T*);    \
  template void unfolded_backward_weight(const ConvGeometry&, const T*, const T*, T*);
TENON_CPU_UNFOLDED(float)
TENON_CPU_UNFOLDED(double)
#undef TENON_CPU_UNFOLDED

}  // namespace tenon::cpu
