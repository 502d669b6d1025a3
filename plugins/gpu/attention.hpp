// Parts that attention's kernels share. Scores are computed one tile at a time, weighed in registers and multiplied from shared memory,
// so that none is ever written to memory: Dao et al. 2022, with the loop order of Dao 2023.
#pragma once

#include "../common/attention_call.hpp"
#include "../common/attention_kernels.hpp"
#include "kernels.hpp"
#include "matmul.hpp"

namespace tenon::gpu {

// The scores of a block: queries by keys, or keys by queries.
template <class C>
using ScoreTile = std::conditional_t<sizeof(C) == 8, SmallTile<C>, Tile<64, 64, 16, 4, 4>>;
// A block's sums over scores: as many rows as its scores, and kWidth columns.
template <class C, uint32_t kWidth>
using SumTile = Tile<ScoreTile<C>::kRows, kWidth, (sizeof(C) == 8 ? 256 : 1024) / kWidth,
                     ScoreTile<C>::kOfRow, kWidth / ScoreTile<C>::kAcross>;

// A (B, H, N, W) operand of any strides, each of whose heads serves `group` heads of the queries.
template <class T>
struct Heads {
  Ptr<const T> at;
  int64_t batch, head, row, column;
  uint32_t rows, columns, group;
  bool aligned;  // vectors of columns are aligned

#if !defined(TENON_GPU_HOST_ONLY)
  // A row of it is a row (on the right, a column) of a product that sums over its columns.
  GPU_DEVICE Matrix<T> over_columns(uint32_t b, uint32_t h) const {
    return {at + (b * batch + h / group * head), row, column, rows, column == 1, aligned};
  }
  // The right side of a product that sums over its rows.
  GPU_DEVICE Matrix<T> over_rows(uint32_t b, uint32_t h) const {
    return {at + (b * batch + h / group * head),
            column,
            row,
            columns,
            column != 1 && row == 1,
            aligned};
  }
#endif
};

template <class T>
Heads<T> heads(const tn_view& x, int64_t queries_heads) {
  constexpr int64_t kN = sizeof(T) == 8 ? 2 : 4;
  const int64_t* s = x.strides;
  const bool even = s[3] == 1 && s[0] % kN == 0 && s[1] % kN == 0 && s[2] % kN == 0 &&
                    reinterpret_cast<uintptr_t>(x.data) % (kN * sizeof(T)) == 0;
  const auto group = static_cast<uint32_t>(queries_heads / std::max<int64_t>(x.shape[1], 1));
  return {in<T>(x),
          s[0],
          s[1],
          s[2],
          s[3],
          static_cast<uint32_t>(x.shape[2]),
          static_cast<uint32_t>(x.shape[3]),
          std::max(group, 1u),
          even};
}

// A (B, H, N, W) result with contiguous rows, wherever they are.
template <class T>
struct HeadRows {
  Ptr<T> at;
  int64_t batch, head, row;

#if !defined(TENON_GPU_HOST_ONLY)
  GPU_DEVICE Ptr<T> of(uint32_t b, uint32_t h) const { return at + (b * batch + h * head); }
#endif
};
template <class T>
HeadRows<T> head_rows(const tn_view& x) {
  return {out<T>(x), x.strides[0], x.strides[1], x.strides[2]};
}

// Turns products of queries and keys into scores; −∞ where the mask or causality forbids.
template <class T>
struct Scores {
  Compute<T> scale;
  bool causal;
  Ptr<const bool> allowed;  // at most one of the two
  Ptr<const T> bias;
  int64_t batch, head, row, column;  // strides of the mask

