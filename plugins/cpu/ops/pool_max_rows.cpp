// max_pool over rows of f32: all outputs of a row at once, one tap after the other.
#include <limits>

#include "ops/pool.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/pool_max_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// One tap of outputs whose inputs lie `Stride` apart; columns where the tap falls outside are left
// alone. `best` and `best_at` are readable and writable a vector beyond n; `room` elements of the
// input are readable.
template <int Stride>
void tap_row(const float* line, int64_t room, int32_t at, int64_t n, float* best,
             int32_t* best_at) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t o = 0;
  for (; o < n && Stride * (o + lanes) <= room; o += lanes) {
    auto value = hn::Zero(d);
    if constexpr (Stride == 1) {
      value = hn::LoadU(d, line + o);
    } else {
      auto odd = value;
      hn::LoadInterleaved2(d, line + 2 * o, value, odd);
    }
    const auto old = hn::LoadU(d, best + o);
    auto wins = hn::Or(hn::Gt(value, old), hn::IsNaN(value));
    if (o + lanes > n) wins = hn::And(wins, hn::FirstN(d, static_cast<size_t>(n - o)));
    const auto index = hn::Iota(di, at + static_cast<int32_t>(o) * Stride);
    const auto places = Stride == 1 ? index : hn::Add(index, hn::Iota(di, 0));
    hn::StoreU(hn::IfThenElse(wins, value, old), d, best + o);
    hn::StoreU(hn::IfThenElse(hn::RebindMask(di, wins), places, hn::LoadU(di, best_at + o)), di,
               best_at + o);
  }
  for (; o < n; ++o) {
    const float value = line[o * Stride];
    if (value > best[o] || value != value)
      best[o] = value, best_at[o] = at + static_cast<int32_t>(o) * Stride;
  }
}

void widen_row(const int32_t* from, int64_t n, int64_t* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = from[i];
}

void max_rows(const Pooling& pool, int64_t stride, int64_t shift, const float* x, int64_t room,
              float* values, int64_t* indices) {
  const int64_t width = pool.in[2], out = pool.out[2];
  const int64_t kernel = pool.windows[2][static_cast<size_t>(out / 2)].end -
                         pool.windows[2][static_cast<size_t>(out / 2)].begin;
  std::vector<float> best(static_cast<size_t>(out) + hn::MaxLanes(hn::ScalableTag<float>()));
  std::vector<int32_t> best_at(best.size());
  for (const Window& rows : pool.windows[1]) {
    for (int64_t o = 0; o < out; ++o) {
      best[static_cast<size_t>(o)] = -std::numeric_limits<float>::infinity();
      best_at[static_cast<size_t>(o)] =
          static_cast<int32_t>(rows.begin * width + pool.windows[2][static_cast<size_t>(o)].begin);
    }
    for (int64_t y = rows.begin; y < rows.end; ++y)
      for (int64_t k = 0; k < kernel; ++k) {
        // Outputs whose tap k lies inside the row: 0 ≤ o·stride + k - shift < width.
        const int64_t first = k >= shift ? 0 : (shift - k + stride - 1) / stride;
        const int64_t last = std::min(out, (width - k + shift + stride - 1) / stride);
        if (first >= last) continue;
        const int64_t at = y * width + first * stride + k - shift;
        if (stride == 1)
          tap_row<1>(x + at, room - at, static_cast<int32_t>(at), last - first, best.data() + first,
                     best_at.data() + first);
        else
          tap_row<2>(x + at, room - at, static_cast<int32_t>(at), last - first, best.data() + first,
                     best_at.data() + first);
      }
    std::copy_n(best.data(), out, values);
    widen_row(best_at.data(), out, indices);
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
