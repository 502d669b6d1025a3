// max_pool over rows of f32: as many outputs of a row at once as a vector holds.
#include <algorithm>
#include <limits>

#include "ops/pool.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/pool_max_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The maxima of a row of outputs: those of the rows [begin, end) of a plane, in windows of `kernel` columns.
struct OutputRow {
  const float* x;
  int64_t room;  // elements that are readable from x on
  int64_t width, begin, end, kernel, stride, shift;
  float* values;
  int64_t* indices;
};

// Output o, whose window is clipped or lies at the end of what is readable.
void one_output(const OutputRow& row, int64_t o, const Window& columns) {
  float best = -std::numeric_limits<float>::infinity();
  int64_t best_at = row.begin * row.width + columns.begin;
  for (int64_t y = row.begin; y < row.end; ++y)
    for (int64_t i = columns.begin; i < columns.end; ++i) {
      const float value = row.x[y * row.width + i];
      if (value > best || value != value) best = value, best_at = y * row.width + i;
    }
  row.values[o] = best;
  row.indices[o] = best_at;
}

// Outputs from `first` on whose windows are whole, up to `last`; vector by vector, in registers over all taps. Returns where
// it ended, as vectors would read what is not there.
template <int Stride, class D>
int64_t whole_outputs(D d, const OutputRow& row, int64_t first, int64_t last) {
  const hn::RebindToSigned<D> di;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN float maxima[hn::MaxLanes(d)];
  HWY_ALIGN int32_t places[hn::MaxLanes(d)];
  const auto index = hn::Iota(di, 0);
  const auto steps = Stride == 1 ? index : hn::Add(index, index);
  int64_t o = first;
  for (; o < last; o += lanes) {
    const int64_t left = o * Stride - row.shift, n = std::min(lanes, last - o);
    if ((row.end - 1) * row.width + left + row.kernel - 1 + Stride * lanes > row.room) break;
    auto best = hn::Set(d, -std::numeric_limits<float>::infinity());
    auto best_at = hn::Add(steps, hn::Set(di, static_cast<int32_t>(row.begin * row.width + left)));
    for (int64_t y = row.begin; y < row.end; ++y)
      for (int64_t at = y * row.width + left; at < y * row.width + left + row.kernel; ++at) {
        auto value = best, odd = best;
        if constexpr (Stride == 1)
          value = hn::LoadU(d, row.x + at);
        else
          hn::LoadInterleaved2(d, row.x + at, value, odd);
        const auto wins = hn::Or(hn::Gt(value, best), hn::IsNaN(value));
        best = hn::IfThenElse(wins, value, best);
        best_at = hn::IfThenElse(hn::RebindMask(di, wins),
                                 hn::Add(steps, hn::Set(di, static_cast<int32_t>(at))), best_at);
      }
    hn::Store(best, d, maxima);
    hn::Store(best_at, di, places);
    std::copy_n(maxima, n, row.values + o);
    std::copy_n(places, n, row.indices + o);
  }
  return std::min(o, last);
}

// By vectors no longer than narrow rows need.
int64_t whole_outputs(const OutputRow& row, int64_t first, int64_t last) {
  const auto with = [&](auto d) {
    return row.stride == 1 ? whole_outputs<1>(d, row, first, last)
                           : whole_outputs<2>(d, row, first, last);
  };
  if (last - first <= 4) return with(hn::CappedTag<float, 4>());
  if (last - first <= 8) return with(hn::CappedTag<float, 8>());
  return with(hn::ScalableTag<float>());
}

void max_rows(const Pooling& pool, int64_t stride, int64_t shift, const float* x, int64_t room,
              float* values, int64_t* indices) {
  const std::vector<Window>& columns = pool.windows[2];
  const int64_t width = pool.in[2], out = pool.out[2];
  const Window& middle = columns[static_cast<size_t>(out / 2)];
  const int64_t kernel = middle.end - middle.begin;
  // Outputs whose windows lie inside the row: 0 ≤ o·stride - shift ≤ width - kernel.
  const int64_t first = std::min(out, (shift + stride - 1) / stride);
  const int64_t last =
      std::clamp((width - kernel + shift + stride) / stride, first, out);  // of positive numbers
  for (const Window& rows : pool.windows[1]) {
    const OutputRow row{x,      room,   width, rows.begin, rows.end,
                        kernel, stride, shift, values,     indices};
    for (int64_t o = 0; o < first; ++o) one_output(row, o, columns[static_cast<size_t>(o)]);
    for (int64_t o = whole_outputs(row, first, last); o < out; ++o)
      one_output(row, o, columns[static_cast<size_t>(o)]);
    values += out;
    indices += out;
  }
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(max_rows);

// Of one plane; `room` elements from there on are readable.
void max_plane_rows(const Pooling& pool, int64_t stride, int64_t shift, const float* x,
                    int64_t room, float* values, int64_t* indices) {
  HWY_DYNAMIC_DISPATCH(max_rows)(pool, stride, shift, x, room, values, indices);
}
// Bytes as f32, which holds them all.
template <class T>
void max_plane_rows(const Pooling& pool, int64_t stride, int64_t shift, const T* x, int64_t,
                    T* values, int64_t* indices) {
  std::vector<float> wide(x, x + pool.in_plane()), best(static_cast<size_t>(pool.out_plane()));
  max_plane_rows(pool, stride, shift, wide.data(), pool.in_plane(), best.data(), indices);
  for (size_t o = 0; o < best.size(); ++o) values[o] = static_cast<T>(best[o]);
}

template <class T>
bool max_pool_rows(const Pooling& pool, const T* x, T* values, int64_t* indices) {
  const std::vector<Window>& columns = pool.windows[2];
  const int64_t out = pool.out[2];
  if (pool.in[0] != 1 || pool.out[0] != 1 || pool.dilation[1] != 1 || pool.dilation[2] != 1 ||
      out < 4 || pool.in_plane() > INT32_MAX / 2)
    return false;
  // An inner window is whole: it gives stride, kernel and shift, which the others must share.
  const int64_t middle = out / 2;
  const auto at = [&](int64_t o) { return columns[static_cast<size_t>(o)]; };
  const int64_t stride = at(middle).begin - at(middle - 1).begin,
                kernel = at(middle).end - at(middle).begin;
  const int64_t shift = middle * stride - at(middle).begin;
  if (stride < 1 || stride > 2) return false;
  for (int64_t o = 0; o < out; ++o)
    if (at(o).begin != std::max<int64_t>(0, o * stride - shift) ||
        at(o).end != std::min(pool.in[2], o * stride - shift + kernel))
      return false;
  const int64_t in = pool.in_plane(), all = pool.planes * in;
  for_planes(pool, in + pool.out_plane(), [&](int64_t plane) {
    max_plane_rows(pool, stride, shift, x + plane * in, all - plane * in,
                   values + plane * pool.out_plane(), indices + plane * pool.out_plane());
  });
  return true;
}
template bool max_pool_rows(const Pooling&, const float*, float*, int64_t*);
template bool max_pool_rows(const Pooling&, const uint8_t*, uint8_t*, int64_t*);
template bool max_pool_rows(const Pooling&, const int8_t*, int8_t*, int64_t*);

}  // namespace tenon::cpu
#endif
