// max_pool and avg_pool over rows: as many outputs of a row at once as a vector of f32 holds.
#include <algorithm>
#include <limits>
#include <optional>

#include "ops/pool.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/pool_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef TENON_CPU_POOL_ROWS
#define TENON_CPU_POOL_ROWS
namespace tenon::cpu {
namespace {
// A plane whose windows have one width and one stride along its rows, but for those that an edge clips.
struct Plane {
  const Pooling& pool;
  int64_t kernel, stride, shift;  // window o begins at o·stride - shift
  const float* x = nullptr;
  int64_t room = 0;                       // elements that are readable from x on
  std::vector<int64_t>* lines = nullptr;  // kept from plane to plane

  Plane of(const float* elements, int64_t readable, std::vector<int64_t>& kept) const {
    return {pool, kernel, stride, shift, elements, readable, &kept};
  }
};
// What one row of outputs reads of it.
struct OutputRow {
  const Plane& plane;
  std::vector<int64_t>& lines;  // where each line of inputs begins
  int64_t begin = 0;            // of its first output
  int64_t first = 0;            // of the first line of inputs
  int64_t size = 0;             // lines that count for averages

  void move(const Window& slices, const Window& rows) {
    const int64_t height = plane.pool.in[1], width = plane.pool.in[2];
    first = (slices.begin * height + rows.begin) * width;
    size = slices.size * rows.size;
    lines.clear();
    for (int64_t z = slices.begin; z < slices.end; ++z)
      for (int64_t y = rows.begin; y < rows.end; ++y) lines.push_back((z * height + y) * width);
  }
};
}  // namespace
}  // namespace tenon::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// The largest value and where it lies.
struct Maximum {
  float* values;
  int64_t* indices;

  void one(const OutputRow& row, int64_t o, const Window& columns) const {
    float best = -std::numeric_limits<float>::infinity();
    int64_t best_at = row.first + columns.begin;
    for (const int64_t line : row.lines)
      for (int64_t at = line + columns.begin; at < line + columns.end; ++at)
        if (const float value = row.plane.x[at]; value > best || value != value)
          best = value, best_at = at;
    values[row.begin + o] = best;
    indices[row.begin + o] = best_at;
  }

  template <class D>
  struct Lanes {
    hn::RebindToSigned<D> di;
    hn::Vec<D> best;
    hn::Vec<hn::RebindToSigned<D>> steps, best_at;

    Lanes(D d, int64_t stride, int64_t at)
        : best(hn::Set(d, -std::numeric_limits<float>::infinity())),
          steps(hn::Mul(hn::Iota(di, 0), hn::Set(di, static_cast<int32_t>(stride)))),
          best_at(hn::Add(steps, hn::Set(di, static_cast<int32_t>(at)))) {}
    HWY_INLINE void take(D, hn::Vec<D> value, int64_t at) {
      const auto wins = hn::Or(hn::Gt(value, best), hn::IsNaN(value));
      best = hn::IfThenElse(wins, value, best);
      best_at = hn::IfThenElse(hn::RebindMask(di, wins),
                               hn::Add(steps, hn::Set(di, static_cast<int32_t>(at))), best_at);
    }
  };
  template <class D>
  void store(D d, const OutputRow& row, const Lanes<D>& lanes, int64_t o, int64_t n) const {
    HWY_ALIGN float maxima[hn::MaxLanes(d)];
    HWY_ALIGN int32_t places[hn::MaxLanes(d)];
    hn::Store(lanes.best, d, maxima);
    hn::Store(lanes.best_at, lanes.di, places);
    constexpr int64_t kWhole = hn::MaxLanes(D());
    if (n == kWhole) {  // a known number is copied by vectors
      std::copy_n(maxima, kWhole, values + row.begin + o);
      std::copy_n(places, kWhole, indices + row.begin + o);
    } else {
      std::copy_n(maxima, n, values + row.begin + o);
      std::copy_n(places, n, indices + row.begin + o);
    }
  }
};

struct Average {
  float* values;

