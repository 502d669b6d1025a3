// Convolution as products, for f32 and f64. A 1×1 kernel multiplies the image as it lies; others
// read a padded copy tap by tap.
#include <algorithm>

#include "ops/conv.hpp"
#include "ops/conv_taps.hpp"
#include "ops/conv_unfolded.hpp"
#include "ops/matmul_gemm.hpp"
#include "ops/workspace.hpp"
#include "threads.hpp"

namespace tenon::cpu {
namespace {

// Runs body(item) for each item, on threads when there is enough work.
template <class Body>
void for_items(int64_t items, int64_t work_each, Body&& body) {
  const int64_t grain = std::max<int64_t>(1, kGemmGrain / 2 / std::max<int64_t>(work_each, 1));
  parallel_for(items, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i);
  });
}

// The outputs of an image in stretches of depth and of rows, each with its own copy of the rows it
// reads. Slices of one stretch share the planes that several of them read.
struct Pieces {
  TapSource source;
  int64_t depths, apart;  // planes of the copy for each channel, and of the image between two
  int64_t slices, step;   // of outputs in a piece, and their rows
  int64_t per_slice, per_image;
  std::vector<int32_t> at;  // of each product of a filter

  // Where a piece lies.
  struct Piece {
    int64_t image, z0, slices, y0, rows;
  };
  Piece piece(const ConvGeometry& g, int64_t item) const {
    const int64_t image = item / per_image, rest = item % per_image, y0 = rest % per_slice * step,
                  z0 = rest / per_slice * slices;
    return {image, z0, std::min(slices, g.out[0] - z0), y0, std::min(step, g.out[1] - y0)};
  }
  void share_planes(const ConvGeometry& g, size_t element);
};

constexpr int64_t kCopyBytes = 256 * 1024;

// As many slices as the copy has room for, where each takes whole planes; with one, no planes between its taps.
void Pieces::share_planes(const ConvGeometry& g, size_t element) {
  const int64_t reach = g.dilation[0] * (g.kernel[0] - 1) + 1, stride = g.stride[0],
                plane = g.channels * source.plane() * static_cast<int64_t>(element),
                room = (kCopyBytes / std::max<int64_t>(plane, 1) - reach) / stride + 1,
                images = std::max<int64_t>(1, g.batch * g.groups),
                most = std::max<int64_t>(1, g.out[0] * images / max_threads());
  slices = per_slice > 1 || stride >= reach
               ? 1
               : std::clamp<int64_t>(room, 1, std::min(most, std::max<int64_t>(1, g.out[0])));
  apart = slices > 1 ? 1 : g.dilation[0];
  depths = slices > 1 ? (slices - 1) * stride + reach : g.kernel[0];
}

Pieces pieces_of(const ConvGeometry& g, size_t element, int64_t most_positions) {
  Pieces p;
  TapSource& s = p.source;
  int64_t reach[2];
  for (int d = 0; d < 2; ++d) {
    reach[d] = g.dilation[d + 1] * (g.kernel[d + 1] - 1);
    s.in[d] = g.in[d + 1];
    s.stride[d] = g.stride[d + 1];
    s.offset[d] = -g.padding[d + 1];
    s.phases[d] = std::min(s.stride[d], reach[d] + 1);
  }
  s.pitch = g.out[2] + reach[1] / s.stride[1];
  const int64_t line = std::max<int64_t>(1, g.channels * g.kernel[0] * s.phases[0] * s.phases[1] *
                                                s.pitch * static_cast<int64_t>(element));
  const int64_t images = std::max<int64_t>(1, g.batch * g.groups * g.out[0]),
                threads = max_threads();
  p.step = std::min({g.out[1], std::max<int64_t>(4, kCopyBytes / line - reach[0] / s.stride[0]),
                     std::max<int64_t>(1, most_positions / g.out[2])});
  // Few images: more pieces, so that each thread gets some.
  if (images < threads)
    p.step = std::min(p.step, std::max<int64_t>(1, (g.out[1] * images + threads - 1) / threads));
  p.per_slice = (g.out[1] + p.step - 1) / p.step;
  s.rows = p.step + reach[0] / s.stride[0];
  p.share_planes(g, element);
  p.per_image = p.per_slice * ((g.out[0] + p.slices - 1) / p.slices);
  for (int64_t channel = 0; channel < g.channels; ++channel)
    for (int64_t kz = 0; kz < g.kernel[0]; ++kz)
      for (int64_t ky = 0; ky < g.kernel[1]; ++ky)
        for (int64_t kx = 0; kx < g.kernel[2]; ++kx) {
          const int64_t plane = channel * p.depths + kz * g.dilation[0] / p.apart,
                        y = ky * g.dilation[1], x = kx * g.dilation[2],
                        phase = y % s.stride[0] * s.phases[1] + x % s.stride[1];
          p.at.push_back(static_cast<int32_t>(plane * s.plane() + phase * s.rows * s.pitch +
                                              y / s.stride[0] * s.pitch + x / s.stride[1]));
        }
  return p;
}

