// Pooling and its gradients: one thread for each result, or a warp if an average has a large window.
#include "arithmetic.hpp"
#include "kernels.hpp"
#include "launch.hpp"
#include "layout.hpp"

#include "../../common/pool_geometry.hpp"

namespace tenon::gpu {
namespace {

// The geometry of the windows, extended to three spatial dimensions. A thread makes one of the last of `results`.
struct Windows {
  int32_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1},
          padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};
  bool adaptive = false, include_pad = false;
  int64_t in_plane = 1, out_plane = 1;
  Divider slice, line;  // of the plane of results
};

// The inputs begin, begin + dilation, … before end that an output reads along a dimension; `size` is the count for averages.
struct Window {
  int32_t begin, end, size;
};

GPU_DEVICE Window window_of(const Windows& w, uint32_t d, int32_t o) {
  if (w.adaptive) {
    const int32_t begin = o * w.in[d] / w.out[d],
                  end = ((o + 1) * w.in[d] + w.out[d] - 1) / w.out[d];
    return {begin, end, end - begin};
  }
  const int32_t start = o * w.stride[d] - w.padding[d],
                reach = start + w.dilation[d] * (w.kernel[d] - 1) + 1;
  const int32_t begin =
      start >= 0 ? start : start + (w.dilation[d] - 1 - start) / w.dilation[d] * w.dilation[d];
  const int32_t end = smaller(reach, w.in[d]);
  return {begin, end, w.include_pad ? smaller(reach, w.in[d] + w.padding[d]) - start : end - begin};
}

// The plane of result i, and its position there.
struct Spot {
  int64_t plane;
  int32_t at[3];
};
GPU_DEVICE Spot spot_of(const Windows& w, int64_t i, int64_t size) {
  Spot s;
  s.plane = i / size;
  const auto p = static_cast<uint32_t>(i - s.plane * size);
  const uint32_t z = w.slice.divide(p), rest = p - z * w.slice.divisor, y = w.line.divide(rest);
  s.at[0] = static_cast<int32_t>(z);
  s.at[1] = static_cast<int32_t>(y);
  s.at[2] = static_cast<int32_t>(rest - y * w.line.divisor);
  return s;
}

template <class T>
GPU_DEVICE Compute<T> lowest() {
  if constexpr (kIsFloat<T>)
    return -std::numeric_limits<Compute<T>>::infinity();
  else
    return std::numeric_limits<T>::lowest();
}

// A NaN wins; of equal values the first.
template <class T>
GPU_KERNEL max_pool(Windows w, int64_t results, Ptr<const T> x, Ptr<T> values,
                    Ptr<int64_t> indices) {
  using C = Compute<T>;
  for (int64_t i = first_thread(); i < results; i += thread_count()) {
    const Spot s = spot_of(w, i, w.out_plane);
    const Window z = window_of(w, 0, s.at[0]), y = window_of(w, 1, s.at[1]),
                 v = window_of(w, 2, s.at[2]);
    // A dilated window may miss the input; its index still stays inside the plane.
    int64_t best_at = (int64_t{z.begin} * w.in[1] + y.begin) * w.in[2] + v.begin;
    best_at = larger<int64_t>(0, smaller<int64_t>(best_at, w.in_plane - 1));
    C best = lowest<T>();
    for (int32_t a = z.begin; a < z.end; a += w.dilation[0])
      for (int32_t b = y.begin; b < y.end; b += w.dilation[1]) {
        const int64_t line = (int64_t{a} * w.in[1] + b) * w.in[2];
        for (int32_t c = v.begin; c < v.end; c += w.dilation[2]) {
          const C value = load<T>(x, s.plane * w.in_plane + line + c);
          if (value > best || is_nan(value)) {
            best = value;
            best_at = line + c;
          }
        }
      }
    store(values, i, best);
    indices[i] = best_at;
  }
}

template <class C>
GPU_DEVICE C share_of(C sum, const Window& z, const Window& y, const Window& x) {
  return sum / static_cast<C>(larger(1, z.size * y.size * x.size));
}

template <class T>
GPU_KERNEL avg_pool(Windows w, int64_t results, Ptr<const T> x, Ptr<T> out) {
  for (int64_t i = first_thread(); i < results; i += thread_count()) {
    const Spot s = spot_of(w, i, w.out_plane);
    const Window z = window_of(w, 0, s.at[0]), y = window_of(w, 1, s.at[1]),
                 v = window_of(w, 2, s.at[2]);
    Compute<T> sum = 0;
    for (int32_t a = z.begin; a < z.end; ++a)
      for (int32_t b = y.begin; b < y.end; ++b) {
        const int64_t line = s.plane * w.in_plane + (int64_t{a} * w.in[1] + b) * w.in[2];
        for (int32_t c = v.begin; c < v.end; ++c) sum += load<T>(x, line + c);
      }
    store(out, i, share_of(sum, z, y, v));
  }
}

// The lanes of a warp share a window.
template <class T>
GPU_KERNEL avg_pool_together(Windows w, int64_t results, Ptr<const T> x, Ptr<T> out) {
  const int64_t warps = thread_count() / warp_width();
  for (int64_t i = first_thread() / warp_width(); i < results; i += warps) {
    const Spot s = spot_of(w, i, w.out_plane);
    const Window z = window_of(w, 0, s.at[0]), y = window_of(w, 1, s.at[1]),
                 v = window_of(w, 2, s.at[2]);
    const int32_t wide = larger(0, v.end - v.begin), high = larger(0, y.end - y.begin);
    const int64_t count = int64_t{larger(0, z.end - z.begin)} * high * wide;
    Compute<T> sum = 0;
    for (int64_t e = lane(); e < count; e += warp_width()) {
      const auto n = static_cast<uint32_t>(e), line = n / static_cast<uint32_t>(wide);
      const uint32_t a = line / static_cast<uint32_t>(high);
      const int64_t at =
          (int64_t{z.begin + a} * w.in[1] + y.begin + (line - a * static_cast<uint32_t>(high))) *
              w.in[2] +
          v.begin + (n - line * static_cast<uint32_t>(wide));
      sum += load<T>(x, s.plane * w.in_plane + at);
    }
    for (uint32_t other = warp_width() / 2; other > 0; other /= 2) sum += shuffle_xor(sum, other);
    if (lane() == 0) store(out, i, share_of(sum, z, y, v));
  }
}

