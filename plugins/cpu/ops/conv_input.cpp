// The gradient of a convolution's input, for f32 and f64. Inputs that leave the same remainder by
// the stride read the same taps of g at constant distances, so each remainder is a convolution of g
// with stride 1.
#include <algorithm>

#include "ops/conv.hpp"
#include "ops/conv_folded.hpp"
#include "ops/conv_taps.hpp"
#include "ops/conv_unfolded.hpp"
#include "ops/matmul_gemm.hpp"
#include "ops/workspace.hpp"
#include "threads.hpp"

namespace tenon::cpu {
namespace {

// Input i = remainder + stride·t reads g at t + shift through tap k.
struct Reach {
  struct Tap {
    int64_t k, shift;
  };
  std::vector<std::vector<Tap>> taps;  // of each remainder
  int64_t low = 0, high = 0;           // of all shifts

  Reach(const ConvGeometry& g, size_t d)
      : taps(static_cast<size_t>(std::min(g.stride[d], g.in[d]))) {
    bool first = true;
    for (size_t r = 0; r < taps.size(); ++r)
      for (int64_t k = 0; k < g.kernel[d]; ++k) {
        const int64_t ahead = static_cast<int64_t>(r) + g.padding[d] - k * g.dilation[d];
        if (ahead % g.stride[d] != 0) continue;
        const int64_t shift = ahead / g.stride[d];
        taps[r].push_back({k, shift});
        low = first ? shift : std::min(low, shift);
        high = first ? shift : std::max(high, shift);
        first = false;
      }
  }
};

// How many places below n leave remainder r by the stride.
int64_t places(int64_t n, int64_t stride, int64_t r) { return (n - r + stride - 1) / stride; }

// One combination of remainders: its weights as (channels × (filter, tap)) for each group, and
// where its taps read the copy.
struct Part {
  std::vector<int32_t> at;
  int64_t weight;  // where its weights begin
};

struct Plan {
  Reach z, y, x;
  TapSource source;
  int64_t step, per_slice;
  std::vector<Part> parts;  // by remainder of z, y, x
  int64_t weights = 0;      // of all parts and groups