  void one(const OutputRow& row, int64_t o, const Window& columns) const {
    float sum = 0;
    for (const int64_t line : row.lines)
      for (int64_t at = line + columns.begin; at < line + columns.end; ++at) sum += row.plane.x[at];
    values[row.begin + o] = sum / static_cast<float>(row.size * columns.size);
  }

  template <class D>
  struct Lanes {
    hn::Vec<D> sum;
    Lanes(D d, int64_t, int64_t) : sum(hn::Zero(d)) {}
    HWY_INLINE void take(D, hn::Vec<D> value, int64_t) { sum = hn::Add(sum, value); }
  };
  template <class D>
  void store(D d, const OutputRow& row, const Lanes<D>& lanes, int64_t o, int64_t n) const {
    const auto count = hn::Set(d, static_cast<float>(row.size * row.plane.kernel));
    HWY_ALIGN float averages[hn::MaxLanes(d)];
    hn::Store(hn::Div(lanes.sum, count), d, averages);
    std::copy_n(averages, n, values + row.begin + o);
  }
};

// x[0], x[Stride], x[2·Stride], …
template <int Stride, class D>
HWY_INLINE hn::Vec<D> each_of(D d, const float* x) {
  if constexpr (Stride == 1) return hn::LoadU(d, x);
  hn::Vec<D> value, a, b, c;
  if constexpr (Stride == 2) hn::LoadInterleaved2(d, x, value, a);
  if constexpr (Stride == 3) hn::LoadInterleaved3(d, x, value, a, b);
  if constexpr (Stride == 4) hn::LoadInterleaved4(d, x, value, a, b, c);
  return value;
}

// Outputs from `first` on whose windows are whole, up to `last`; vector by vector, in registers over all taps. Returns where
// it ended, as vectors would read what is not there.
template <int Stride, class Fold, class D>
int64_t whole_outputs(D d, const OutputRow& row, const Fold& fold, int64_t first, int64_t last) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), kernel = row.plane.kernel;
  int64_t o = first;
  for (; o < last; o += lanes) {
    const int64_t left = o * Stride - row.plane.shift;
    if (row.lines.back() + left + kernel - 1 + Stride * lanes > row.plane.room) break;
    typename Fold::template Lanes<D> sums(d, Stride, row.first + left);
    for (const int64_t line : row.lines)
      for (int64_t at = line + left; at < line + left + kernel; ++at) {
        sums.take(d, each_of<Stride>(d, row.plane.x + at), at);
      }
    fold.store(d, row, sums, o, std::min(lanes, last - o));
  }
  return std::min(o, last);
}

// By vectors no longer than narrow rows need.
template <class Fold>
int64_t whole_outputs(const OutputRow& row, const Fold& fold, int64_t first, int64_t last) {
  const auto with = [&](auto d) {
    switch (row.plane.stride) {
      case 1:
        return whole_outputs<1>(d, row, fold, first, last);
      case 2:
        return whole_outputs<2>(d, row, fold, first, last);
      case 3:
        return whole_outputs<3>(d, row, fold, first, last);
      default:
        return whole_outputs<4>(d, row, fold, first, last);
    }
  };
  if (last - first <= 4) return with(hn::CappedTag<float, 4>());
  if (last - first <= 8) return with(hn::CappedTag<float, 8>());
  return with(hn::ScalableTag<float>());
}

template <class Fold>
void fold_rows(const Plane& plane, const Fold& fold) {
  const Pooling& pool = plane.pool;
  const std::vector<Window>& columns = pool.windows[2];
  const int64_t width = pool.in[2], out = pool.out[2], stride = plane.stride;
  // Outputs whose windows lie inside the row: 0 ≤ o·stride - shift ≤ width - kernel.
  const int64_t first = std::min(out, (plane.shift + stride - 1) / stride);
  const int64_t last = std::clamp((width - plane.kernel + plane.shift + stride) / stride, first,
                                  out);  // of positive numbers
  OutputRow row{plane, *plane.lines};
  for (const Window& slices : pool.windows[0])
    for (const Window& rows : pool.windows[1]) {
      row.move(slices, rows);
      for (int64_t o = 0; o < first; ++o) fold.one(row, o, columns[static_cast<size_t>(o)]);
      for (int64_t o = row.lines.empty() ? first : whole_outputs(row, fold, first, last); o < out;
           ++o)
        fold.one(row, o, columns[static_cast<size_t>(o)]);
      row.begin += out;
    }
}

}  // namespace

