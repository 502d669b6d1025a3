#include "ops/conv_unfolded.hpp"

#include <algorithm>

#include "ops/matmul_gemm.hpp"
#include "ops/workspace.hpp"
#include "threads.hpp"

namespace tenon::cpu {
namespace {

// Of the batch, measured beside oneDNN, which copies all weights into its layout first; backward copies their gradient out of it.
constexpr int64_t kMostPlaces = 64, kMostPlacesForWeights = 256;
constexpr int64_t kLeastDepth = 64;
// A pointwise convolution is a product as it lies, unless its planes leave vectors empty.
constexpr int64_t kNarrow = 32;

// Forward, image by image: rows of taps that are long beside those of outputs, of channels too few for oneDNN's vectors.
constexpr int64_t kLongTaps = 8, kLeastPlane = 16;

int64_t places(const ConvGeometry& g) { return g.batch * g.out_plane(); }

// Whether a plane with its padding, which is written out, is not much larger than without.
bool mostly_image(const ConvGeometry& g) {
  double padded = 1;
  for (size_t d = 0; d < 3; ++d) padded *= static_cast<double>(g.in[d] + 2 * g.padding[d]);
  return padded <= 16.0 * static_cast<double>(g.in_plane()) + 4096;
}

// The part of a plane that is read, with zeros where that is padding: tap t of place p reads element place_at[p] + tap_at[t].
class Padded {
 public:
  explicit Padded(const ConvGeometry& g) : in_(g.in), padding_(g.padding) {
    for (size_t d = 0; d < 3; ++d)
      size_[d] = (g.out[d] - 1) * g.stride[d] + (g.kernel[d] - 1) * g.dilation[d] + 1;
    place_at = positions(g.out, g.stride);
    tap_at = positions(g.kernel, g.dilation);
  }

  std::vector<int32_t> place_at, tap_at;

  int64_t volume() const { return ConvGeometry::product(size_); }
  template <class T>
  void copy_in(const T* plane, T* padded) const {
    std::fill_n(padded, volume(), T(0));
    for_lines([&](int64_t at, int64_t padded_at, int64_t count) {
      std::copy_n(plane + at, count, padded + padded_at);
    });
  }
  template <class T>
  void copy_out(const T* padded, T* plane) const {
    std::fill_n(plane, ConvGeometry::product(in_), T(0));
    for_lines([&](int64_t at, int64_t padded_at, int64_t count) {
      std::copy_n(padded + padded_at, count, plane + at);
    });
  }

 private:
  std::vector<int32_t> positions(const ConvGeometry::Three& count,
                                 const ConvGeometry::Three& step) const {
    std::vector<int32_t> at;
    for (int64_t z = 0; z < count[0]; ++z)
      for (int64_t y = 0; y < count[1]; ++y)
        for (int64_t x = 0; x < count[2]; ++x)
          at.push_back(static_cast<int32_t>((z * step[0] * size_[1] + y * step[1]) * size_[2] +
                                            x * step[2]));
    return at;
  }
  // line(in the plane, in the padded one, elements) for each row that both have.
  template <class Line>
  void for_lines(Line&& line) const {
    int64_t begin[3], end[3];
    for (size_t d = 0; d < 3; ++d) {
      begin[d] = std::min(padding_[d], size_[d]);
      end[d] = std::min(size_[d], padding_[d] + in_[d]);
      if (begin[d] >= end[d]) return;
    }
    for (int64_t z = begin[0]; z < end[0]; ++z)
      for (int64_t y = begin[1]; y < end[1]; ++y)
        line(((z - padding_[0]) * in_[1] + y - padding_[1]) * in_[2],
             (z * size_[1] + y) * size_[2] + begin[2], end[2] - begin[2]);
  }

  ConvGeometry::Three in_, padding_, size_{};
};

// body(n, c) for each plane of `channels` in the batch.
template <class Body>
void for_planes(const ConvGeometry& g, int64_t channels, int64_t size, Body&& body) {
  const int64_t grain = std::max<int64_t>(1, kGrainMath / std::max<int64_t>(1, size));
  parallel_for(g.batch * channels, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i / channels, i % channels);
  });
}

