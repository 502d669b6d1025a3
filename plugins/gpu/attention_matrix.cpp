// Attention on matrix units, forward: like ops/attention.cpp, but with a warp for each 16 queries of a block. Weights are rounded to the
// type of v, as matrix units require; sums are f32.
#include "attention_matrix.hpp"

#include "code_for.hpp"
#include "reduce.hpp"

namespace tenon::gpu {
namespace {

constexpr uint32_t kKeys = 64;  // of a step

// For each row of which a lane has a part: the largest score so far, and Σ e^(score − largest) over its part.
struct OnlineRows {
  float most[kMostRowsOfLane], total[kMostRowsOfLane];
};

// Turns scores into weights; returns the factors by which to multiply the sums so far.
GPU_DEVICE void weigh_rows(Share<float> (&scores)[kKeys / kMatrix], OnlineRows& rows,
                           float (&rescale)[kMostRowsOfLane]) {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  float large[kMostRowsOfLane];
  GPU_UNROLL for (uint32_t r = 0; r < kMostRowsOfLane; ++r) large[r] = rows.most[r];
  GPU_UNROLL for (uint32_t j = 0; j < kKeys / kMatrix; ++j)
      GPU_UNROLL for (uint32_t e = 0; e < kMostShare; ++e) {
    if (e >= share()) break;
    const float score = scores[j].at[e];
    float& found = large[own_row(e)];
    found = score > found || is_nan(score) ? score : found;
  }
  float shift[kMostRowsOfLane];
  GPU_UNROLL for (uint32_t r = 0; r < kMostRowsOfLane; ++r) {
    if (r >= rows_of_lane()) break;
    large[r] = group_reduce(large[r], lanes_of_row(), Largest());
    shift[r] = large[r] == kNone ? 0.0f : large[r];
    rescale[r] = std::exp(rows.most[r] - shift[r]);
    rows.most[r] = large[r];
    rows.total[r] *= rescale[r];
  }
  GPU_UNROLL for (uint32_t j = 0; j < kKeys / kMatrix; ++j)
      GPU_UNROLL for (uint32_t e = 0; e < kMostShare; ++e) {
    if (e >= share()) break;
    float& score = scores[j].at[e];
    score = std::exp(score - shift[own_row(e)]);
    rows.total[own_row(e)] += score;
  }
}

template <class T, uint32_t kWidth>
GPU_SIZED_KERNEL(MatrixRows::kMostThreads, attend_by_warps, AttentionProblem<T> p) {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  constexpr uint32_t kDeep = kWidth / kMatrix, kTile = kKeys * (kWidth + kTilePad);
  static_assert(kKeys == MatrixRows::kRows);
  GPU_SHARED(T, room_of_keys, kTile);
  GPU_SHARED(T, room_of_values, kTile);
  GPU_SHARED(T, room_of_weights, MatrixRows::kRows * (kKeys + kTilePad));
  const Ptr<T> keys = room_of_keys, values = room_of_values, weights = room_of_weights;
  const Queries block = queries_of_block<MatrixRows>(p);
  const uint32_t own = warp() * kMatrix, first = block.first + own;

  Share<T> q[kDeep];
  put_tile<MatrixRows::kRows, kWidth>(keys, p.q, block.b, block.h, block.first, p.q.rows);
  sync_threads();
  load_rows(q, keys, own);
  Share<float> out[kDeep];
  OnlineRows rows;
  GPU_UNROLL for (uint32_t d = 0; d < kDeep; ++d) clear(out[d]);
  GPU_UNROLL for (uint32_t r = 0; r < kMostRowsOfLane; ++r) {
    rows.most[r] = kNone;
    rows.total[r] = 0;
  }
  for (uint32_t key = 0; key < block.end; key += kKeys) {
    replace_tiles<kKeys, kWidth>(keys, p.k, values, p.v, block.b, block.h, key, block.end);
    Share<float> s[kKeys / kMatrix];
    GPU_UNROLL for (uint32_t j = 0; j < kKeys / kMatrix; ++j) {
      multiply_rows(q, keys, j * kMatrix, s[j]);
      GPU_UNROLL for (uint32_t e = 0; e < kMostShare; ++e) {
        if (e >= share()) break;
        const MatrixPlace at = place_of_sum(e);
        const uint32_t row = first + at.row, column = key + j * kMatrix + at.column;
        float& score = s[j].at[e];
        score = row < p.q.rows && column < block.end
                    ? p.scores(score, block.b, block.h, row, column)
                    : kNone;
      }
    }
    float rescale[kMostRowsOfLane];
    weigh_rows(s, rows, rescale);
    GPU_UNROLL for (uint32_t j = 0; j < kKeys / kMatrix; ++j)
        put_weights<kKeys>(weights, own, j * kMatrix, s[j]);
    GPU_UNROLL for (uint32_t d = 0; d < kDeep; ++d)
        GPU_UNROLL for (uint32_t e = 0; e < kMostShare; ++e) {
      if (e >= share()) break;
      out[d].at[e] *= rescale[own_row(e)];
    }
    sync_warp();
    add_weighted<kKeys>(weights, own, values, out);
  }
  float factors[kMostRowsOfLane];
  GPU_UNROLL for (uint32_t r = 0; r < kMostRowsOfLane; ++r) {
    if (r >= rows_of_lane()) break;
    const float total = group_reduce(rows.total[r], lanes_of_row(), Sum());
    const uint32_t row = first + place_of_own_row(r);
    if (lane() % lanes_of_row() == 0 && row < p.q.rows)
      p.lse[int64_t{block.copy} * p.q.rows + row] =
          total == 0 ? kNone : rows.most[r] + std::log(total);
    factors[r] = total == 0 ? 0.0f : 1 / total;
  }
  store_rows(p.y.of(block.b, block.h), p.y.row, first, p.q.rows, p.v.columns, factors, out);
}

}  // namespace

bool is_for_matrices(const tn_call& call, tn_dtype dtype, uint32_t width) {
  const rt::Device& device = backend().device(call.device_index);
  return (TN_MASK(dtype) & TN_MASK_HALF) != 0 && width <= kMostOnMatrices &&
         has_matrix_units(rt::code_for(device.architecture), device.warp_width);
}

template <class T>
void attend_on_matrices(const tn_call& call, AttentionProblem<T> p, uint32_t width,
                        uint32_t copies) {
  p.tiles = tiles_on_matrices(p.q.rows);
  const Grid grid{{p.tiles * copies, 1, 1}, {threads_on_matrices(call), 1, 1}};
  with_matrix_width(width, [&](auto w) { launch(call, grid, attend_by_warps<T, w>, p); });
}
template void attend_on_matrices(const tn_call&, AttentionProblem<Half>, uint32_t, uint32_t);
template void attend_on_matrices(const tn_call&, AttentionProblem<BFloat16>, uint32_t, uint32_t);

}  // namespace tenon::gpu