void max_rows(const Plane& plane, float* values, int64_t* indices) {
  fold_rows(plane, Maximum{values, indices});
}
void average_rows(const Plane& plane, float* values) { fold_rows(plane, Average{values}); }

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
namespace {
HWY_EXPORT(max_rows);
HWY_EXPORT(average_rows);

// An inner window is whole: it gives stride, width and shift, which the others must share.
std::optional<Plane> even_plane(const Pooling& pool) {
  const std::vector<Window>& columns = pool.windows[2];
  const int64_t out = pool.out[2], middle = out / 2;
  if (pool.dilation != PoolGeometry::Three{1, 1, 1} || out < 4 || pool.in_plane() > INT32_MAX / 2)
    return std::nullopt;
  const auto at = [&](int64_t o) { return columns[static_cast<size_t>(o)]; };
  const int64_t stride = at(middle).begin - at(middle - 1).begin,
                kernel = at(middle).end - at(middle).begin;
  const int64_t shift = middle * stride - at(middle).begin;
  if (stride < 1 || stride > 4) return std::nullopt;
  for (int64_t o = 0; o < out; ++o)
    if (at(o).begin != std::max<int64_t>(0, o * stride - shift) ||
        at(o).end != std::min(pool.in[2], o * stride - shift + kernel))
      return std::nullopt;
  return Plane{pool, kernel, stride, shift};
}

// visit(plane without elements, its number, lines to keep)
template <class Visit>
bool each_even_plane(const Pooling& pool, Visit visit) {
  const std::optional<Plane> even = even_plane(pool);
  if (!even) return false;
  for_ranges_of_planes(pool, pool.in_plane() + pool.out_plane(), [&](int64_t begin, int64_t end) {
    std::vector<int64_t> lines;
    for (int64_t number = begin; number < end; ++number) visit(*even, number, lines);
  });
  return true;
}

// The plane of that number, where all planes lie.
Plane plane_in(const Plane& even, const float* x, int64_t number, std::vector<int64_t>& lines) {
  const int64_t in = even.pool.in_plane();
  return even.of(x + number * in, (even.pool.planes - number) * in, lines);
}
}  // namespace

bool max_pool_rows(const Pooling& pool, const float* x, float* values, int64_t* indices) {
  const int64_t out = pool.out_plane();
  return each_even_plane(pool, [&](const Plane& even, int64_t number, auto& lines) {
    HWY_DYNAMIC_DISPATCH(max_rows)
    (plane_in(even, x, number, lines), values + number * out, indices + number * out);
  });
}

bool avg_pool_rows(const Pooling& pool, const float* x, float* values) {
  const int64_t out = pool.out_plane();
  return each_even_plane(pool, [&](const Plane& even, int64_t number, auto& lines) {
    HWY_DYNAMIC_DISPATCH(average_rows)(plane_in(even, x, number, lines), values + number * out);
  });
}

// Bytes as f32, which holds them all.
template <class T>
bool max_pool_rows(const Pooling& pool, const T* x, T* values, int64_t* indices) {
  const int64_t in = pool.in_plane(), out = pool.out_plane();
  return each_even_plane(pool, [&](const Plane& even, int64_t number, auto& lines) {
    const std::vector<float> wide(x + number * in, x + (number + 1) * in);
    std::vector<float> best(static_cast<size_t>(out));
    HWY_DYNAMIC_DISPATCH(max_rows)
    (even.of(wide.data(), in, lines), best.data(), indices + number * out);
    for (size_t o = 0; o < best.size(); ++o)
      values[number * out + static_cast<int64_t>(o)] = static_cast<T>(best[o]);
  });
}
template bool max_pool_rows(const Pooling&, const uint8_t*, uint8_t*, int64_t*);
template bool max_pool_rows(const Pooling&, const int8_t*, int8_t*, int64_t*);

}  // namespace tenon::cpu
#endif
