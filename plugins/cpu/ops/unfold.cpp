// Unfolding: each output position becomes a column of the inputs it reads.
#include <algorithm>
#include <cstring>

#include "ops/conv.hpp"

namespace tenon::cpu {
namespace {

// The part of a row of outputs whose inputs lie inside: outputs [begin, end), the first at input
// `at`.
struct Run {
  int64_t begin, end, at;
};

// Outputs [w0, w1) of the innermost dimension for tap kx.
Run valid_run(const ConvGeometry& g, int64_t kx, int64_t w0, int64_t w1) {
  const int64_t stride = g.stride[2], shift = kx * g.dilation[2] - g.padding[2];
  const int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  const int64_t room = g.in[2] - shift;
  const int64_t last = room <= 0 ? 0 : (room + stride - 1) / stride;
  Run run{std::max(w0, first), std::min(w1, last), 0};
  if (run.begin >= run.end) run.begin = run.end = w0;
  run.at = run.begin * stride + shift;
  return run;
}

// visit(columns offset, input offset or -1, w0, w1, kx) for every row of outputs of every tap.
template <class Visit>
void walk(const ConvGeometry& g, int64_t c0, int64_t c1, int64_t p0, int64_t p1, Visit&& visit) {
  const int64_t width = g.out[2], height = g.out[1];
  int64_t row = 0;
  for (int64_t c = c0; c < c1; ++c)
    for (int64_t kz = 0; kz < g.kernel[0]; ++kz)
      for (int64_t ky = 0; ky < g.kernel[1]; ++ky)
        for (int64_t kx = 0; kx < g.kernel[2]; ++kx, row += p1 - p0) {
          int64_t line = p0 / width, w = p0 % width;
          int64_t z = line / height, y = line % height;
          for (int64_t p = p0; p < p1;) {
            const int64_t w1 = std::min(width, w + p1 - p);
            const int64_t iz = z * g.stride[0] - g.padding[0] + kz * g.dilation[0];
            const int64_t iy = y * g.stride[1] - g.padding[1] + ky * g.dilation[1];
            const bool inside = iz >= 0 && iz < g.in[0] && iy >= 0 && iy < g.in[1];
            visit(row + p - p0, inside ? ((c * g.in[0] + iz) * g.in[1] + iy) * g.in[2] : -1, w, w1,
                  kx);
            p += w1 - w;
            w = 0;
            if (++y == height) y = 0, ++z;
          }
        }
}

}  // namespace

template <class T>
void unfold(const ConvGeometry& g, const T* x, int64_t c0, int64_t c1, int64_t p0, int64_t p1,
            T* columns) {
  const int64_t stride = g.stride[2];
  walk(g, c0, c1, p0, p1, [&](int64_t to, int64_t from, int64_t w0, int64_t w1, int64_t kx) {
    T* row = columns + to - w0;
    if (from < 0) {
      std::fill(row + w0, row + w1, T(0));
      return;
    }
    const Run run = valid_run(g, kx, w0, w1);
    const T* line = x + from + run.at;
    for (int64_t w = w0; w < run.begin; ++w) row[w] = T(0);
    if (stride == 1)
      std::memcpy(row + run.begin, line, static_cast<size_t>(run.end - run.begin) * sizeof(T));
    else
      for (int64_t w = run.begin; w < run.end; ++w) row[w] = line[(w - run.begin) * stride];
    for (int64_t w = run.end; w < w1; ++w) row[w] = T(0);
  });
}

template <class T>
void fold(const ConvGeometry& g, const T* columns, int64_t c0, int64_t c1, int64_t p0, int64_t p1,
          T* x) {
  const int64_t stride = g.stride[2];
  walk(g, c0, c1, p0, p1, [&](int64_t at, int64_t to, int64_t w0, int64_t w1, int64_t kx) {
    if (to < 0) return;
    const Run run = valid_run(g, kx, w0, w1);
    const T* row = columns + at - w0 + run.begin;
    T* line = x + to + run.at;
    const int64_t n = run.end - run.begin;
    if (stride == 1)
      for (int64_t w = 0; w < n; ++w) line[w] += row[w];
    else
      for (int64_t w = 0; w < n; ++w) line[w * stride] += row[w];
  });
}

template void unfold(const ConvGeometry&, const float*, int64_t, int64_t, int64_t, int64_t, float*);
template void unfold(const ConvGeometry&, const double*, int64_t, int64_t, int64_t, int64_t,
                     double*);
template void fold(const ConvGeometry&, const float*, int64_t, int64_t, int64_t, int64_t, float*);
template void fold(const ConvGeometry&, const double*, int64_t, int64_t, int64_t, int64_t, double*);

int64_t unfold_step(const ConvGeometry& g, int64_t depth, size_t element) {
  constexpr int64_t kBytes = 384 * 1024;
  const int64_t fit =
      std::max<int64_t>(16, kBytes / (std::max<int64_t>(depth, 1) * static_cast<int64_t>(element)));
  const int64_t plane = g.out_plane(), width = g.out[2];
  if (fit >= plane) return std::max<int64_t>(plane, 1);
  if (fit >= width) return fit / width * width;
  return fit / 16 * 16;
}

bool ConvGeometry::pointwise() const {
  for (uint32_t d = 0; d < 3; ++d)
    if (kernel[d] != 1 || stride[d] != 1 || padding[d] != 0) return false;
  return true;
}

ConvGeometry conv_geometry(const ConvShapes& shapes, const tn_call& call, uint32_t at) {
  ConvGeometry g;
  g.batch = shapes.x[0];
  g.groups = call.args[at + 3].as.i;
  g.channels = shapes.x[1] / g.groups;
  g.filters = shapes.weight[0] / g.groups;
  const uint32_t n = shapes.ndim - 2, lead = 3 - n;
  for (uint32_t d = 0; d < 3; ++d) {
    const bool real = d >= lead;
    const uint32_t s = d - lead;
    g.in[d] = real ? shapes.x[s + 2] : 1;
    g.out[d] = real ? shapes.out[s + 2] : 1;
    g.kernel[d] = real ? shapes.weight[s + 2] : 1;
    // A list of one entry stands for all.
    const auto entry = [&](uint32_t arg) {
      return call.args[arg].as.ints[call.args[arg].count == n ? s : 0];
    };
    g.stride[d] = real ? entry(at) : 1;
    g.padding[d] = real ? entry(at + 1) : 0;
    g.dilation[d] = real ? entry(at + 2) : 1;
  }
  return g;
}

}  // namespace tenon::cpu