// The copy for one piece, in this thread's workspace. Tiles read up to three vectors
// behind its end.
template <class T>
T* copy_piece(const ConvGeometry& g, const Pieces& p, const Pieces::Piece& piece, const T* image) {
  // Vectors of the last tap run past the last line, by less than its length and their own.
  T* copy = workspace<T>(Workspace::Columns,
                         g.channels * p.depths * p.source.plane() + p.source.pitch + 64);
  const int64_t read = p.depths - (p.slices - piece.slices) * g.stride[0];
  for (int64_t c = 0; c < g.channels; ++c)
    for (int64_t plane = 0; plane < read; ++plane) {
      const int64_t z = piece.z0 * g.stride[0] - g.padding[0] + plane * p.apart;
      const T* from =
          z < 0 || z >= g.in[0] ? nullptr : image + (c * g.in[0] + z) * g.in[1] * g.in[2];
      copy_plane(p.source, from, piece.y0, copy + (c * p.depths + plane) * p.source.plane());
    }
  return copy;
}
// visit(what the taps read, where the outputs begin in a plane of them) for each slice of a piece.
template <class T, class Visit>
void for_slices(const ConvGeometry& g, const Pieces& p, const Pieces::Piece& piece, const T* image,
                Visit&& visit) {
  const T* const copy = copy_piece(g, p, piece, image);
  for (int64_t i = 0; i < piece.slices; ++i)
    visit(copy + i * g.stride[0] * p.source.plane(),
          ((piece.z0 + i) * g.out[1] + piece.y0) * g.out[2]);
}

// out (filters × positions) = weight (filters × channels) · x
template <class T>
void pointwise_forward(const ConvGeometry& g, const T* x, const T* weight, const T* bias, T* out) {
  const int64_t plane = g.out_plane(), images = g.batch * g.groups;
  parallel_gemms(images, [&](int64_t image) {
    const int64_t group = image % g.groups;
    return Gemm<T>{.m = g.filters,
                   .n = plane,
                   .k = g.channels,
                   .a = weight + group * g.filters * g.channels,
                   .a_row = g.channels,
                   .a_col = 1,
                   .b = x + image * g.channels * plane,
                   .b_row = plane,
                   .b_col = 1,
                   .c = out + image * g.filters * plane,
                   .c_row = plane,
                   .row_bias = bias == nullptr ? nullptr : bias + group * g.filters};
  });
}

// gweight (filters × channels) = sum over images of g · xᵀ, block by block: nothing is summed across threads.
template <class T>
void pointwise_backward_weight(const ConvGeometry& g, const T* grad, const T* x, T* gweight) {
  const int64_t plane = g.out_plane(), threads = max_threads(), size = g.filters * g.channels;
  const int64_t down = std::clamp<int64_t>(g.filters / 16, 1, threads),
                across = std::clamp<int64_t>(g.channels / 64, 1, (threads + down - 1) / down),
                blocks = down * across;
  for_items(g.groups * blocks, g.batch * size * plane / blocks, [&](int64_t item) {
    const int64_t group = item / blocks, i = item % blocks / across, j = item % across;
    for (int64_t n = 0; n < g.batch; ++n) {
      const int64_t image = n * g.groups + group;
      gemm(Gemm<T>{.m = g.filters,
                   .n = g.channels,
                   .k = plane,
                   .a = grad + image * g.filters * plane,
                   .a_row = plane,
                   .a_col = 1,
                   .b = x + image * g.channels * plane,
                   .b_row = 1,
                   .b_col = plane,
                   .c = gweight + group * size,
                   .c_row = g.channels,
                   .accumulate = n > 0},
           {g.filters * i / down, g.filters * (i + 1) / down, g.channels * j / across,
            g.channels * (j + 1) / across});
    }
  });
}

}  // namespace

