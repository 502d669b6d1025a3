// Pools of wide windows, such as the bins of adaptive pools: vectors along the lines of a window.
#include <limits>

#include "ops/pool.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/pool_wide.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

// visit(where it begins in the plane, its length) for each line of a window; lines without a gap are one.
template <class Visit>
HWY_INLINE void for_lines(const Pooling& pool, const Window& z, const Window& y, const Window& x,
                          Visit&& visit) {
  const int64_t height = pool.in[1], width = pool.in[2], rows = y.end - y.begin,
                slices = z.end - z.begin, cols = x.end - x.begin;
  const int64_t first = (z.begin * height + y.begin) * width + x.begin;
  if (cols < width) {
    for (int64_t s = 0; s < slices; ++s)
      for (int64_t r = 0; r < rows; ++r) visit(first + (s * height + r) * width, cols);
  } else if (rows < height) {
    for (int64_t s = 0; s < slices; ++s) visit(first + s * height * width, rows * width);
  } else {
    visit(first, slices * height * width);
  }
}

// Sums in the lanes, which are added at the end.
template <class D>
void average_plane(D d, const Pooling& pool, const float* x, float* values) {
  const auto add = [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); };
  for_outputs(pool, [&](int64_t p, const Window& wz, const Window& wy, const Window& wx) HWY_ATTR {
    auto sums = hn::Zero(d);
    for_lines(pool, wz, wy, wx, [&](int64_t at, int64_t n) HWY_ATTR {
      sums = hn::Add(sums, fold(d, x + at, static_cast<size_t>(n), hn::Zero(d), 0, add, add));
    });
    const int64_t count = std::max<int64_t>(1, wz.size * wy.size * wx.size);
    values[p] = hn::GetLane(hn::SumOfLanes(d, sums)) / static_cast<float>(count);
  });
}

// In each lane the largest value and where it lies: of equal ones the first, a NaN above all and of these the last.
template <class D>
struct Best {
  D d;
  hn::RebindToSigned<D> di;
  hn::Vec<D> value;
  hn::Vec<hn::RebindToSigned<D>> place;

  explicit Best(int64_t first)
      : value(hn::Set(d, -std::numeric_limits<float>::infinity())),
        place(hn::Set(di, static_cast<int32_t>(first))) {}

  HWY_INLINE void take(hn::Vec<D> v, int64_t at) {
    const auto wins = hn::Or(hn::Gt(v, value), hn::IsNaN(v));
    value = hn::IfThenElse(wins, v, value);
    place = hn::IfThenElse(hn::RebindMask(di, wins),
                           hn::Add(hn::Iota(di, 0), hn::Set(di, static_cast<int32_t>(at))), place);
  }
  HWY_INLINE void take_line(const float* x, int64_t at, int64_t n) {
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) take(hn::LoadU(d, x + at + i), at + i);
    if (i < n)
      take(load_first(d, x + at + i, static_cast<size_t>(n - i),
                      -std::numeric_limits<float>::infinity()),
           at + i);
  }
  // Of all lanes.
  HWY_INLINE void store(float* best, int64_t* best_at) const {
    const auto nans = hn::IsNaN(value);
    if (hn::AllFalse(d, nans)) {
      const auto most = hn::MaxOfLanes(d, value);
      const auto at = hn::IfThenElse(hn::RebindMask(di, hn::Eq(value, most)), place,
                                     hn::Set(di, std::numeric_limits<int32_t>::max()));
      *best = hn::GetLane(most);
      *best_at = hn::GetLane(hn::MinOfLanes(di, at));
    } else {
      *best = std::numeric_limits<float>::quiet_NaN();
      *best_at =
          hn::GetLane(hn::MaxOfLanes(di, hn::IfThenElseZero(hn::RebindMask(di, nans), place)));
    }
  }
};

template <class D>
void max_plane(D, const Pooling& pool, const float* x, float* values, int64_t* indices) {
  for_outputs(pool, [&](int64_t p, const Window& wz, const Window& wy, const Window& wx) HWY_ATTR {
    Best<D> best((wz.begin * pool.in[1] + wy.begin) * pool.in[2] + wx.begin);
    for_lines(pool, wz, wy, wx, [&](int64_t at, int64_t n) HWY_ATTR { best.take_line(x, at, n); });
    best.store(values + p, indices + p);
  });
}

// visit(tag) with vectors no longer than a line: short ones are joined sooner.
template <class Visit>
void with_lanes(int64_t line, Visit&& visit) {
  if (line <= 4) return visit(hn::CappedTag<float, 4>());
  if (line <= 8) return visit(hn::CappedTag<float, 8>());
  visit(hn::ScalableTag<float>());
}

}  // namespace
void average_planes(const Pooling& pool, int64_t line, const float* x, float* values) {
  with_lanes(line, [&](auto d) { average_plane(d, pool, x, values); });
}
void max_planes(const Pooling& pool, int64_t line, const float* x, float* values,
                int64_t* indices) {
  with_lanes(line, [&](auto d) { max_plane(d, pool, x, values, indices); });
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
namespace {
HWY_EXPORT(average_planes);
HWY_EXPORT(max_planes);

// How long the lines of windows are; 0 where they are too short or too few to be worth the joining of lanes.
int64_t wide_line(const Pooling& pool) {
  if (pool.dilation != PoolGeometry::Three{1, 1, 1} || pool.in_plane() == 0 ||
      pool.in_plane() > INT32_MAX / 2 || pool.out_plane() == 0)
    return 0;
  PoolGeometry::Three sizes;  // of a window in the middle
  for (size_t d = 0; d < 3; ++d) {
    const Window& middle = pool.windows[d][pool.windows[d].size() / 2];
    sizes[d] = middle.end - middle.begin;
  }
  const int64_t line = sizes[2] * (sizes[2] == pool.in[2] ? sizes[1] : 1);
  return line >= 4 && sizes[0] * sizes[1] * sizes[2] >= 16 ? line : 0;
}
}  // namespace

bool max_pool_wide(const Pooling& pool, const float* x, float* values, int64_t* indices) {
  const int64_t in = pool.in_plane(), out = pool.out_plane(), line = wide_line(pool);
  if (line == 0) return false;
  for_planes(pool, in + out, [&](int64_t plane) {
    HWY_DYNAMIC_DISPATCH(max_planes)
    (pool, line, x + plane * in, values + plane * out, indices + plane * out);
  });
  return true;
}

bool avg_pool_wide(const Pooling& pool, const float* x, float* values) {
  const int64_t in = pool.in_plane(), out = pool.out_plane(), line = wide_line(pool);
  if (line == 0) return false;
  for_planes(pool, in + out, [&](int64_t plane) {
    HWY_DYNAMIC_DISPATCH(average_planes)(pool, line, x + plane * in, values + plane * out);
  });
  return true;
}

}  // namespace tenon::cpu
#endif
