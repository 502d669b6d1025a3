// Attention on matrix units, backward: the two kernels of ops/attention_backward.cpp with a warp for each 16 rows of a block. p and ds
// are rounded to the type of the operands, as matrix units require; sums are f32.
#include "attention_matrix.hpp"

namespace tenon::gpu {
namespace {

constexpr uint32_t kKeys = 64, kQueries = 32;  // of a step

// p and ds from a warp's products, with queries in its rows or in its columns.
template <bool kQueriesInRows, class T>
GPU_DEVICE void weigh_share(const AttentionGradients<T>& p, uint32_t b, uint32_t h, uint32_t row,
                            uint32_t column, Share<float>& s, Share<float>& ds) {
  GPU_UNROLL for (uint32_t e = 0; e < kMostShare; ++e) {
    if (e >= share()) break;
    const MatrixPlace at = place_of_sum(e);
    const uint32_t i = row + at.row, j = column + at.column;
    kQueriesInRows ? weigh(p, b, h, i, j, s.at[e], ds.at[e])
                   : weigh(p, b, h, j, i, s.at[e], ds.at[e]);
  }
}

// gq of the queries of a block.
template <class T, uint32_t kWidth>
GPU_SIZED_KERNEL(MatrixRows::kMostThreads, to_queries_by_warps, AttentionGradients<T> p,
                 HeadRows<T> gq) {
  constexpr uint32_t kDeep = kWidth / kMatrix, kTile = kKeys * (kWidth + kTilePad);
  static_assert(kKeys == MatrixRows::kRows);
  GPU_SHARED(T, room_of_keys, kTile);
  GPU_SHARED(T, room_of_values, kTile);
  GPU_SHARED(T, room_of_weights, MatrixRows::kRows * (kKeys + kTilePad));
  const Ptr<T> keys = room_of_keys, values = room_of_values, weights = room_of_weights;
  const Queries block = queries_of_block<MatrixRows>(p);
  const uint32_t own = warp() * kMatrix, first = block.first + own;

  Share<T> q[kDeep], g[kDeep];
  put_tile<MatrixRows::kRows, kWidth>(keys, p.q, block.b, block.h, block.first, p.q.rows);
  put_tile<MatrixRows::kRows, kWidth>(values, p.g, block.b, block.h, block.first, p.q.rows);
  sync_threads();
  load_rows(q, keys, own);
  load_rows(g, values, own);
  Share<float> out[kDeep];
  GPU_UNROLL for (uint32_t d = 0; d < kDeep; ++d) clear(out[d]);
  for (uint32_t key = 0; key < block.end; key += kKeys) {
    replace_tiles<kKeys, kWidth>(keys, p.k, values, p.v, block.b, block.h, key, block.end);
    for (uint32_t j = 0; j < kKeys; j += kMatrix) {
      Share<float> s, ds;
      multiply_rows(q, keys, j, s);
      multiply_rows(g, values, j, ds);
      weigh_share<true>(p, block.b, block.h, first, key + j, s, ds);
      put_weights<kKeys>(weights, own, j, ds);
    }
    sync_warp();
    add_weighted<kKeys>(weights, own, keys, out);
  }
  float scale[kMostRowsOfLane];
  GPU_UNROLL for (uint32_t r = 0; r < kMostRowsOfLane; ++r) scale[r] = p.scores.scale;
  store_rows(gq.of(block.b, block.h), gq.row, first, p.q.rows, p.q.columns, scale, out);
}

// gk and gv of the keys of a block, from all heads that share them.
template <class T, uint32_t kWidth>
GPU_SIZED_KERNEL(MatrixRows::kMostThreads, to_keys_by_warps, AttentionGradients<T> p,
                 HeadRows<T> gk, HeadRows<T> gv) {
  constexpr uint32_t kDeep = kWidth / kMatrix, kTile = MatrixRows::kRows * (kWidth + kTilePad);
  GPU_SHARED(T, room_of_queries, kTile);
  GPU_SHARED(T, room_of_gradients, kTile);
  GPU_SHARED(T, room_of_weights, MatrixRows::kRows * (kQueries + kTilePad));
  const Ptr<T> queries = room_of_queries, gradients = room_of_gradients, weights = room_of_weights;
  const uint32_t from = block_index().x % p.tiles * MatrixRows::kRows,
                 copy = block_index().x / p.tiles, kept = p.heads / p.k.group, b = copy / kept,
                 head = copy % kept * p.k.group;      // the first that has these keys
  const uint32_t start = p.scores.causal ? from : 0;  // earlier queries do not see these keys
  const uint32_t own = warp() * kMatrix, first = from + own;

  Share<T> k[kDeep], v[kDeep];
  put_tile<MatrixRows::kRows, kWidth>(queries, p.k, b, head, from, p.k.rows);
  put_tile<MatrixRows::kRows, kWidth>(gradients, p.v, b, head, from, p.k.rows);
  sync_threads();
  load_rows(k, queries, own);
  load_rows(v, gradients, own);
  Share<float> to_k[kDeep], to_v[kDeep];
  GPU_UNROLL for (uint32_t d = 0; d < kDeep; ++d) {
    clear(to_k[d]);
    clear(to_v[d]);
  }
  for (uint32_t h = head; h < head + p.k.group; ++h)
    for (uint32_t query = start; query < p.q.rows; query += kQueries) {
      replace_tiles<kQueries, kWidth>(queries, p.q, gradients, p.g, b, h, query, p.q.rows);
      Share<float> ds[kQueries / kMatrix];
      GPU_UNROLL for (uint32_t j = 0; j < kQueries / kMatrix; ++j) {
        Share<float> s;
        multiply_rows(k, queries, j * kMatrix, s);
        multiply_rows(v, gradients, j * kMatrix, ds[j]);
        weigh_share<false>(p, b, h, first, query + j * kMatrix, s, ds[j]);
        put_weights<kQueries>(weights, own, j * kMatrix, s);
      }
      sync_warp();
      add_weighted<kQueries>(weights, own, gradients, to_v);
      sync_warp();  // the weights have been read
      GPU_UNROLL for (uint32_t j = 0; j < kQueries / kMatrix; ++j)
          put_weights<kQueries>(weights, own, j * kMatrix, ds[j]);
      sync_warp();
      add_weighted<kQueries>(weights, own, queries, to_k);
    }
  float scale[kMostRowsOfLane], one[kMostRowsOfLane];
  GPU_UNROLL for (uint32_t r = 0; r < kMostRowsOfLane; ++r) {
    scale[r] = p.scores.scale;
    one[r] = 1;
  }
  const uint32_t of = copy % kept;
  store_rows(gk.of(b, of), gk.row, first, p.k.rows, p.k.columns, scale, to_k);
  store_rows(gv.of(b, of), gv.row, first, p.v.rows, p.v.columns, one, to_v);
}

}  // namespace

template <class T>
void attend_back_on_matrices(const tn_call& call, AttentionGradients<T> p,
                             const HeadRows<T> (&results)[3], uint32_t width, uint32_t copies,
                             uint32_t kept) {
  const Dim threads{threads_on_matrices(call), 1, 1};
  with_matrix_width(width, [&](auto w) {
    p.tiles = tiles_on_matrices(p.q.rows);
    launch(call, {{p.tiles * copies, 1, 1}, threads}, to_queries_by_warps<T, w>, p, results[0]);
    p.tiles = tiles_on_matrices(p.k.rows);
    launch(call, {{p.tiles * kept, 1, 1}, threads}, to_keys_by_warps<T, w>, p, results[1],
           results[2]);
  });
}
template void attend_back_on_matrices(const tn_call&, AttentionGradients<Half>,
                                      const HeadRows<Half> (&)[3], uint32_t, uint32_t, uint32_t);
template void attend_back_on_matrices(const tn_call&, AttentionGradients<BFloat16>,
                                      const HeadRows<BFloat16> (&)[3], uint32_t, uint32_t,
                                      uint32_t);

}  // namespace tenon::gpu
