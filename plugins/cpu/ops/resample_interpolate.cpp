// interpolate and interpolate_backward: rows are mixed into one line first, then the
// line is resampled.
#include <algorithm>
#include <type_traits>

#include "dispatch.hpp"
#include "kernels.hpp"
#include "ops/resample.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

namespace tenon::cpu {
namespace {

struct Resampling {
  int64_t planes = 1;
  std::array<int64_t, 3> in{1, 1, 1}, out{1, 1, 1};
  std::array<Taps, 3> taps;

  int64_t in_plane() const { return in[0] * in[1] * in[2]; }
  int64_t out_plane() const { return out[0] * out[1] * out[2]; }
};

Resampling resampling(const tn_view& small, const tn_view& large, std::string_view mode,
                      bool align_corners) {
  Resampling r;
  r.planes = small.shape[0] * small.shape[1];
  const uint32_t lead = 5 - small.ndim;
  for (uint32_t d = 0; d < 3; ++d) {
    if (d >= lead) r.in[d] = small.shape[2 + d - lead], r.out[d] = large.shape[2 + d - lead];
    r.taps[d] = d >= lead ? resample_taps(r.in[d], r.out[d], mode, align_corners)
                          : resample_taps(1, 1, "nearest", false);
  }
  return r;
}

// visit(input line, weight) for each line that output line (z, y) mixes.
template <class Visit>
void for_lines(const Resampling& r, int64_t z, int64_t y, Visit&& visit) {
  const Taps &tz = r.taps[0], &ty = r.taps[1];
  for (int64_t a = z * tz.count; a < (z + 1) * tz.count; ++a)
    for (int64_t b = y * ty.count; b < (y + 1) * ty.count; ++b)
      visit((tz.at[static_cast<size_t>(a)] * r.in[1] + ty.at[static_cast<size_t>(b)]) * r.in[2],
            tz.weight[static_cast<size_t>(a)] * ty.weight[static_cast<size_t>(b)]);
}

// What each place of the larger line mixes of the smaller one, `count` of each, as narrow as the sums allow.
template <class C>
struct LineTaps {
  explicit LineTaps(const Taps& taps)
      : count(taps.count),
        at(taps.at.begin(), taps.at.end()),
        weight(taps.weight.begin(), taps.weight.end()) {}
  int64_t count;
  std::vector<int32_t> at;
  std::vector<C> weight;
};

template <int64_t Count, class T, class C>
void resample_line(const LineTaps<C>& taps, const C* line, T* out, int64_t n) {
  const int32_t* at = taps.at.data();
  const C* weight = taps.weight.data();
  for (int64_t o = 0; o < n; ++o, at += Count, weight += Count) {
    C sum = weight[0] * line[at[0]];
    for (int64_t k = 1; k < Count; ++k) sum += weight[k] * line[at[k]];
    out[o] = static_cast<T>(sum);
  }
}
// Adds a line's gradient to that of what it was mixed from.
template <int64_t Count, class T, class C>
void spread_line(const LineTaps<C>& taps, const T* g, C* line, int64_t n) {
  const int32_t* at = taps.at.data();
  const C* weight = taps.weight.data();
  if constexpr (Count == 1) {  // neighbours read the same place: their sum waits for no memory
    for (int64_t o = 0; o < n;) {
      const int32_t place = at[o];
      C sum = 0;
      for (; o < n && at[o] == place; ++o) sum += weight[o] * static_cast<C>(g[o]);
      line[place] += sum;
    }
    return;
  }
  for (int64_t o = 0; o < n; ++o, at += Count, weight += Count)
    for (int64_t k = 0; k < Count; ++k) line[at[k]] += weight[k] * static_cast<C>(g[o]);
}
// use(std::integral_constant) of 1, 2 or 4 taps.
template <class Use>
void with_count(int64_t count, Use&& use) {
  if (count == 1) return use(std::integral_constant<int64_t, 1>());
  if (count == 2) return use(std::integral_constant<int64_t, 2>());
  use(std::integral_constant<int64_t, 4>());
}

template <class T, class C>
void forward_plane(const Resampling& r, const LineTaps<C>& taps, const T* x, T* out, C* line) {
  for (int64_t z = 0; z < r.out[0]; ++z)
    for (int64_t y = 0; y < r.out[1]; ++y, out += r.out[2]) {
      bool first = true;
      for_lines(r, z, y, [&](int64_t at, double weight) {
        const C w = static_cast<C>(weight);
        if (first)
          for (int64_t i = 0; i < r.in[2]; ++i) line[i] = w * static_cast<C>(x[at + i]);
        else
          for (int64_t i = 0; i < r.in[2]; ++i) line[i] += w * static_cast<C>(x[at + i]);
        first = false;
      });
      with_count(taps.count,
                 [&](auto count) { resample_line<count()>(taps, line, out, r.out[2]); });
    }
}

// gx must be zero.
template <class T, class C>
void backward_plane(const Resampling& r, const LineTaps<C>& taps, const T* g, C* gx, C* line) {
  for (int64_t z = 0; z < r.out[0]; ++z)
    for (int64_t y = 0; y < r.out[1]; ++y, g += r.out[2]) {
      std::fill(line, line + r.in[2], C(0));
      with_count(taps.count, [&](auto count) { spread_line<count()>(taps, g, line, r.out[2]); });
      for_lines(r, z, y, [&](int64_t at, double weight) {
        const C w = static_cast<C>(weight);
        for (int64_t i = 0; i < r.in[2]; ++i) gx[at + i] += w * line[i];
      });
    }
}
// The same where there are more lines of g than of gx, which are summed first, as vectors: `lines` has room for a line of g for each of gx.
template <class T, class C>
void backward_lines(const Resampling& r, const LineTaps<C>& taps, const T* g, C* gx, C* lines) {
  const int64_t wide = r.out[2], count = r.in[0] * r.in[1];
  std::fill(lines, lines + count * wide, C(0));
  for (int64_t z = 0; z < r.out[0]; ++z)
    for (int64_t y = 0; y < r.out[1]; ++y, g += wide)
      for_lines(r, z, y, [&](int64_t at, double weight) {
        const C w = static_cast<C>(weight);
        C* const to = lines + at / r.in[2] * wide;
        for (int64_t o = 0; o < wide; ++o) to[o] += w * static_cast<C>(g[o]);
      });
  for (int64_t i = 0; i < count; ++i)
    with_count(taps.count, [&](auto taps_of_place) {
      spread_line<taps_of_place()>(taps, lines + i * wide, gx + i * r.in[2], wide);
    });
}

int64_t grain(const Resampling& r) {
  return std::max<int64_t>(1, kGrainMath / std::max<int64_t>(1, r.in_plane() + r.out_plane()));
}

void interpolate(const tn_call& call) {
  using arg = tenon::arg::interpolate;
  const tn_view &x = input(call, arg::x), &out = output(call);
  if (numel(out) == 0) return;
  const Resampling r =
      resampling(x, out, text_arg(call, arg::mode), call.args[arg::align_corners].as.i != 0);
  visit_dtype<TN_MASK_FLOAT>(x.dtype, [&]<class T>(Tag<T>) {
    const LineTaps<Compute<T>> taps(r.taps[2]);
    parallel_for(r.planes, grain(r), [&](int64_t begin, int64_t end) {
      std::vector<Compute<T>> line(static_cast<size_t>(r.in[2]));
      for (int64_t plane = begin; plane < end; ++plane)
        forward_plane(r, taps, data_of<const T>(x) + plane * r.in_plane(),
                      data_of<T>(out) + plane * r.out_plane(), line.data());
    });
  });
}

void interpolate_backward(const tn_call& call) {
  using arg = tenon::arg::interpolate_backward;
  const tn_view &g = input(call, arg::g), &gx = output(call);
  if (numel(gx) == 0) return;
  const Resampling r =
      resampling(gx, g, text_arg(call, arg::mode), call.args[arg::align_corners].as.i != 0);
  visit_dtype<TN_MASK_FLOAT>(g.dtype, [&]<class T>(Tag<T>) {
    using C = Compute<T>;
    const LineTaps<C> taps(r.taps[2]);
    parallel_for(r.planes, grain(r), [&](int64_t begin, int64_t end) {
      const bool fewer = r.in[0] * r.in[1] < r.out[0] * r.out[1];
      const size_t in = static_cast<size_t>(r.in_plane()),
                   room = static_cast<size_t>(fewer ? r.in[0] * r.in[1] * r.out[2] : r.in[2]);
      std::vector<C> lines(room), sums(in);
      for (int64_t plane = begin; plane < end; ++plane) {
        std::fill(sums.begin(), sums.end(), C(0));
        const T* const from = data_of<const T>(g) + plane * r.out_plane();
        fewer ? backward_lines(r, taps, from, sums.data(), lines.data())
              : backward_plane(r, taps, from, sums.data(), lines.data());
        std::copy(sums.begin(), sums.end(), data_of<T>(gx) + plane * r.in_plane());
      }
    });
  });
}

}  // namespace

void add_resample_interpolate_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_INTERPOLATE, .dtypes = TN_MASK_FLOAT, .run = run_of<interpolate>});
  list.add({.schema = TN_SCHEMA_INTERPOLATE_BACKWARD,
            .dtypes = TN_MASK_FLOAT,
            .run = run_of<interpolate_backward>});
}

}  // namespace tenon::cpu