  GPU_DEVICE Compute<T> operator()(Compute<T> product, uint32_t b, uint32_t h, uint32_t i,
                                   uint32_t j) const {
    constexpr auto kForbidden = -std::numeric_limits<Compute<T>>::infinity();
    if (causal && j > i) return kForbidden;
    const int64_t at = b * batch + h * head + i * row + j * column;
    if (allowed) {
      const bool yes = allowed[at];
      if (!yes) return kForbidden;
    }
    const Compute<T> score = product * scale;
    return bias ? score + load<T>(bias, at) : score;
  }
};

template <class T>
Scores<T> read_scores(const AttentionCall& call) {
  const tn_view* mask = call.mask;
  const bool allows = mask != nullptr && mask->dtype == TN_DTYPE_BOOL;
  const int64_t* strides = call.mask_strides;
  return {static_cast<Compute<T>>(call.scale),
          call.causal,
          allows ? in<bool>(*mask) : Ptr<const bool>(nullptr),
          mask != nullptr && !allows ? in<T>(*mask) : Ptr<const T>(nullptr),
          strides[0],
          strides[1],
          strides[2],
          strides[3]};
}

// The arguments of attention's kernels.
template <class T>
struct AttentionProblem {
  Heads<T> q, k, v;
  Scores<T> scores;
  HeadRows<T> y;
  Ptr<Compute<T>> lse;
  uint32_t heads, tiles;  // tiles of queries
};
// The arguments of the gradients' kernels.
template <class T>
struct AttentionGradients {
  using C = Compute<T>;
  Heads<T> g, q, k, v, y;
  Scores<T> scores;
  Ptr<C> base, along;  // for each query: lse, 0 if it has no key; Σ g∘y − d lse
  uint32_t heads, tiles;
};

// On matrix units, if the device has them, for half types and widths up to kMostOnMatrices. `copies`: of q, of k.
inline constexpr uint32_t kMostOnMatrices = 128;
bool is_for_matrices(const tn_call& call, tn_dtype dtype, uint32_t width);
template <class T>
void attend_on_matrices(const tn_call& call, AttentionProblem<T> p, uint32_t width,
                        uint32_t copies);
template <class T>
void attend_back_on_matrices(const tn_call& call, AttentionGradients<T> p,
                             const HeadRows<T> (&results)[3], uint32_t width, uint32_t copies,
                             uint32_t kept);

// The widths that kernels exist for; 0: none.
inline uint32_t attention_width(const tn_view& q, const tn_view& v, uint32_t most) {
  const int64_t wanted = std::max(q.shape[3], v.shape[3]);
  const uint32_t width = wanted <= 64 ? 64 : wanted <= 128 ? 128 : 256;
  return wanted <= 256 && width <= (q.dtype == TN_DTYPE_F64 ? 64 : most) ? width : 0;
}
// Whether 32 bits suffice to count rows and blocks.
inline bool attention_fits(const tn_view& q, const tn_view& k) {
  const int64_t copies = q.shape[0] * q.shape[1];
  return std::max(q.shape[2], k.shape[2]) < (1 << 30) &&
         std::max(q.shape[2], k.shape[2]) / 32 + 1 <= INT32_MAX / std::max<int64_t>(copies, 1);
}
// Whether there is a kernel for a call of `arg`, attention or its backward op, of widths up to `most`.
template <class arg>
bool supports_attention(const tn_call& call, uint32_t most) {
  const tn_view &q = input(call, arg::q), &k = input(call, arg::k), &v = input(call, arg::v);
  return attention_width(q, v, most) != 0 && attention_fits(q, k);
}
// fn(TypeTag<T>, integral_constant of the width), for dtypes and widths up to `kMost`.
template <uint32_t kMost, class Fn>
void with_attention(tn_dtype dtype, uint32_t width, Fn&& fn) {
  with_type(Floats{}, dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (width == 64) return fn(tag, std::integral_constant<uint32_t, 64>{});
    if constexpr (sizeof(T) < 8) {
      if (width == 128) return fn(tag, std::integral_constant<uint32_t, 128>{});
      if constexpr (kMost >= 256) fn(tag, std::integral_constant<uint32_t, 256>{});
    }
  });
}

#if !defined(TENON_GPU_HOST_ONLY)

// The position in a tile of the thread's element (i, j).
template <class S, class C>
GPU_DEVICE uint32_t tile_row(uint32_t i) {
  return sum_place<S::kOfRow, C>(i, thread_index().x / S::kAcross, S::kThreads / S::kAcross);
}
template <class S, class C>
GPU_DEVICE uint32_t tile_column(uint32_t j) {
  return sum_place<S::kOfColumn, C>(j, thread_index().x % S::kAcross, S::kAcross);
}

