#include "ops/conv_folded.hpp"

#include <algorithm>

#include "ops/matmul_gemm.hpp"
#include "ops/workspace.hpp"
#include "threads.hpp"

namespace tenon::cpu {
namespace {

// Products that are folded at once stay in L2.
constexpr int64_t kPieceBytes = 256 * 1024;
// Rows of a lone channel fill no tile of taps, but a product of fewer filters costs less than what is folded.
constexpr int64_t kFewFilters = 8;
// To fold costs as much as so many filters.
constexpr double kFoldedFilters = 32;

// Places j in [begin, end) of which first + j·step lies in [0, size).
struct Inside {
  int64_t begin, end;
  Inside(int64_t first, int64_t step, int64_t count, int64_t size)
      : begin(first >= 0 ? 0 : (-first + step - 1) / step),
        end(first >= size ? 0 : std::min(count, (size - 1 - first) / step + 1)) {}
};

// to[j·step] += from[j]
template <class T>
void add_line(const T* from, int64_t count, int64_t step, T* to) {
  if (step == 1)
    for (int64_t j = 0; j < count; ++j) to[j] += from[j];
  else
    for (int64_t j = 0; j < count; ++j) to[j * step] += from[j];
}

// Some channels of an image. The products of a piece lie as (places × taps), or as (taps × places) where rows of places are longer than
// rows of taps, so that what is added are lines.
template <class T>
class Fold {
 public:
  Fold(const ConvGeometry& g, const T* weight, int64_t channels)
      : g_(g),
        weight_(weight),
        channels_(channels),
        by_place_(g.kernel[2] > g.out[2]),
        rows_(std::clamp<int64_t>(
            kPieceBytes / (static_cast<int64_t>(sizeof(T)) *
                           std::max<int64_t>(1, channels * g.taps() * g.out[2])),
            1, g.out[1])) {}

  // gx and weights begin with the channels.
  void run(const T* grad, T* gx) const {
    std::fill_n(gx, channels_ * g_.in_plane(), T(0));
    for (int64_t z = 0; z < g_.out[0]; ++z)
      for (int64_t y = 0; y < g_.out[1]; y += rows_)
        piece(grad + (z * g_.out[1] + y) * g_.out[2], z, y, std::min(rows_, g_.out[1] - y), gx);
  }

 private:
  void piece(const T* grad, int64_t z, int64_t y, int64_t rows, T* gx) const {
    const int64_t places = rows * g_.out[2], taps = channels_ * g_.taps();
    T* const products = workspace<T>(Workspace::Columns, places * taps);
    if (by_place_)
      parallel_gemm(Gemm<T>{.m = places,
                            .n = taps,
                            .k = g_.filters,
                            .a = grad,
                            .a_row = 1,
                            .a_col = g_.out_plane(),
                            .b = weight_,
                            .b_row = g_.depth(),
                            .b_col = 1,
                            .c = products,
                            .c_row = taps});
    else
      parallel_gemm(Gemm<T>{.m = taps,
                            .n = places,
                            .k = g_.filters,
                            .a = weight_,
                            .a_row = 1,
                            .a_col = g_.depth(),
                            .b = grad,
                            .b_row = g_.out_plane(),
                            .b_col = 1,
                            .c = products,
                            .c_row = places});
    for (int64_t c = 0; c < channels_; ++c)
      for (int64_t kz = 0; kz < g_.kernel[0]; ++kz) {
        const int64_t iz = place(0, z, kz);
        if (iz < 0 || iz >= g_.in[0]) continue;
        for (int64_t ky = 0; ky < g_.kernel[1]; ++ky) {
          const Inside inside(place(1, y, ky), g_.stride[1], rows, g_.in[1]);
          for (int64_t row = inside.begin; row < inside.end; ++row)
            add_row(products, c * g_.taps() + (kz * g_.kernel[1] + ky) * g_.kernel[2], row, places,
                    gx + ((c * g_.in[0] + iz) * g_.in[1] + place(1, y + row, ky)) * g_.in[2]);
        }
      }
  }
  // A row of places through a row of taps.
  void add_row(const T* products, int64_t tap, int64_t row, int64_t places, T* to) const {
    const int64_t taps = channels_ * g_.taps(), first = row * g_.out[2];
    if (by_place_)
      for (int64_t x = 0; x < g_.out[2]; ++x) {
        const int64_t at = place(2, x, 0);
        const Inside inside(at, g_.dilation[2], g_.kernel[2], g_.in[2]);
        add_line(products + (first + x) * taps + tap + inside.begin, inside.end - inside.begin,
                 g_.dilation[2], to + at + inside.begin * g_.dilation[2]);
      }
    else
      for (int64_t k = 0; k < g_.kernel[2]; ++k) {
        const int64_t at = place(2, 0, k);
        const Inside inside(at, g_.stride[2], g_.out[2], g_.in[2]);
        add_line(products + (tap + k) * places + first + inside.begin, inside.end - inside.begin,
                 g_.stride[2], to + at + inside.begin * g_.stride[2]);
      }
  }
  // What output i reads through tap k.
  int64_t place(size_t d, int64_t i, int64_t k) const {
    return i * g_.stride[d] + k * g_.dilation[d] - g_.padding[d];
  }

  const ConvGeometry& g_;
  const T* weight_;
  int64_t channels_;
  bool by_place_;
  int64_t rows_;  // of outputs in a piece
};

}  // namespace

bool wants_folding(const ConvGeometry& g) {
  // By taps, each input costs all products of an output, so inputs beside the outputs' steps are multiplied in vain.
  const double apart = static_cast<double>(ConvGeometry::product(g.stride) * g.out_plane());
  const double in_vain = static_cast<double>(g.in_plane()) / std::max(apart, 1.0) - 1;
  return g.filters >= kFewFilters &&
         (g.channels == 1 || in_vain * static_cast<double>(g.filters) >= kFoldedFilters);
}

template <class T>
void folded_backward_input(const ConvGeometry& g, const T* grad, const T* weight, T* gx) {
  const int64_t images = g.batch * g.groups,
                cuts = std::clamp<int64_t>(max_threads() / images, 1, g.channels);
  const int64_t work = g.filters * g.depth() * g.out_plane() / cuts;
  parallel_for(images * cuts, std::max<int64_t>(1, kGemmGrain / std::max<int64_t>(work, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t image = i / cuts, first = g.channels * (i % cuts) / cuts,
                                 last = g.channels * (i % cuts + 1) / cuts;
                   const T* const weights =
                       weight + image % g.groups * g.filters * g.depth() + first * g.taps();
                   Fold<T>(g, weights, last - first)
                       .run(grad + image * g.filters * g.out_plane(),
                            gx + (image * g.channels + first) * g.in_plane());
                 }
               });
}

template void folded_backward_input(const ConvGeometry&, const float*, const float*, float*);
template void folded_backward_input(const ConvGeometry&, const double*, const double*, double*);

}  // namespace tenon::cpu
