// Convolution as products of unfolded images, for f32 and f64.
#include <algorithm>

#include "ops/conv.hpp"
#include "ops/gemm.hpp"
#include "ops/workspace.hpp"
#include "threads.hpp"

namespace tenon::cpu {
namespace {

template <class T>
T* columns_of(int64_t count) {
  return static_cast<T*>(workspace(Workspace::Columns, static_cast<size_t>(count) * sizeof(T)));
}

// Runs body(item) for each item, on threads when there is enough work.
template <class Body>
void for_items(int64_t items, int64_t work_each, Body&& body) {
  parallel_for(items, std::max<int64_t>(1, kGemmGrain / 2 / std::max<int64_t>(work_each, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) body(i);
               });
}

}  // namespace

// out (filters × positions) = weight (filters × depth) · columns (depth × positions), for each
// image and group.
template <class T>
void conv_forward(const ConvGeometry& g, const T* x, const T* weight, const T* bias, T* out) {
  const int64_t plane = g.out_plane(), depth = g.depth(), images = g.batch * g.groups;
  if (images * g.filters * plane == 0) return;
  int64_t step = g.pointwise() ? plane : unfold_step(g, depth, sizeof(T));
  // Few images: more pieces, so that each thread gets some.
  const int64_t wanted = (max_threads() + images - 1) / images;
  if (wanted > 1) step = std::min(step, std::max<int64_t>(16, (plane + wanted - 1) / wanted));
  const int64_t pieces = (plane + step - 1) / step;
  for_items(images * pieces, g.filters * depth * step, [&](int64_t item) {
    const int64_t image = item / pieces, p0 = item % pieces * step, p1 = std::min(plane, p0 + step),
                  group = image % g.groups;
    const T* from = x + image * g.channels * g.in_plane();
    Gemm<T> product{g.filters, p1 - p0, depth, weight + group * g.filters * depth,   depth, 1,
                    from + p0, plane,   1,     out + image * g.filters * plane + p0, plane};
    if (!g.pointwise()) {
      T* columns = columns_of<T>(depth * (p1 - p0));
      unfold(g, from, 0, g.channels, p0, p1, columns);
      product.b = columns;
      product.b_row = p1 - p0;
    }
    if (bias != nullptr) product.row_bias = bias + group * g.filters;
    gemm(product, {0, product.m, 0, product.n});
  });
}

// columns (depth × positions) = weightᵀ · g, folded onto the image; pieces of channels keep threads
// apart.
template <class T>
void conv_backward_input(const ConvGeometry& g, const T* grad, const T* weight, T* gx) {
  const int64_t plane = g.out_plane(), depth = g.depth(), taps = g.taps(),
                images = g.batch * g.groups;
  if (images * g.channels * g.in_plane() == 0) return;
  const int64_t wanted = std::min(g.channels, (max_threads() + images - 1) / images);
  const int64_t share = (g.channels + wanted - 1) / wanted,
                pieces = (g.channels + share - 1) / share;
  const bool direct = g.pointwise();
  const int64_t step =
      direct ? std::max<int64_t>(plane, 1) : unfold_step(g, share * taps, sizeof(T));
  for_items(images * pieces, g.filters * share * taps * plane, [&](int64_t item) {
    const int64_t image = item / pieces, c0 = item % pieces * share,
                  c1 = std::min(g.channels, c0 + share);
    T* to = gx + image * g.channels * g.in_plane();
    const T* filters = weight + image % g.groups * g.filters * depth + c0 * taps;
    if (!direct) std::fill(to + c0 * g.in_plane(), to + c1 * g.in_plane(), T(0));
    for (int64_t p0 = 0; p0 < plane; p0 += step) {
      const int64_t p1 = std::min(plane, p0 + step), rows = (c1 - c0) * taps;
      T* columns = direct ? to + c0 * plane : columns_of<T>(rows * (p1 - p0));
      gemm(Gemm<T>{rows, p1 - p0, g.filters, filters, 1, depth,
                   grad + image * g.filters * plane + p0, plane, 1, columns, p1 - p0},
           {0, rows, 0, p1 - p0});
      if (!direct) fold(g, columns, c0, c1, p0, p1, to);
    }
  });
}

// gweightᵀ (depth × filters) = sum over images of columns (depth × positions) · gᵀ. Each thread
// sums a stretch of the images; the sums are added in their order.
template <class T>
void conv_backward_weight(const ConvGeometry& g, const T* grad, const T* x, T* gweight) {
  const int64_t plane = g.out_plane(), depth = g.depth(), count = g.groups * depth * g.filters;
  if (count == 0) return;
  const int64_t parts = std::max<int64_t>(1, std::min<int64_t>(max_threads(), g.batch));
  const int64_t step =
      g.pointwise() ? std::max<int64_t>(plane, 1) : unfold_step(g, depth, sizeof(T));
  T* sums =
      static_cast<T*>(workspace(Workspace::Sums, static_cast<size_t>(parts * count) * sizeof(T)));
  for_items(parts, count * plane * g.batch / parts, [&](int64_t part) {
    T* sum = sums + part * count;
    std::fill(sum, sum + count, T(0));
    for (int64_t image = g.batch * part / parts * g.groups;
         image < g.batch * (part + 1) / parts * g.groups; ++image) {
      const T* from = x + image * g.channels * g.in_plane();
      for (int64_t p0 = 0; p0 < plane; p0 += step) {
        const int64_t n = std::min(plane, p0 + step) - p0;
        Gemm<T> product{depth,
                        g.filters,
                        n,
                        from + p0,
                        plane,
                        1,
                        grad + image * g.filters * plane + p0,
                        1,
                        plane,
                        sum + image % g.groups * depth * g.filters,
                        g.filters};
        product.accumulate = true;
        if (!g.pointwise()) {
          T* columns = columns_of<T>(depth * n);
          unfold(g, from, 0, g.channels, p0, p0 + n, columns);
          product.a = columns;
          product.a_row = n;
        }
        gemm(product, {0, product.m, 0, product.n});
      }
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
  template void conv_backward_input(const ConvGeometry&, const T*, const T*, T*);    \
  template void conv_backward_weight(const ConvGeometry&, const T*, const T*, T*);
TENON_CPU_CONV(float)
TENON_CPU_CONV(double)
#undef TENON_CPU_CONV

}  // namespace tenon::cpu
