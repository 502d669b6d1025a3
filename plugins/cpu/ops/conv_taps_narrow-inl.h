// The gradient of a few filters' weights, as of a depthwise convolution: vectors hold places of the image, since filters would leave most
// of their lanes empty. Included once for each instruction set.
#if defined(TENON_CPU_CONV_TAPS_NARROW_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CPU_CONV_TAPS_NARROW_TOGGLE
#undef TENON_CPU_CONV_TAPS_NARROW_TOGGLE
#else
#define TENON_CPU_CONV_TAPS_NARROW_TOGGLE
#endif

#include <algorithm>

#include "ops/conv_taps.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Most taps whose sums stay in registers, for one filter and for two.
constexpr int64_t most_taps(int filters) { return filters == 1 ? 10 : 6; }

// As the source lies: lines of g run on at its pitch. What lies between them is no place, so it is masked off, not multiplied by zero.
template <class T>
struct NarrowLines {
  int64_t length;  // of whole vectors
  const T* kept;   // 1 at a place, 0 between
  const T* g;      // of each filter
};

template <class T>
NarrowLines<T> narrow_lines(const TapGradient<T>& t, int64_t lanes) {
  const int64_t length = (t.rows * t.pitch + lanes - 1) / lanes * lanes;
  std::fill_n(t.packed, (t.filters + 1) * length, T(0));
  for (int64_t y = 0; y < t.rows; ++y) {
    std::fill_n(t.packed + y * t.pitch, t.cols, T(1));
    for (int64_t f = 0; f < t.filters; ++f)
      std::copy_n(t.g + f * t.g_filter + y * t.cols, t.cols,
                  t.packed + (f + 1) * length + y * t.pitch);
  }
  return {length, t.packed, t.packed + length};
}

// R taps from `p` on and F filters from `f` on.
template <int F, int R, class T>
HWY_NOINLINE void narrow_sums(const TapGradient<T>& t, const NarrowLines<T>& lines, int64_t p,
                              int64_t f) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  V sum[R][F];
#pragma GCC unroll 10
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int i = 0; i < F; ++i) sum[r][i] = hn::Zero(d);
  const T* from[R];
#pragma GCC unroll 10
  for (int r = 0; r < R; ++r) from[r] = t.source + t.at[p + r];
  const T* const g = lines.g + f * lines.length;
  for (int64_t q = 0; q < lines.length; q += lanes) {
    const auto place = hn::Ne(hn::LoadU(d, lines.kept + q), hn::Zero(d));
    V right[F];
#pragma GCC unroll 2
    for (int i = 0; i < F; ++i) right[i] = hn::LoadU(d, g + i * lines.length + q);
#pragma GCC unroll 10
    for (int r = 0; r < R; ++r) {
      const V left = hn::MaskedLoad(place, d, from[r] + q);
#pragma GCC unroll 2
      for (int i = 0; i < F; ++i) sum[r][i] = hn::MulAdd(left, right[i], sum[r][i]);
    }
  }
#pragma GCC unroll 10
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int i = 0; i < F; ++i)
      t.sum[(p + r) * t.filters + f + i] += hn::GetLane(hn::SumOfLanes(d, sum[r][i]));
}

// `count` taps, which are R or fewer.
template <int F, int R, class T>
void narrow_some(const TapGradient<T>& t, const NarrowLines<T>& lines, int64_t p, int64_t count,
                 int64_t f) {
  if constexpr (R > 1)
    if (count < R) return narrow_some<F, R - 1>(t, lines, p, count, f);
  narrow_sums<F, R>(t, lines, p, f);
}

// In shares of equal size, as few taps at once would wait for each sum.
template <int F, class T>
void narrow_taps(const TapGradient<T>& t, const NarrowLines<T>& lines, int64_t f) {
  constexpr int kMost = most_taps(F);
  const int64_t shares = (t.depth + kMost - 1) / kMost;
  for (int64_t i = 0; i < shares; ++i) {
    const int64_t p = t.depth * i / shares;
    narrow_some<F, kMost>(t, lines, p, t.depth * (i + 1) / shares - p, f);
  }
}

// Kernels much wider than their image would leave most of a line empty.
template <class T>
bool is_narrow(const TapGradient<T>& t, int64_t lanes) {
  return t.filters * 2 <= lanes && t.filters <= kNarrowFilters && t.pitch <= 2 * t.cols;
}

template <class T>
void narrow_gradient(const TapGradient<T>& t) {
  const NarrowLines<T> lines =
      narrow_lines(t, static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>())));
  int64_t f = 0;
  for (; f + 2 <= t.filters; f += 2) narrow_taps<2>(t, lines, f);
  if (f < t.filters) narrow_taps<1>(t, lines, f);
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
