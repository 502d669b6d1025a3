#include "ops/conv_taps.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/conv_taps.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/conv_taps_narrow-inl.h"
#include "ops/matmul_gemm_pack-inl.h"
#include "ops/matmul_gemm_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kFilterBlock = 48;  // rows of results that wait in L1 for their place
constexpr int kLoneVectors = 6;       // of a lone filter, whose few sums would wait for each other

template <class T>
HWY_INLINE void copy_stretch(const T* from, int64_t n, T* to, int64_t step) {
  if (step != 1) {
    for (int64_t i = 0; i < n; ++i) to[i * step] = from[i];
    return;
  }
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
  if (kMasks && i < n) {
    const auto rest = hn::FirstN(d, static_cast<size_t>(n - i));
    hn::BlendedStore(hn::MaskedLoad(rest, d, from + i), rest, d, to + i);
  } else {
    for (; i < n; ++i) to[i] = from[i];
  }
}

// [first, last) of a line of `pitch` elements from `from`, zeros before and behind.
template <class T>
HWY_INLINE void copy_line(const T* from, int64_t first, int64_t last, int64_t pitch, T* out) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), n = last - first;
  if (n < lanes || first > lanes || pitch - last > lanes) {
    std::fill(out, out + pitch, T(0));
    copy_stretch(from, n, out + first, 1);
    return;
  }
  hn::StoreU(hn::Zero(d), d, out);
  hn::StoreU(hn::Zero(d), d, out + pitch - lanes);
  for (int64_t i = 0; i + lanes <= n; i += lanes)
    hn::StoreU(hn::LoadU(d, from + i), d, out + first + i);
  hn::StoreU(hn::LoadU(d, from + n - lanes), d, out + last - lanes);
}

template <class T>
void plane_of(const TapSource& s, const T* plane, int64_t row0, T* out) {
  for (int64_t py = 0; py < s.phases[0]; ++py)
    for (int64_t px = 0; px < s.phases[1]; ++px) {
      const int64_t shift = px + s.offset[1], stride = s.stride[1];
      const int64_t first =
          std::clamp<int64_t>(shift >= 0 ? 0 : (-shift + stride - 1) / stride, 0, s.pitch);
      const int64_t last = std::clamp<int64_t>(
          s.in[1] <= shift ? 0 : (s.in[1] - shift + stride - 1) / stride, first, s.pitch);
      for (int64_t r = 0; r < s.rows; ++r, out += s.pitch) {
        const int64_t y = (row0 + r) * s.stride[0] + py + s.offset[0];
        if (plane == nullptr || y < 0 || y >= s.in[0]) {
          std::fill(out, out + s.pitch, T(0));
          continue;
        }
        const T* line = plane + y * s.in[1] + first * stride + shift;
        if (stride == 1) {
          copy_line(line, first, last, s.pitch, out);
          continue;
        }
        std::fill(out, out + first, T(0));
        for (int64_t w = first; w < last; ++w) out[w] = line[(w - first) * stride];
        std::fill(out + last, out + s.pitch, T(0));
      }
    }
}