// The outputs whose windows contain an input.
struct Range {
  int32_t first, last;
};
GPU_DEVICE Range outputs_of(const Windows& w, uint32_t d, int32_t i) {
  if (w.adaptive) return {i * w.out[d] / w.in[d], ((i + 1) * w.out[d] - 1) / w.in[d]};
  const int32_t at = i + w.padding[d], first = at - w.kernel[d] + 1;
  return {first <= 0 ? 0 : (first + w.stride[d] - 1) / w.stride[d],
          smaller(w.out[d] - 1, at / w.stride[d])};
}

template <class T>
GPU_KERNEL avg_pool_backward(Windows w, int64_t results, Ptr<const T> g, Ptr<T> gx) {
  for (int64_t i = first_thread(); i < results; i += thread_count()) {
    const Spot s = spot_of(w, i, w.in_plane);
    const Range z = outputs_of(w, 0, s.at[0]), y = outputs_of(w, 1, s.at[1]),
                x = outputs_of(w, 2, s.at[2]);
    Compute<T> sum = 0;
    for (int32_t a = z.first; a <= z.last; ++a)
      for (int32_t b = y.first; b <= y.last; ++b) {
        const int64_t line = s.plane * w.out_plane + (int64_t{a} * w.out[1] + b) * w.out[2];
        for (int32_t c = x.first; c <= x.last; ++c)
          sum += share_of(load<T>(g, line + c), window_of(w, 0, a), window_of(w, 1, b),
                          window_of(w, 2, c));
      }
    store(gx, i, sum);
  }
}

// ---- On the host --------------------------------------------------------------------------------------------------------

Windows windows_of(const PoolGeometry& g) {
  Windows w;
  for (uint32_t d = 0; d < 3; ++d) {
    w.in[d] = static_cast<int32_t>(g.in[d]);
    w.out[d] = static_cast<int32_t>(g.out[d]);
    w.kernel[d] = static_cast<int32_t>(g.kernel[d]);
    w.stride[d] = static_cast<int32_t>(g.stride[d]);
    w.padding[d] = static_cast<int32_t>(g.padding[d]);
    w.dilation[d] = static_cast<int32_t>(g.dilation[d]);
  }
  w.in_plane = g.in_plane();
  w.out_plane = g.out_plane();
  w.adaptive = g.adaptive;
  w.include_pad = g.include_pad;
  const PoolGeometry::Three& sizes = g.backward ? g.in : g.out;
  w.slice = Divider(static_cast<uint32_t>(sizes[1] * sizes[2]));
  w.line = Divider(static_cast<uint32_t>(sizes[2]));
  return w;
}

// From this window size on, a warp shares a window.
constexpr int64_t kLargeWindow = 32;

void run(const tn_call& call, uint32_t op) {
  using arg = tenon::arg::max_pool;
  const tn_view &x = input(call, arg::x), &result = output(call);  // x: g of a gradient
  const int64_t n = numel(result);
  if (n == 0) return;
  const PoolGeometry g(call, op);
  const Windows w = windows_of(g);
  if (g.maximum) {
    with_type(Reals{}, x.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      launch(call, grid_of(n), max_pool<T>, w, n, in<T>(x), out<T>(result),
             out<int64_t>(output(call, arg::result::indices)));
    });
    return;
  }
  with_type(Floats{}, x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (g.backward)
      launch(call, grid_of(n), avg_pool_backward<T>, w, n, in<T>(x), out<T>(result));
    else if (g.window() >= kLargeWindow)
      launch(call, grid_of(n * kMostLanes), avg_pool_together<T>, w, n, in<T>(x), out<T>(result));
    else
      launch(call, grid_of(n), avg_pool<T>, w, n, in<T>(x), out<T>(result));
  });
}

// Positions and products of sizes are counted in 32 bits.
bool supports(const tn_call& call, uint32_t op) {
  const PoolGeometry g(call, op);
  return g.fits() && g.in_plane() <= INT32_MAX && g.out_plane() <= INT32_MAX;
}

}  // namespace

void add_pool_kernels(KernelList& list) {
  const auto add = [&](std::string_view schema, uint64_t dtypes, PoolOp op) {
    list.add({.schema = schema, .dtypes = dtypes, .run = run, .code = op, .supports = supports});
  };
  add(TN_SCHEMA_MAX_POOL, Reals::kMask, kMaxPool);
  add(TN_SCHEMA_ADAPTIVE_MAX_POOL, Reals::kMask, kAdaptiveMaxPool);
  add(TN_SCHEMA_AVG_POOL, Floats::kMask, kAvgPool);
  add(TN_SCHEMA_AVG_POOL_BACKWARD, Floats::kMask, kAvgPoolBackward);
  add(TN_SCHEMA_ADAPTIVE_AVG_POOL, Floats::kMask, kAdaptiveAvgPool);
  add(TN_SCHEMA_ADAPTIVE_AVG_POOL_BACKWARD, Floats::kMask, kAdaptiveAvgPoolBackward);
}

}  // namespace tenon::gpu