// Turns products of queries and keys, and of g and v, into p and ds.
template <class T>
GPU_DEVICE void weigh(const AttentionGradients<T>& p, uint32_t b, uint32_t h, uint32_t query,
                      uint32_t key, Compute<T>& product, Compute<T>& gradient) {
  using C = Compute<T>;
  if (query >= p.q.rows || key >= p.k.rows) {
    product = gradient = C(0);
    return;
  }
  const int64_t row = (int64_t{b} * p.heads + h) * p.q.rows + query;
  const C base = p.base[row], along = p.along[row];
  product = std::exp(p.scores(product, b, h, query, key) - base);
  gradient = product * (gradient - along);
}

// The queries of a block: the first one, the end of the keys that they see, and their batch entry and head (copy counts b and h).
struct Queries {
  uint32_t first, end, copy, b, h;
};
template <class S, class Problem>
GPU_DEVICE Queries queries_of_block(const Problem& p) {
  // Under causality later queries see more keys, so they begin first.
  const uint32_t first = (p.tiles - 1 - block_index().x % p.tiles) * S::kRows;
  const uint32_t end = p.scores.causal && first + S::kRows < p.k.rows ? first + S::kRows : p.k.rows;
  const uint32_t copy = block_index().x / p.tiles;
  return {first, end, copy, copy / p.heads, copy % p.heads};
}

// Weights of scores in shared memory, column by column, as the left side of a product.
template <class C>
inline constexpr uint32_t kWeightPitch = ScoreTile<C>::kRows + 16 / sizeof(C);
template <class C>
inline constexpr uint32_t kWeights = ScoreTile<C>::kColumns* kWeightPitch<C>;

template <class C>
GPU_DEVICE void put_weights(const Ptr<C>& to, const C* weights) {
  using S = ScoreTile<C>;
  constexpr uint32_t kN = kFragment<S::kOfRow, C>;
  GPU_UNROLL for (uint32_t j = 0; j < S::kOfColumn; ++j) {
    const uint32_t column = tile_column<S, C>(j);
    GPU_UNROLL for (uint32_t i = 0; i < S::kOfRow; i += kN) {
      Vec<C, kN> some;
      GPU_UNROLL for (uint32_t e = 0; e < kN; ++e) some.at[e] = weights[(i + e) * S::kOfColumn + j];
      store_vec<kN>(to + (column * kWeightPitch<C> + tile_row<S, C>(i)), some);
    }
  }
}

// sums += weights · rows [first, end) of the right side. Call it from every thread of the block, after put_weights.
template <class Sum, class C, class Source>
GPU_DEVICE void add_product(const Ptr<C>& weights, Source& right, uint32_t first, uint32_t end,
                            C (&sums)[Sum::kOfRow * Sum::kOfColumn]) {
  using FeedRight = Feed<Sum, Sum::kColumns, Source, C>;
  GPU_SHARED(C, room, Sum::kDepth * FeedRight::kPitch);
  const Ptr<C> tile = room;
  FeedRight feed;
  for (uint32_t k = 0; k < ScoreTile<C>::kColumns; k += Sum::kDepth) {
    feed.fetch(right, 0, first + k, end);
    sync_threads();  // earlier contents have been read, and the weights are in place
    feed.put(right, tile);
    sync_threads();
    multiply_step<Sum>(weights + k * kWeightPitch<C>, tile, kWeightPitch<C>, FeedRight::kPitch,
                       sums);
  }
}

// Writes a thread's sums, times `factor`, to rows from `first` on of a (rows, columns) matrix with a row stride of `pitch`.
template <class Sum, class T, class C>
GPU_DEVICE void store_sums(const Ptr<T>& to, int64_t pitch, uint32_t first, uint32_t rows,
                           uint32_t columns, const C* factors, const C* sums) {
  GPU_UNROLL for (uint32_t i = 0; i < Sum::kOfRow; ++i) {
    const uint32_t row = first + tile_row<Sum, C>(i);
    GPU_UNROLL for (uint32_t j = 0; j < Sum::kOfColumn; ++j) {
      const uint32_t column = tile_column<Sum, C>(j);
      if (row < rows && column < columns)
        store<T>(to, row * pitch + column, sums[i * Sum::kOfColumn + j] * factors[i]);
    }
  }
}

#endif

}  // namespace tenon::gpu
