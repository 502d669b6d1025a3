// Products on matrix units: a warp holds matrices of 16 × 16, of which each lane has share() elements. Left and right sides come from
// tiles in shared memory with an even row stride `pitch`.
#pragma once

#include "launch.hpp"
#include "portable_matrix.hpp"

namespace tenon::gpu {

inline constexpr uint32_t kMatrix = 16;  // rows and columns

// The most rows of the matrix to which a lane's sums belong.
inline constexpr uint32_t kMostRowsOfLane = 4;

#if !defined(TENON_GPU_HOST_ONLY)

GPU_DEVICE uint32_t share() { return kMatrix * kMatrix / warp_width(); }

struct MatrixPlace {
  uint32_t row, column;
};
// The position of element e of the lane's share of a left side, a (transposed) right side, and sums: PTX ISA, "Matrix Fragments for
// mma.m16n8k16"; AMD Instinct MI200 ISA, "Dense Matrix Layouts".
GPU_DEVICE MatrixPlace place_of_left(uint32_t e) {
  const uint32_t l = lane();
  if (warp_width() == 64) return {l % 16, l / 16 * 4 + e};
  return {l / 4 + e / 2 % 2 * 8, l % 4 * 2 + e % 2 + e / 4 * 8};
}
GPU_DEVICE MatrixPlace place_of_right(uint32_t e) {
  const uint32_t l = lane();
  if (warp_width() == 64) return {l % 16, l / 16 * 4 + e};
  return {l / 4 + e / 4 * 8, l % 4 * 2 + e % 2 + e / 2 % 2 * 8};
}
GPU_DEVICE MatrixPlace place_of_sum(uint32_t e) {
  const uint32_t l = lane();
  if (warp_width() == 64) return {l / 16 * 4 + e, l % 16};
  return {l / 4 + e / 2 % 2 * 8, l % 4 * 2 + e % 2 + e / 4 * 8};
}
// To which of its rows the lane's sum e belongs, and which row of the matrix that is; lanes_of_row() adjacent lanes share a row.
GPU_DEVICE uint32_t rows_of_lane() { return warp_width() == 64 ? 4 : 2; }
GPU_DEVICE uint32_t own_row(uint32_t e) { return warp_width() == 64 ? e : e / 2 % 2; }
GPU_DEVICE uint32_t place_of_own_row(uint32_t r) {
  return warp_width() == 64 ? lane() / 16 * 4 + r : lane() / 4 + r * 8;
}
GPU_DEVICE uint32_t lanes_of_row() { return warp_width() == 64 ? 16 : 4; }

// Elements e and e + 1 of a share, for an even e, are neighbours in a row.
template <class T, class PlaceOf>
GPU_DEVICE void load_pairs(Share<T>& to, const Ptr<T>& tile, uint32_t pitch, PlaceOf place_of) {
  GPU_UNROLL for (uint32_t e = 0; e < kMostShare; e += 2) {
    if (e >= share()) break;
    const MatrixPlace at = place_of(e);
    const Vec<T, 2> pair = load_vec<2>(tile + (at.row * pitch + at.column));
    to.at[e] = pair.at[0];
    to.at[e + 1] = pair.at[1];
  }
}
template <class T>
GPU_DEVICE void load_left(Share<T>& to, const Ptr<T>& tile, uint32_t pitch) {
  load_pairs(to, tile, pitch, [](uint32_t e) { return place_of_left(e); });
}
// A row of the tile is a column of the right side: sums run along rows.
template <class T>
GPU_DEVICE void load_right(Share<T>& to, const Ptr<T>& tile, uint32_t pitch) {
  load_pairs(to, tile, pitch, [](uint32_t e) { return place_of_right(e); });
}
// The tile as it is: sums run along its columns.
template <class T>
GPU_DEVICE void load_right_across(Share<T>& to, const Ptr<T>& tile, uint32_t pitch) {
  GPU_UNROLL for (uint32_t e = 0; e < kMostShare; ++e) {
    if (e >= share()) break;
    const MatrixPlace at = place_of_right(e);
    to.at[e] = tile[at.column * pitch + at.row];
  }
}
GPU_DEVICE void clear(Share<float>& sums) {
  GPU_UNROLL for (uint32_t e = 0; e < kMostShare; ++e) sums.at[e] = 0;
}

#endif

}  // namespace tenon::gpu
