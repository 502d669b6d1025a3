// max_pool, adaptive_max_pool and max_pool_backward. A NaN wins; of equal values the first.
#include <cmath>
#include <limits>

#include "dispatch.hpp"
#include "ops/pool.hpp"
#include "tenon/schemas.h"

namespace tenon::cpu {
namespace {

template <class T>
void max_plane(const Pooling& pool, const T* x, T* values, int64_t* indices) {
  using C = Compute<T>;
  const int64_t last = std::max<int64_t>(pool.in_plane() - 1, 0);
  for_outputs(pool, [&](int64_t p, const Window& wz, const Window& wy, const Window& wx) {
    // With dilation a window may miss the input altogether; its index stays inside the plane.
    int64_t best_at =
        std::clamp<int64_t>((wz.begin * pool.in[1] + wy.begin) * pool.in[2] + wx.begin, 0, last);
    C best = std::numeric_limits<C>::has_infinity ? -std::numeric_limits<C>::infinity()
                                                  : std::numeric_limits<C>::lowest();
    for (int64_t z = wz.begin; z < wz.end; z += pool.dilation[0])
      for (int64_t y = wy.begin; y < wy.end; y += pool.dilation[1]) {
        const int64_t line = (z * pool.in[1] + y) * pool.in[2];
        for (int64_t i = wx.begin; i < wx.end; i += pool.dilation[2]) {
          const C value = x[line + i];
          if (value > best || value != value) best = value, best_at = line + i;
        }
      }
    values[p] = static_cast<T>(best);
    indices[p] = best_at;
  });
}

// Of max_pool and adaptive_max_pool, whose x and results have the same places.
template <PoolOp kOp>
void max_pool(const tn_call& call) {
  const Pooling pool(call, kOp);
  const tn_view &x = input(call, arg::max_pool::x),
                &values = output(call, arg::max_pool::result::values);
  int64_t* indices = data_of<int64_t>(output(call, arg::max_pool::result::indices));
  if (pool.planes == 0) return;
  const auto by_rows = [&]<class T>(Tag<T>) {
    return max_pool_rows(pool, data_of<const T>(x), data_of<T>(values), indices);
  };
  if ((x.dtype == TN_DTYPE_F32 &&
       (by_rows(Tag<float>()) ||
        max_pool_wide(pool, data_of<const float>(x), data_of<float>(values), indices))) ||
      (x.dtype == TN_DTYPE_U8 && by_rows(Tag<uint8_t>())) ||
      (x.dtype == TN_DTYPE_I8 && by_rows(Tag<int8_t>())))
    return;
  visit_dtype<TN_MASK_REAL>(x.dtype, [&]<class T>(Tag<T>) {
    const T* from = data_of<const T>(x);
    T* to = data_of<T>(values);
    for_planes(pool, pool.in_plane() + pool.out_plane(), [&](int64_t plane) {
      max_plane(pool, from + plane * pool.in_plane(), to + plane * pool.out_plane(),
                indices + plane * pool.out_plane());
    });
  });
}

void check_places(const int64_t* indices, int64_t count, int64_t plane) {
  const uint64_t last = static_cast<uint64_t>(plane) - 1;
  uint64_t outside = 0;  // the highest bit
  for (int64_t p = 0; p < count; ++p) {
    const uint64_t at = static_cast<uint64_t>(indices[p]);
    outside |= at | (last - at);
  }
  if (outside >> 63 == 0) return;
  for (int64_t p = 0; p < count; ++p)
    if (indices[p] < 0 || indices[p] >= plane)
      fail(TN_OUT_OF_RANGE, "[max_pool_backward] index ", indices[p],
           " out of range for a plane of ", plane);
}

// Each gradient goes to the place its maximum came from.
void max_pool_backward(const tn_call& call) {
  const tn_view &g = input(call, arg::max_pool_backward::g), &gx = output(call);
  const int64_t planes = gx.shape[0] * gx.shape[1];
  if (planes == 0) return;
  const int64_t in = numel(gx) / planes, out = numel(g) / planes;
  const int64_t* indices = data_of<const int64_t>(input(call, arg::max_pool_backward::indices));
  visit_dtype<TN_MASK_REAL>(g.dtype, [&]<class T>(Tag<T>) {
    const T* all = data_of<const T>(g);
    T* to = data_of<T>(gx);
    parallel_for(
        planes, std::max<int64_t>(1, kGrainMath / (in + out + 1)), [&](int64_t begin, int64_t end) {
          std::vector<Compute<T>> sums(is_half_v<T> ? static_cast<size_t>(in) : 0);
          for (int64_t plane = begin; plane < end; ++plane) {
            const T* const from = all + plane * out;
            const int64_t* const at = indices + plane * out;
            check_places(at, out, in);
            const auto scatter = [&](Compute<T>* sum) {
              std::fill(sum, sum + in, Compute<T>(0));
              for (int64_t p = 0; p < out; ++p)
                sum[at[p]] = static_cast<Compute<T>>(sum[at[p]] + static_cast<Compute<T>>(from[p]));
            };
            if constexpr (is_half_v<T>) {
              scatter(sums.data());
              std::copy(sums.begin(), sums.end(), to + plane * in);
            } else {
              scatter(to + plane * in);
            }
          }
        });
  });
}

}  // namespace

void add_pool_max_kernels(KernelList& list) {
  list.add(
      {.schema = TN_SCHEMA_MAX_POOL, .dtypes = TN_MASK_REAL, .run = run_of<max_pool<kMaxPool>>});
  list.add({.schema = TN_SCHEMA_ADAPTIVE_MAX_POOL,
            .dtypes = TN_MASK_REAL,
            .run = run_of<max_pool<kAdaptiveMaxPool>>});
  list.add({.schema = TN_SCHEMA_MAX_POOL_BACKWARD,
            .dtypes = TN_MASK_REAL,
            .run = run_of<max_pool_backward>});
}

}  // namespace tenon::cpu