template <class T>
void conv_forward(const ConvGeometry& g, const T* x, const T* weight, const T* bias, T* out) {
  const int64_t plane = g.out_plane(), depth = g.depth();
  if (g.batch * g.groups * g.filters * plane == 0) return;
  if (wants_unfolding(g, kForward)) return unfolded_forward(g, x, weight, bias, out);
  if (g.pointwise()) return pointwise_forward(g, x, weight, bias, out);
  const Pieces p = pieces_of(g, sizeof(T), INT32_MAX);
  for_items(g.batch * g.groups * p.per_image, g.filters * depth * p.slices * p.step * g.out[2],
            [&](int64_t item) {
              const Pieces::Piece piece = p.piece(g, item);
              const int64_t group = piece.image % g.groups;
              for_slices(g, p, piece, x + piece.image * g.channels * g.in_plane(),
                         [&](const T* source, int64_t first) {
                           tap_product({g.filters, depth, weight + group * g.filters * depth,
                                        bias == nullptr ? nullptr : bias + group * g.filters,
                                        source, p.at.data(), piece.rows, g.out[2], p.source.pitch,
                                        out + piece.image * g.filters * plane + first, plane,
                                        g.out[2], 1});
                         });
            });
}

// gweightᵀ (depth × filters) = sum of source · gᵀ. Each thread sums a stretch of the pieces; the
// sums are added in their order.
template <class T>
void conv_backward_weight(const ConvGeometry& g, const T* grad, const T* x, T* gweight) {
  const int64_t plane = g.out_plane(), depth = g.depth(), count = g.groups * depth * g.filters;
  if (count == 0) return;
  if (wants_unfolding(g, kWeight)) return unfolded_backward_weight(g, grad, x, gweight);
  if (g.pointwise() && g.batch * plane > 0) return pointwise_backward_weight(g, grad, x, gweight);
  const Pieces p = pieces_of(g, sizeof(T), 768);
  const int64_t items = g.batch * g.groups * p.per_image,
                parts = std::clamp<int64_t>(max_threads(), 1, std::max<int64_t>(items, 1));
  T* sums = workspace<T>(Workspace::Sums, parts * count);
  for_items(
      parts, count / g.groups * p.slices * p.step * g.out[2] * items / parts, [&](int64_t part) {
        std::fill(sums + part * count, sums + (part + 1) * count, T(0));
        for (int64_t item = items * part / parts; item < items * (part + 1) / parts; ++item) {
          const Pieces::Piece piece = p.piece(g, item);
          T* packed =
              workspace<T>(Workspace::Packed, tap_room(piece.rows, g.out[2], p.source.pitch));
          for_slices(
              g, p, piece, x + piece.image * g.channels * g.in_plane(),
              [&](const T* source, int64_t first) {
                tap_gradient({g.filters, depth, source, p.at.data(), piece.rows, g.out[2],
                              p.source.pitch, grad + piece.image * g.filters * plane + first, plane,
                              packed,
                              sums + part * count + piece.image % g.groups * depth * g.filters});
              });
        }
      });
  parallel_for(g.groups * g.filters, std::max<int64_t>(1, kGrainCopy / depth),
               [&](int64_t begin, int64_t end) {
                 for (int64_t filter = begin; filter < end; ++filter) {
                   const T* from =
                       sums + filter / g.filters * depth * g.filters + filter % g.filters;
                   for (int64_t k = 0; k < depth; ++k) {
                     T total = 0;
                     for (int64_t part = 0; part < parts; ++part)
                       total += from[part * count + k * g.filters];
                     gweight[filter * depth + k] = total;
                   }
                 }
               });
}

#define TENON_CPU_CONV(T)                                                            \
  template void conv_forward(const ConvGeometry&, const T*, const T*, const T*, T*); \
  template void conv_backward_weight(const ConvGeometry&, const T*, const T*, T*);
TENON_CPU_CONV(float)
TENON_CPU_CONV(double)
#undef TENON_CPU_CONV

}  // namespace tenon::cpu
