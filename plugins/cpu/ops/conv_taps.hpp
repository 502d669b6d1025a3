// Convolution without unfolding: a padded copy of some rows of an image, split by stride, is read
// in place by every tap.
#pragma once

#include <algorithm>
#include <vector>

#include "ops/conv.hpp"

namespace tenon::cpu {

// The copy: for each channel, then for each of phases[0] × phases[1] remainders of the stride,
// `rows` lines of `pitch` elements. Line r of phase (py, px) is input row (row0 + r)·stride + py +
// offset, and its element w input column w·stride + px + offset.
struct TapSource {
  int64_t in[2], stride[2], offset[2], phases[2];
  int64_t rows, pitch;

  int64_t plane() const { return phases[0] * phases[1] * rows * pitch; }
};
// One channel; `plane` NULL gives zeros.
void copy_plane(const TapSource& source, const float* plane, int64_t row0, float* out);
void copy_plane(const TapSource& source, const double* plane, int64_t row0, double* out);

// out[f, y, x] = bias[f] + sum over p of weight[f, p]·source[at[p] + y·pitch + x], in
// elements behind `out`.
template <class T>
struct TapProduct {
  int64_t filters, depth;
  const T* weight;  // filters × depth
  const T* bias;    // or NULL
  const T* source;  // a vector's length is readable behind its end
  const int32_t* at;
  int64_t rows, cols, pitch;
  T* out;
  int64_t out_filter, out_row, out_col;
};
void tap_product(const TapProduct<float>& product);
void tap_product(const TapProduct<double>& product);

// sum[p, f] += sum over y, x of source[at[p] + y·pitch + x]·g[f, y, x]; sum is depth × filters.
template <class T>
struct TapGradient {
  int64_t filters, depth;
  const T* source;
  const int32_t* at;
  int64_t rows, cols, pitch;
  const T* g;
  int64_t g_filter;  // a row of g is `cols` long
  T* packed;         // tap_room elements
  T* sum;
};
// Filters at once: side by side in a panel, or each in lines of its own as the source has them.
constexpr int64_t kTapPanel = 32, kNarrowFilters = 8;
inline int64_t tap_room(int64_t rows, int64_t cols, int64_t pitch) {
  const int64_t lines = (std::min(pitch, 2 * cols) * rows + 64) * (kNarrowFilters + 1);
  return std::max(rows * cols * kTapPanel, lines);
}
void tap_gradient(const TapGradient<float>& gradient);
void tap_gradient(const TapGradient<double>& gradient);

}  // namespace tenon::cpu
