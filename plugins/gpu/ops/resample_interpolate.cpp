// interpolate and its gradient: one thread for each result.
#include "arithmetic.hpp"
#include "kernels.hpp"
#include "launch.hpp"
#include "layout.hpp"

namespace tenon::gpu {
namespace {

// Along each dimension an output is a weighted sum of up to four inputs, at positions that are fractions of integers.
struct Resampling {
  int32_t in[3], out[3];
  uint32_t taps;  // inputs for an output along a dimension: 1 nearest, 2 linear, 4 cubic
  bool align;
  Divider slice, line;  // of the plane of results
};

// The first input for an output, and the fraction that remains.
template <class C>
GPU_DEVICE int32_t base_of(const Resampling& r, uint32_t d, int32_t o, C& t) {
  const int32_t n = r.in[d], m = r.out[d];
  t = C(0);
  if (r.taps == 1) return smaller(n - 1, o * n / m);
  int32_t above = (2 * o + 1) * n - m, below = 2 * m;
  if (r.align) {
    above = m > 1 ? o * (n - 1) : 0;
    below = larger(m - 1, 1);
  }
  if (r.taps == 2) above = larger(above, 0);
  const int32_t base = above >= 0 ? above / below : -((below - 1 - above) / below);
  t = static_cast<C>(above - base * below) / static_cast<C>(below);
  return base;
}

// Keys' cubic convolution with a = -3/4.
template <class C>
GPU_DEVICE C near(C x) {
  return (C(1.25) * x - C(2.25)) * x * x + C(1);
}
template <class C>
GPU_DEVICE C far(C x) {
  return ((C(-0.75) * x + C(3.75)) * x - C(6)) * x + C(3);
}

GPU_DEVICE uint32_t taps_of(const Resampling& r, uint32_t d) {
  return r.in[d] == 1 && r.out[d] == 1 ? 1 : r.taps;
}
template <class C>
GPU_DEVICE C weight_of(const Resampling& r, uint32_t d, uint32_t k, C t) {
  if (taps_of(r, d) == 1) return C(1);
  if (r.taps == 2) return k == 0 ? C(1) - t : t;
  return k == 0 ? far(t + C(1)) : k == 1 ? near(t) : k == 2 ? near(C(1) - t) : far(C(2) - t);
}
GPU_DEVICE int32_t place_of(const Resampling& r, uint32_t d, int32_t base, uint32_t k) {
  const int32_t at = base + static_cast<int32_t>(k) - (taps_of(r, d) == 4 ? 1 : 0);
  return larger(0, smaller(at, r.in[d] - 1));
}

struct Spot {
  int64_t plane;
  int32_t at[3];
};
GPU_DEVICE Spot spot_of(const Resampling& r, int64_t i) {
  Spot s;
  const auto size = int64_t{r.slice.divisor};
  const int64_t row = i / size;
  const auto rest = static_cast<uint32_t>(i - row * size), y = r.line.divide(rest);
  s.plane = row;
  s.at[0] = 0;
  s.at[1] = static_cast<int32_t>(y);
  s.at[2] = static_cast<int32_t>(rest - y * r.line.divisor);
  return s;
}

template <class T>
GPU_KERNEL interpolate(Resampling r, int64_t results, Ptr<const T> x, Ptr<T> out) {
  using C = Compute<T>;
  for (int64_t i = first_thread(); i < results; i += thread_count()) {
    Spot s = spot_of(r, i);
    s.at[0] = static_cast<int32_t>(s.plane % r.out[0]);
    s.plane /= r.out[0];
    C tz, ty, tx;
    const int32_t z = base_of(r, 0, s.at[0], tz), y = base_of(r, 1, s.at[1], ty),
                  v = base_of(r, 2, s.at[2], tx);
    C sum = 0;
    for (uint32_t a = 0; a < taps_of(r, 0); ++a)
      for (uint32_t b = 0; b < taps_of(r, 1); ++b) {
        const int64_t line =
            ((s.plane * r.in[0] + place_of(r, 0, z, a)) * r.in[1] + place_of(r, 1, y, b)) * r.in[2];
        C row = 0;
        for (uint32_t c = 0; c < taps_of(r, 2); ++c)
          row += weight_of(r, 2, c, tx) * load<T>(x, line + place_of(r, 2, v, c));
        sum += weight_of(r, 0, a, tz) * weight_of(r, 1, b, ty) * row;
      }
    store(out, i, sum);
  }
}

// Outputs that may read an input. Some do not, and their weight is 0.
struct Range {
  int32_t first, last;
};
GPU_DEVICE Range outputs_of(const Resampling& r, uint32_t d, int32_t i) {
  const int32_t n = r.in[d], m = r.out[d];
  if (r.taps == 1) return {(i * m + n - 1) / n, ((i + 1) * m + n - 1) / n - 1};
  const int32_t reach = r.taps == 4 ? 3 : 2;
  int32_t low = (2 * (i - reach) + 1) * m / (2 * n) - 2,
          high = (2 * (i + reach) + 1) * m / (2 * n) + 2;
  if (r.align && n > 1) {
    low = (i - reach) * (m - 1) / (n - 1) - 2;
    high = (i + reach) * (m - 1) / (n - 1) + 2;
  }
  if (i == 0 || n == 1) low = 0;
  if (i == n - 1 || n == 1) high = m - 1;
  return {larger(low, 0), smaller(high, m - 1)};
}

// The weight with which an output reads an input.
template <class C>
GPU_DEVICE C share_of(const Resampling& r, uint32_t d, int32_t o, int32_t i) {
  C t, sum = 0;
  const int32_t base = base_of(r, d, o, t);
  for (uint32_t k = 0; k < taps_of(r, d); ++k)
    if (place_of(r, d, base, k) == i) sum += weight_of(r, d, k, t);
  return sum;
}

template <class T>
GPU_KERNEL interpolate_backward(Resampling r, int64_t results, Ptr<const T> g, Ptr<T> gx) {
  using C = Compute<T>;
  for (int64_t i = first_thread(); i < results; i += thread_count()) {
    Spot s = spot_of(r, i);
    s.at[0] = static_cast<int32_t>(s.plane % r.in[0]);
    s.plane /= r.in[0];
    const Range z = outputs_of(r, 0, s.at[0]), y = outputs_of(r, 1, s.at[1]),
                x = outputs_of(r, 2, s.at[2]);
    C sum = 0;
    for (int32_t a = z.first; a <= z.last; ++a) {
      const C wz = share_of<C>(r, 0, a, s.at[0]);
      if (wz == C(0)) continue;
      for (int32_t b = y.first; b <= y.last; ++b) {
        const C wy = share_of<C>(r, 1, b, s.at[1]);
        if (wy == C(0)) continue;
        const int64_t line = ((s.plane * r.out[0] + a) * r.out[1] + b) * r.out[2];
        C row = 0;
        for (int32_t c = x.first; c <= x.last; ++c) {
          const C wx = share_of<C>(r, 2, c, s.at[2]);
          if (wx != C(0)) row += wx * load<T>(g, line + c);
        }
        sum += wz * wy * row;
      }
    }
    store(gx, i, sum);
  }
}

// The backward op has g, mode and align_corners in the positions of interpolate's x, mode and align_corners.
static_assert(arg::interpolate_backward::g == arg::interpolate::x &&
              arg::interpolate_backward::mode == arg::interpolate::mode &&
              arg::interpolate_backward::align_corners == arg::interpolate::align_corners);
void run_interpolate(const tn_call& call, uint32_t backward) {
  const tn_view &x = input(call, arg::interpolate::x), &result = output(call);
  const int64_t n = numel(result);
  if (n == 0) return;
  const tn_view &small = backward != 0 ? result : x, &large = backward != 0 ? x : result;
  const std::string_view mode = text_arg(call, arg::interpolate::mode);
  Resampling r;
  for (uint32_t d = 0; d < 3; ++d) {
    const bool there = d + x.ndim >= 5;
    r.in[d] = there ? static_cast<int32_t>(small.shape[d + x.ndim - 3]) : 1;
    r.out[d] = there ? static_cast<int32_t>(large.shape[d + x.ndim - 3]) : 1;
  }
  r.taps = mode == "nearest" ? 1 : mode == "bicubic" ? 4 : 2;
  r.align = call.args[arg::interpolate::align_corners].as.i != 0;
  const int32_t* sizes = backward != 0 ? r.in : r.out;
  r.slice = Divider(static_cast<uint32_t>(sizes[1] * sizes[2]));
  r.line = Divider(static_cast<uint32_t>(sizes[2]));
  with_type(Floats{}, x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch(call, grid_of(n), backward != 0 ? interpolate_backward<T> : interpolate<T>, r, n,
           in<T>(x), out<T>(result));
  });
}

// Fractions contain products of sizes, in 32 bits.
bool interpolate_supported(const tn_call& call, uint32_t) {
  const tn_view &x = input(call, arg::interpolate::x), &result = output(call);
  int64_t slice = 1;
  for (uint32_t d = 2; d < x.ndim; ++d) {
    if (2 * (x.shape[d] + 4) * (result.shape[d] + 4) > INT32_MAX / 2) return false;
    if (d + 2 >= x.ndim) slice *= result.shape[d];
  }
  return slice <= INT32_MAX;
}

}  // namespace

void add_resample_interpolate_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_INTERPOLATE,
            .dtypes = Floats::kMask,
            .run = run_interpolate,
            .code = 0,
            .supports = interpolate_supported});
  list.add({.schema = TN_SCHEMA_INTERPOLATE_BACKWARD,
            .dtypes = Floats::kMask,
            .run = run_interpolate,
            .code = 1,
            .supports = interpolate_supported});
}

}  // namespace tenon::gpu
