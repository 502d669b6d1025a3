// avg_pool, adaptive_avg_pool and their backward ops.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "dispatch.hpp"
#include "ops/pool.hpp"
#include "tenon/schemas.h"

namespace tenon::cpu {
namespace {

int64_t divisor(const Window& z, const Window& y, const Window& x) {
  return std::max<int64_t>(1, z.size * y.size * x.size);
}

// Many sums at once, so that long lines do not wait for each addition.
template <class T>
Compute<T> sum_line(const T* line, int64_t n) {
  using C = Compute<T>;
  constexpr int64_t kParts = 32;
  C parts[kParts] = {};
  int64_t i = 0;
  for (; i + kParts <= n; i += kParts)
    for (int64_t k = 0; k < kParts; ++k) parts[k] += static_cast<C>(line[i + k]);
  C sum = 0;
  for (; i < n; ++i) sum += static_cast<C>(line[i]);
  for (const C part : parts) sum += part;
  return sum;
}

template <class T>
void average_plane(const Pooling& pool, const T* x, T* out) {
  using C = Compute<T>;
  for_outputs(pool, [&](int64_t p, const Window& wz, const Window& wy, const Window& wx) {
    C sum = 0;
    const bool whole_rows = wx.begin == 0 && wx.end == pool.in[2];
    for (int64_t z = wz.begin; z < wz.end; ++z)
      for (int64_t y = wy.begin; y < wy.end; ++y) {
        const T* line = x + (z * pool.in[1] + y) * pool.in[2];
        if (whole_rows) {
          sum += sum_line(line, (wy.end - wy.begin) * pool.in[2]);
          break;
        }
        if (wx.end - wx.begin >= 16)
          sum += sum_line(line + wx.begin, wx.end - wx.begin);
        else
          for (int64_t i = wx.begin; i < wx.end; ++i) sum += static_cast<C>(line[i]);
      }
    out[p] = static_cast<T>(sum / static_cast<C>(divisor(wz, wy, wx)));
  });
}

template <class C>
void add_to(C* to, const C* from, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] += from[i];
}

// gx must be zero. Shares along one line are added to all lines of a window, lines of one slice to all its slices.
template <class T, class C>
void spread_plane(const Pooling& pool, const T* g, C* gx) {
  const int64_t width = pool.in[2], area = pool.in[1] * width;
  const bool flat = pool.in[0] == 1 && pool.out[0] == 1;
  std::vector<C> shares(static_cast<size_t>(width + (flat ? 0 : area)));
  C* const line = shares.data();
  C* const slice = flat ? gx : line + width;
  for (const Window& wz : pool.windows[0]) {
    if (!flat) std::fill_n(slice, area, C(0));
    for (const Window& wy : pool.windows[1]) {
      std::fill_n(line, width, C(0));
      for (const Window& wx : pool.windows[2]) {
        const C share = static_cast<C>(*g++) / static_cast<C>(divisor(wz, wy, wx));
        for (int64_t i = wx.begin; i < wx.end; ++i) line[i] += share;
      }
      for (int64_t y = wy.begin; y < wy.end; ++y) add_to(slice + y * width, line, width);
    }
    for (int64_t z = wz.begin; z < wz.end && !flat; ++z) add_to(gx + z * area, slice, area);
  }
}

void run_forward(const tn_call& call, const Pooling& pool) {
  visit_dtype<TN_MASK_FLOAT>(input(call, arg::avg_pool::x).dtype, [&]<class T>(Tag<T>) {
    const T* x = data_of<const T>(input(call, arg::avg_pool::x));
    T* out = data_of<T>(output(call));
    if constexpr (std::is_same_v<T, float>)
      if (avg_pool_rows(pool, x, out) || avg_pool_wide(pool, x, out)) return;
    for_planes(pool, pool.in_plane() + pool.out_plane(), [&](int64_t plane) {
      average_plane(pool, x + plane * pool.in_plane(), out + plane * pool.out_plane());
    });
  });
}

void run_backward(const tn_call& call, const Pooling& pool) {
  visit_dtype<TN_MASK_FLOAT>(input(call, arg::avg_pool_backward::g).dtype, [&]<class T>(Tag<T>) {
    const T* g = data_of<const T>(input(call, arg::avg_pool_backward::g));
    T* gx = data_of<T>(output(call));
    const int64_t in = pool.in_plane();
    for_planes(pool, in + pool.out_plane(), [&](int64_t plane) {
      T* to = gx + plane * in;
      if constexpr (is_half_v<T>) {
        std::vector<float> sums(static_cast<size_t>(in));
        spread_plane(pool, g + plane * pool.out_plane(), sums.data());
        std::copy(sums.begin(), sums.end(), to);
      } else {
        std::fill(to, to + in, T(0));
        spread_plane(pool, g + plane * pool.out_plane(), to);
      }
    });
  });
}

template <PoolOp kOp>
void average(const tn_call& call) {
  const Pooling pool(call, kOp);
  pool.backward ? run_backward(call, pool) : run_forward(call, pool);
}

}  // namespace

void add_pool_avg_kernels(KernelList& list) {
  const auto add = [&](std::string_view schema, auto* run) {
    list.add({.schema = schema, .dtypes = TN_MASK_FLOAT, .run = run});
  };
  add(TN_SCHEMA_AVG_POOL, run_of<average<kAvgPool>>);
  add(TN_SCHEMA_AVG_POOL_BACKWARD, run_of<average<kAvgPoolBackward>>);
  add(TN_SCHEMA_ADAPTIVE_AVG_POOL, run_of<average<kAdaptiveAvgPool>>);
  add(TN_SCHEMA_ADAPTIVE_AVG_POOL_BACKWARD, run_of<average<kAdaptiveAvgPoolBackward>>);
}

}  // namespace tenon::cpu
