// Parts that attention's kernels on matrix units share: tiles of half types in shared memory, and a warp for each 16 rows of a block.
#pragma once

#include "attention.hpp"
#include "matrix.hpp"

namespace tenon::gpu {

// The rows of a block: queries, or keys.
struct MatrixRows {
  static constexpr uint32_t kRows = 64, kWarps = kRows / kMatrix;
  static constexpr uint32_t kMostThreads = kWarps * kMostLanes;
};
inline uint32_t threads_on_matrices(const tn_call& call) {
  return MatrixRows::kWarps * backend().device(call.device_index).warp_width;
}
inline uint32_t tiles_on_matrices(uint32_t rows) {
  return (rows + MatrixRows::kRows - 1) / MatrixRows::kRows;
}
// fn(integral_constant of the width).
template <class Fn>
void with_matrix_width(uint32_t width, Fn&& fn) {
  width <= 64 ? fn(std::integral_constant<uint32_t, 64>{})
              : fn(std::integral_constant<uint32_t, 128>{});
}

// The row stride of tiles is such that lanes reading down a column meet few bank conflicts.
inline constexpr uint32_t kTilePad = 8;

#if !defined(TENON_GPU_HOST_ONLY)

// Loads rows [first, first + kRows) of a head; 0 beyond the head and from row `end` on.
template <uint32_t kRows, uint32_t kWidth, class T>
GPU_DEVICE void put_tile(const Ptr<T>& to, const Heads<T>& x, uint32_t b, uint32_t h,
                         uint32_t first, uint32_t end) {
  constexpr uint32_t kN = 4;
  const Ptr<const T> head = x.at + (b * x.batch + h / x.group * x.head);
  for (uint32_t i = thread_index().x * kN; i < kRows * kWidth; i += block_size().x * kN) {
    const uint32_t row = first + i / kWidth, column = i % kWidth;
    Vec<T, kN> some;
    if (x.aligned && row < end && column + kN <= x.columns) {
      some = load_vec<kN>(head + (row * x.row + column));
    } else {
      GPU_UNROLL for (uint32_t e = 0; e < kN; ++e) {
        some.at[e] = narrow<T>(0.0f);
        if (row < end && column + e < x.columns)
          some.at[e] = head[row * x.row + (column + e) * x.column];
      }
    }
    store_vec<kN>(to + (i / kWidth * (kWidth + kTilePad) + column), some);
  }
}

// Puts rows [first, first + kRows) of a head of x and of y into two tiles, once all threads have read what they held.
template <uint32_t kRows, uint32_t kWidth, class T>
GPU_DEVICE void replace_tiles(const Ptr<T>& x_tile, const Heads<T>& x, const Ptr<T>& y_tile,
                              const Heads<T>& y, uint32_t b, uint32_t h, uint32_t first,
                              uint32_t end) {
  sync_threads();
  put_tile<kRows, kWidth>(x_tile, x, b, h, first, end);
  put_tile<kRows, kWidth>(y_tile, y, b, h, first, end);
  sync_threads();
}

// The 16 rows of a tile from `row` on, as left sides.
template <uint32_t kDeep, class T>
GPU_DEVICE void load_rows(Share<T> (&to)[kDeep], const Ptr<T>& tile, uint32_t row) {
  constexpr uint32_t kPitch = kDeep * kMatrix + kTilePad;
  GPU_UNROLL for (uint32_t d = 0; d < kDeep; ++d)
      load_left(to[d], tile + (row * kPitch + d * kMatrix), kPitch);
}
// Multiplies rows by the 16 rows of a tile from `row` on.
template <uint32_t kDeep, class T>
GPU_DEVICE void multiply_rows(const Share<T> (&left)[kDeep], const Ptr<T>& tile, uint32_t row,
                              Share<float>& sums) {
  constexpr uint32_t kPitch = kDeep * kMatrix + kTilePad;
  clear(sums);
  GPU_UNROLL for (uint32_t d = 0; d < kDeep; ++d) {
    Share<T> right;
    load_right(right, tile + (row * kPitch + d * kMatrix), kPitch);
    multiply_add(left[d], right, sums);
  }
}
// sums += the warp's 16 rows of weights, from `own` on, times kCount rows of a tile.
template <uint32_t kCount, uint32_t kDeep, class T>
GPU_DEVICE void add_weighted(const Ptr<T>& weights, uint32_t own, const Ptr<T>& tile,
                             Share<float> (&sums)[kDeep]) {
  constexpr uint32_t kPitch = kDeep * kMatrix + kTilePad, kWeightPitch = kCount + kTilePad;
  for (uint32_t step = 0; step < kCount; step += kMatrix) {
    Share<T> left;
    load_left(left, weights + (own * kWeightPitch + step), kWeightPitch);
    GPU_UNROLL for (uint32_t d = 0; d < kDeep; ++d) {
      Share<T> right;
      load_right_across(right, tile + (step * kPitch + d * kMatrix), kPitch);
      multiply_add(left, right, sums[d]);
    }
  }
}
// Stores the warp's weights of 16 columns from `column` on, rounded.
template <uint32_t kCount, class T>
GPU_DEVICE void put_weights(const Ptr<T>& weights, uint32_t own, uint32_t column,
                            const Share<float>& values) {
  GPU_UNROLL for (uint32_t e = 0; e < kMostShare; ++e) {
    if (e >= share()) break;
    const MatrixPlace at = place_of_sum(e);
    weights[(own + at.row) * (kCount + kTilePad) + column + at.column] = narrow<T>(values.at[e]);
  }
}
// Writes a warp's sums, times its rows' factors, to a result's rows from `first` on.
template <uint32_t kDeep, class T>
GPU_DEVICE void store_rows(const Ptr<T>& to, int64_t pitch, uint32_t first, uint32_t rows,
                           uint32_t columns, const float (&factors)[kMostRowsOfLane],
                           const Share<float> (&sums)[kDeep]) {
  GPU_UNROLL for (uint32_t d = 0; d < kDeep; ++d)
      GPU_UNROLL for (uint32_t e = 0; e < kMostShare; ++e) {
    if (e >= share()) break;
    const MatrixPlace at = place_of_sum(e);
    const uint32_t row = first + at.row, column = d * kMatrix + at.column;
    if (row < rows && column < columns)
      store<T>(to, row * pitch + column, sums[d].at[e] * factors[own_row(e)]);
  }
}

#endif

}  // namespace tenon::gpu