// Positions run on over line ends, so that narrow images fill vectors; what lies between the lines
// is computed and dropped.
template <class T>
void product_of(const TapProduct<T>& t) {
  const hn::ScalableTag<T> d;
  const bool lone = t.filters == 1;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)),
                vectors = lone             ? kLoneVectors
                          : t.filters <= 8 ? 3
                                           : kTileVectors,
                panel = vectors * lanes;
  alignas(64) T buffer[(kFilterBlock * 3 + 1) * HWY_MAX_BYTES / sizeof(T)];
  const int64_t total = (t.rows - 1) * t.pitch + t.cols;
  for (int64_t q = 0; q < total; q += panel) {
    const int64_t wide = std::min<int64_t>(vectors, (total - q + lanes - 1) / lanes);
    for (int64_t f = 0; f < t.filters; f += kFilterBlock) {
      const int64_t filters = std::min(kFilterBlock, t.filters - f);
      Tile<T> tile{t.depth,
                   t.weight + f * t.depth,
                   t.depth,
                   1,
                   t.source + q,
                   0,
                   buffer,
                   panel,
                   nullptr,
                   1,
                   0,
                   lanes,
                   false};
      if (t.bias != nullptr) tile.init = t.bias + f;
      tile.b_at = t.at;
      if (lone && wide > 3)
        run_tile<T, 1, kLoneVectors, Walk::TapsOfB>(tile);
      else
        run_panel<Walk::TapsOfB>(tile, static_cast<int>(wide), filters);
      for (int64_t at = q; at < std::min(total, q + panel);) {
        const int64_t y = at / t.pitch, x = at % t.pitch,
                      end = std::min({total, q + panel, (y + 1) * t.pitch});
        const int64_t n = std::min(t.cols, x + end - at) - x;
        T* to = t.out + f * t.out_filter + y * t.out_row + x * t.out_col;
        for (int64_t i = 0; n > 0 && i < filters; ++i)
          copy_stretch(buffer + i * panel + at - q, n, to + i * t.out_filter, t.out_col);
        at = end;
      }
    }
  }
}

template <class T>
void gradient_of(const TapGradient<T>& t) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), step = std::min(2 * lanes, kTapPanel),
                count = t.rows * t.cols;
  if (is_narrow(t, lanes)) return narrow_gradient(t);
  for (int64_t f = 0; f < t.filters; f += step) {
    const int64_t cols = std::min(step, t.filters - f), vectors = (cols + lanes - 1) / lanes,
                  panel = vectors * lanes;
    pack_panel(t.g + f * t.g_filter, int64_t{1}, t.g_filter, count, cols, panel, t.packed);
    Tile<T> tile{t.cols,    t.source,  0,         1,         t.packed, panel,
                 t.sum + f, t.filters, t.sum + f, t.filters, 1,        cols - (vectors - 1) * lanes,
                 false};
    tile.a_at = t.at;
    tile.lines = t.rows;
    tile.a_skip = t.pitch - t.cols;
    if (kMasks || cols == panel)
      run_panel<Walk::TapsOfA>(tile, static_cast<int>(vectors), t.depth);
    else
      run_ragged<Walk::TapsOfA>(tile, static_cast<int>(vectors), t.depth, cols, panel);
  }
}

void plane_f32(const TapSource& s, const float* plane, int64_t row0, float* out) {
  plane_of(s, plane, row0, out);
}
void plane_f64(const TapSource& s, const double* plane, int64_t row0, double* out) {
  plane_of(s, plane, row0, out);
}
void product_f32(const TapProduct<float>& t) { product_of(t); }
void product_f64(const TapProduct<double>& t) { product_of(t); }
void gradient_f32(const TapGradient<float>& t) { gradient_of(t); }
void gradient_f64(const TapGradient<double>& t) { gradient_of(t); }

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(plane_f32);
HWY_EXPORT(plane_f64);
HWY_EXPORT(product_f32);
HWY_EXPORT(product_f64);
HWY_EXPORT(gradient_f32);
HWY_EXPORT(gradient_f64);

void tap_product(const TapProduct<float>& product) { HWY_DYNAMIC_DISPATCH(product_f32)(product); }
void tap_product(const TapProduct<double>& product) { HWY_DYNAMIC_DISPATCH(product_f64)(product); }
void tap_gradient(const TapGradient<float>& gradient) {
  HWY_DYNAMIC_DISPATCH(gradient_f32)(gradient);
}
void tap_gradient(const TapGradient<double>& gradient) {
  HWY_DYNAMIC_DISPATCH(gradient_f64)(gradient);
}
void copy_plane(const TapSource& source, const float* plane, int64_t row0, float* out) {
  HWY_DYNAMIC_DISPATCH(plane_f32)(source, plane, row0, out);
}
void copy_plane(const TapSource& source, const double* plane, int64_t row0, double* out) {
  HWY_DYNAMIC_DISPATCH(plane_f64)(source, plane, row0, out);
}

}  // namespace tenon::cpu
#endif