// to[i·step + j] = from[outer[i] + inner[j]]
template <class T>
void gather(const T* from, const std::vector<int32_t>& outer, const std::vector<int32_t>& inner,
            int64_t step, T* to) {
  for (size_t i = 0; i < outer.size(); ++i)
    for (size_t j = 0; j < inner.size(); ++j)
      to[static_cast<int64_t>(i) * step + static_cast<int64_t>(j)] = from[outer[i] + inner[j]];
}

// What the places read: element (place, c·taps + t) at place·`place_step` + (c·taps + t)·`tap_step`, one of which is 1.
template <class T>
T* unfold(const ConvGeometry& g, const T* x, int64_t place_step, int64_t tap_step) {
  const Padded padded(g);
  const int64_t plane = g.out_plane(), taps = g.taps();
  T* const to = workspace<T>(Workspace::Columns, places(g) * g.depth());
  for_planes(g, g.channels, plane * taps, [&](int64_t n, int64_t c) {
    T* const image = workspace<T>(Workspace::Sums, padded.volume());
    padded.copy_in(x + (n * g.channels + c) * g.in_plane(), image);
    T* const first = to + n * plane * place_step + c * taps * tap_step;
    if (tap_step == 1)
      gather(image, padded.place_at, padded.tap_at, place_step, first);
    else
      gather(image, padded.tap_at, padded.place_at, tap_step, first);
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

// Whether what the places read lies side by side as it is: whole rows of a lone channel.
bool lies_unfolded(const ConvGeometry& g) {
  return g.channels == 1 && g.in[0] == 1 && g.kernel[2] == g.in[2] && g.dilation[1] == 1 &&
         g.padding == ConvGeometry::Three{0, 0, 0};
}

template <class T>
void unfolded_images(const ConvGeometry& g, const T* x, const T* weight, const T* bias, T* out) {
  const int64_t plane = g.out_plane(), depth = g.depth(), work = g.filters * plane * depth;
  ConvGeometry one = g;
  one.batch = 1;
  const bool lies = lies_unfolded(g);
  parallel_for(g.batch, std::max<int64_t>(1, kGemmGrain / work), [&](int64_t begin, int64_t end) {
    for (int64_t image = begin; image < end; ++image) {
      const T* const from = x + image * g.channels * g.in_plane();
      parallel_gemm(Gemm<T>{.m = g.filters,
                            .n = plane,
                            .k = depth,
                            .a = weight,
                            .a_row = depth,
                            .a_col = 1,
                            .b = lies ? from : unfold(one, from, depth, 1),
                            .b_row = 1,
                            .b_col = lies ? g.stride[1] * g.in[2] : depth,
                            .c = out + image * g.filters * plane,
                            .c_row = plane,
                            .row_bias = bias});
    }
  });
}

}  // namespace

bool reads_lines(const ConvGeometry& g) {
  return g.groups == 1 && g.kernel[2] >= kLongTaps && g.kernel[2] >= kLongTaps * g.out[2] &&
         g.channels < kFewChannels && g.filters >= kLongTaps && g.out_plane() >= kLeastPlane &&
         mostly_image(g);
}

bool wants_unfolding(const ConvGeometry& g, ConvPass pass) {
  if (g.pointwise() && (g.batch == 1 || g.out_plane() >= kNarrow)) return false;
  if (pass == kForward && reads_lines(g)) return true;
  return g.groups == 1 && places(g) > 0 && mostly_image(g) &&
         places(g) <= (pass == kWeight ? kMostPlacesForWeights : kMostPlaces) &&
         g.depth() >= kLeastDepth && g.filters >= 16;
}

template <class T>
void unfolded_forward(const ConvGeometry& g, const T* x, const T* weight, const T* bias, T* out) {
  if (reads_lines(g)) return unfolded_images(g, x, weight, bias, out);
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
  const Padded padded(g);
  for_planes(g, g.channels, plane * taps, [&](int64_t image, int64_t c) {
    T* const sums = workspace<T>(Workspace::Sums, padded.volume());
    std::fill_n(sums, padded.volume(), T(0));
    for (int64_t p = 0; p < plane; ++p) {
      const T* const from = read + (image * plane + p) * depth + c * taps;
      T* const to = sums + padded.place_at[static_cast<size_t>(p)];
      for (int64_t t = 0; t < taps; ++t) to[padded.tap_at[static_cast<size_t>(t)]] += from[t];
    }
    padded.copy_out(sums, gx + (image * g.channels + c) * g.in_plane());
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