  Plan(const ConvGeometry& g, size_t element);
};

constexpr int64_t kCopyBytes = 256 * 1024;

Plan::Plan(const ConvGeometry& g, size_t element) : z(g, 0), y(g, 1), x(g, 2) {
  source = {{g.out[1], g.out[2]},
            {1, 1},
            {y.low, x.low},
            {1, 1},
            0,
            places(g.in[2], g.stride[2], 0) + x.high - x.low};
  const int64_t lines = places(g.in[1], g.stride[1], 0),
                depths = places(g.kernel[0], g.stride[0], 0);
  const int64_t line = g.filters * depths * source.pitch * static_cast<int64_t>(element);
  step = std::min(lines,
                  std::max<int64_t>(4, kCopyBytes / std::max<int64_t>(line, 1) - (y.high - y.low)));
  const int64_t images = std::max<int64_t>(1, g.batch * g.groups * g.in[0]),
                threads = max_threads();
  if (images < threads)
    step = std::min(step, std::max<int64_t>(1, (lines * images + threads - 1) / threads));
  per_slice = (lines + step - 1) / step;
  source.rows = step + y.high - y.low;
  for (const auto& tz : z.taps)
    for (const auto& ty : y.taps)
      for (const auto& tx : x.taps) {
        Part part{{}, weights};
        for (int64_t plane = 0; plane < g.filters * static_cast<int64_t>(tz.size()); ++plane)
          for (const Reach::Tap& b : ty)
            for (const Reach::Tap& c : tx)
              part.at.push_back(static_cast<int32_t>(
                  plane * source.plane() + (b.shift - y.low) * source.pitch + c.shift - x.low));
        weights += g.groups * g.channels * static_cast<int64_t>(part.at.size());
        parts.push_back(std::move(part));
      }
}

template <class T>
void pack_weights(const ConvGeometry& g, const Plan& p, const T* weight, T* out) {
  for (const auto& tz : p.z.taps)
    for (const auto& ty : p.y.taps)
      for (const auto& tx : p.x.taps)
        for (int64_t channel = 0; channel < g.groups * g.channels; ++channel)
          for (int64_t f = 0; f < g.filters; ++f) {
            const int64_t filter = channel / g.channels * g.filters + f;
            const T* kernel = weight + (filter * g.channels + channel % g.channels) * g.taps();
            for (const Reach::Tap& a : tz)
              for (const Reach::Tap& b : ty)
                for (const Reach::Tap& c : tx)
                  *out++ = kernel[(a.k * g.kernel[1] + b.k) * g.kernel[2] + c.k];
          }
}

// Slice z of an image, lines [t0, t0 + step) of every remainder.
template <class T>
void input_piece(const ConvGeometry& g, const Plan& p, int64_t image, int64_t z, int64_t t0,
                 const T* grad, const T* weights, T* gx) {
  const size_t rz = static_cast<size_t>(z % g.stride[0]);
  const int64_t depths = static_cast<int64_t>(p.z.taps[rz].size()), planes = g.filters * depths;
  T* copy = workspace<T>(Workspace::Columns, planes * p.source.plane() + 64);
  for (int64_t plane = 0; plane < planes; ++plane) {
    const int64_t oz = z / g.stride[0] + p.z.taps[rz][static_cast<size_t>(plane % depths)].shift;
    const T* from =
        grad + ((image * g.filters + plane / depths) * g.out[0] + oz) * g.out[1] * g.out[2];
    copy_plane(p.source, oz < 0 || oz >= g.out[0] ? nullptr : from, t0,
               copy + plane * p.source.plane());
  }
  const size_t ny = p.y.taps.size(), nx = p.x.taps.size();
  for (size_t ry = 0; ry < ny; ++ry)
    for (size_t rx = 0; rx < nx; ++rx) {
      const Part& part = p.parts[(rz * ny + ry) * nx + rx];
      const int64_t depth = static_cast<int64_t>(part.at.size()), sy = g.stride[1],
                    sx = g.stride[2];
      const int64_t rows = std::min(p.step, places(g.in[1], sy, static_cast<int64_t>(ry)) - t0);
      if (rows <= 0) continue;
      T* out = gx + (image * g.channels * g.in[0] + z) * g.in[1] * g.in[2] +
               (static_cast<int64_t>(ry) + sy * t0) * g.in[2] + static_cast<int64_t>(rx);
      tap_product({g.channels, depth, weights + part.weight + image % g.groups * g.channels * depth,
                   nullptr, copy, part.at.data(), rows,
                   places(g.in[2], sx, static_cast<int64_t>(rx)), p.source.pitch, out, g.in_plane(),
                   sy * g.in[2], sx});
    }
}

}  // namespace

template <class T>
void conv_backward_input(const ConvGeometry& g, const T* grad, const T* weight, T* gx) {
  const int64_t plane = g.in_plane(), images = g.batch * g.groups;
  if (images * g.channels * plane == 0) return;
  if (wants_unfolding(g, kInput)) return unfolded_backward_input(g, grad, weight, gx);
  if (g.pointwise())
    return parallel_gemms(images, [&](int64_t image) {
      return Gemm<T>{.m = g.channels,
                     .n = plane,
                     .k = g.filters,
                     .a = weight + image % g.groups * g.filters * g.channels,
                     .a_row = 1,
                     .a_col = g.channels,
                     .b = grad + image * g.filters * plane,
                     .b_row = plane,
                     .b_col = 1,
                     .c = gx + image * g.channels * plane,
                     .c_row = plane};
    });
  if (wants_folding(g)) return folded_backward_input(g, grad, weight, gx);
  const int64_t work = g.filters * g.depth() * g.out_plane();  // of an image
  const Plan p(g, sizeof(T));
  T* weights = workspace<T>(Workspace::Weights, p.weights);
  pack_weights(g, p, weight, weights);
  const int64_t per_image = g.in[0] * p.per_slice,
                grain = kGemmGrain / 2 / std::max<int64_t>(work / per_image, 1);
  parallel_for(images * per_image, std::max<int64_t>(1, grain), [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item)
      input_piece(g, p, item / per_image, item % per_image / p.per_slice,
                  item % p.per_slice * p.step, grad, weights, gx);
  });
}

template void conv_backward_input(const ConvGeometry&, const float*, const float*, float*);
template void conv_backward_input(const ConvGeometry&, const double*, const double*, double*);

}  // namespace tenon::cpu
