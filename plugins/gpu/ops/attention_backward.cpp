// Attention, backward: weights are recomputed from the forward's lse. One kernel keeps keys and walks the queries, the other keeps
// queries and walks the keys, so that no sum needs atomics: p = e^(s − lse), ds = p∘(g·vᵀ − Σ g∘y + d lse), gv = pᵀ·g, gk = scale·dsᵀ·q,
// gq = scale·ds·k (Dao et al. 2022, app. B.4).
#include "attention.hpp"
#include "reduce.hpp"

namespace tenon::gpu {
namespace {

constexpr uint32_t kMost = 128;
constexpr uint32_t kLanes = 16;  // threads for a row of g and y

struct Rows3 {
  int64_t batch, head, row;  // strides of a (B, H, L) operand
};

template <class T>
GPU_KERNEL prepare_rows(AttentionGradients<T> p, Ptr<const Compute<T>> lse, Rows3 at_lse,
                        Ptr<const Compute<T>> glse, Rows3 at_glse, uint32_t copies) {
  using C = Compute<T>;
  const int64_t rows = int64_t{copies} * p.q.rows, each = block_size().x / kLanes;
  const uint32_t part = thread_index().x % kLanes;
  for (int64_t start = int64_t{block_index().x} * each; start < rows;
       start += int64_t{block_count().x} * each) {
    const int64_t place = start + thread_index().x / kLanes;
    const int64_t copy = place / p.q.rows, i = place % p.q.rows, b = copy / p.heads,
                  h = copy % p.heads;
    C sum = C(0);
    if (place < rows)
      for (uint32_t f = part; f < p.g.columns; f += kLanes)
        sum += load<T>(p.g.at, b * p.g.batch + h * p.g.head + i * p.g.row + f * p.g.column) *
               load<T>(p.y.at, b * p.y.batch + h * p.y.head + i * p.y.row + f * p.y.column);
    sum = group_reduce(sum, kLanes, gpu::Sum());
    if (place >= rows || part != 0) continue;
    if (glse) {
      const C more = glse[b * at_glse.batch + h * at_glse.head + i * at_glse.row];
      sum -= more;
    }
    const C kept = lse[b * at_lse.batch + h * at_lse.head + i * at_lse.row];
    p.base[place] = kept == -std::numeric_limits<C>::infinity() ? C(0) : kept;
    p.along[place] = sum;
  }
}

// gq of the queries of a block.
template <class T, uint32_t kWidth>
GPU_SIZED_KERNEL(ScoreTile<Compute<T>>::kThreads, to_queries, AttentionGradients<T> p,
                 HeadRows<T> gq) {
  using C = Compute<T>;
  using S = ScoreTile<C>;
  using Sum = SumTile<C, kWidth>;
  GPU_SHARED(C, room, kWeights<C>);
  const Ptr<C> weights = room;
  const auto [first, end, copy, b, h] = queries_of_block<S>(p);
  Matrix<T> q = p.q.over_columns(b, h), k = p.k.over_columns(b, h), g = p.g.over_columns(b, h),
            v = p.v.over_columns(b, h), right = p.k.over_rows(b, h);
  C out[Sum::kOfRow * Sum::kOfColumn], scale[Sum::kOfRow];
  GPU_UNROLL for (uint32_t i = 0; i < Sum::kOfRow * Sum::kOfColumn; ++i) out[i] = C(0);
  GPU_UNROLL for (uint32_t i = 0; i < Sum::kOfRow; ++i) scale[i] = p.scores.scale;
  for (uint32_t key = 0; key < end; key += S::kColumns) {
    C s[S::kOfRow * S::kOfColumn], ds[S::kOfRow * S::kOfColumn];
    multiply<S>(q, k, first, key, 0, p.q.columns, s);
    multiply<S>(g, v, first, key, 0, p.v.columns, ds);
    GPU_UNROLL for (uint32_t i = 0; i < S::kOfRow; ++i)
        GPU_UNROLL for (uint32_t j = 0; j < S::kOfColumn; ++j)
            weigh(p, b, h, first + tile_row<S, C>(i), key + tile_column<S, C>(j),
                  s[i * S::kOfColumn + j], ds[i * S::kOfColumn + j]);
    put_weights<C>(weights, ds);
    add_product<Sum, C>(weights, right, key, end, out);
  }
  store_sums<Sum, T>(gq.of(b, h), gq.row, first, p.q.rows, p.q.columns, scale, out);
}

// gk and gv of the keys of a block, from all heads that share them.
template <class T, uint32_t kWidth>
GPU_SIZED_KERNEL(ScoreTile<Compute<T>>::kThreads, to_keys, AttentionGradients<T> p, HeadRows<T> gk,
                 HeadRows<T> gv) {
  using C = Compute<T>;
  using S = ScoreTile<C>;
  using Sum = SumTile<C, kWidth>;
  GPU_SHARED(C, room, kWeights<C>);
  const Ptr<C> weights = room;
  const uint32_t first = block_index().x % p.tiles * S::kRows, copy = block_index().x / p.tiles;
  const uint32_t kept = p.heads / p.k.group, b = copy / kept;
  const uint32_t start = p.scores.causal ? first : 0;  // earlier queries do not see these keys
  C to_k[Sum::kOfRow * Sum::kOfColumn], to_v[Sum::kOfRow * Sum::kOfColumn], scale[Sum::kOfRow],
      one[Sum::kOfRow];
  GPU_UNROLL for (uint32_t i = 0; i < Sum::kOfRow * Sum::kOfColumn; ++i) to_k[i] = to_v[i] = C(0);
  GPU_UNROLL for (uint32_t i = 0; i < Sum::kOfRow; ++i) {
    scale[i] = p.scores.scale;
    one[i] = C(1);
  }
  for (uint32_t h = copy % kept * p.k.group; h < (copy % kept + 1) * p.k.group; ++h) {
    Matrix<T> q = p.q.over_columns(b, h), k = p.k.over_columns(b, h), g = p.g.over_columns(b, h),
              v = p.v.over_columns(b, h), queries = p.q.over_rows(b, h),
              gradients = p.g.over_rows(b, h);
    for (uint32_t query = start; query < p.q.rows; query += S::kColumns) {
      C s[S::kOfRow * S::kOfColumn], ds[S::kOfRow * S::kOfColumn];
      multiply<S>(k, q, first, query, 0, p.q.columns, s);
      multiply<S>(v, g, first, query, 0, p.v.columns, ds);
      GPU_UNROLL for (uint32_t i = 0; i < S::kOfRow; ++i)
          GPU_UNROLL for (uint32_t j = 0; j < S::kOfColumn; ++j)
              weigh(p, b, h, query + tile_column<S, C>(j), first + tile_row<S, C>(i),
                    s[i * S::kOfColumn + j], ds[i * S::kOfColumn + j]);
      put_weights<C>(weights, s);
      add_product<Sum, C>(weights, gradients, query, p.q.rows, to_v);
      sync_threads();  // the weights have been read
      put_weights<C>(weights, ds);
      add_product<Sum, C>(weights, queries, query, p.q.rows, to_k);
    }
  }
  const uint32_t own = copy % kept;
  store_sums<Sum, T>(gk.of(b, own), gk.row, first, p.k.rows, p.k.columns, scale, to_k);
  store_sums<Sum, T>(gv.of(b, own), gv.row, first, p.v.rows, p.v.columns, one, to_v);
}

bool supports(const tn_call& call, uint32_t form) {
  return with_plain_call<true>(call, form, [](const tn_call& plain) {
    return supports_attention<arg::attention_backward>(plain, kMost);
  });
}

uint64_t scratch_bytes(const tn_call& call, uint32_t form) {
  const uint32_t lse =
      form == kPacked ? arg::attention_packed_backward::lse : arg::attention_backward::lse;
  return 2 * static_cast<uint64_t>(numel(input(call, lse))) * 8;
}

Rows3 strides_of(const tn_view* x) {
  return x == nullptr ? Rows3{} : Rows3{x->strides[0], x->strides[1], x->strides[2]};
}

template <class T, uint32_t kWidth>
void run_of(const tn_call& call) {
  using arg = tenon::arg::attention_backward;
  using C = Compute<T>;
  using S = ScoreTile<C>;
  const tn_view &q = input(call, arg::q), &k = input(call, arg::k), &lse = input(call, arg::lse);
  const tn_view* glse = input_or_null(call, arg::glse);
  const int64_t h = q.shape[1], rows = numel(lse);
  const auto copies = static_cast<uint32_t>(q.shape[0] * h),
             kept = static_cast<uint32_t>(k.shape[0] * k.shape[1]);
  AttentionGradients<T> p{heads<T>(input(call, arg::g), h),
                          heads<T>(q, h),
                          heads<T>(k, h),
                          heads<T>(input(call, arg::v), h),
                          heads<T>(input(call, arg::y), h),
                          read_scores<T>(AttentionCall::read<arg>(call)),
                          scratch<C>(call, 0, rows),
                          scratch<C>(call, static_cast<uint64_t>(rows) * 8, rows),
                          static_cast<uint32_t>(h),
                          0};
  launch(call, grid_of(rows * kLanes), prepare_rows<T>, p, in<C>(lse), strides_of(&lse),
         in_or_null<C>(glse), strides_of(glse), copies);
  const HeadRows<T> results[] = {head_rows<T>(output(call, arg::result::gq)),
                                 head_rows<T>(output(call, arg::result::gk)),
                                 head_rows<T>(output(call, arg::result::gv))};
  if constexpr (sizeof(T) == 2)
    if (is_for_matrices(call, q.dtype, kWidth))
      return attend_back_on_matrices(call, p, results, kWidth, copies, kept);
  const auto tiles = [](int64_t n) { return static_cast<uint32_t>((n + S::kRows - 1) / S::kRows); };
  p.tiles = tiles(q.shape[2]);
  launch(call, {{p.tiles * copies, 1, 1}, {S::kThreads, 1, 1}}, to_queries<T, kWidth>, p,
         results[0]);
  p.tiles = tiles(k.shape[2]);
  launch(call, {{p.tiles * kept, 1, 1}, {S::kThreads, 1, 1}}, to_keys<T, kWidth>, p, results[1],
         results[2]);
}

void run_plain(const tn_call& call) {
  using arg = tenon::arg::attention_backward;
  const tn_view& q = input(call, arg::q);
  with_attention<kMost>(
      q.dtype, attention_width(q, input(call, arg::v), kMost),
      [&](auto tag, auto width) { run_of<typename decltype(tag)::type, width>(call); });
}

void run(const tn_call& call, uint32_t form) { with_plain_call<true>(call, form, run_plain); }

}  // namespace

void add_attention_backward_kernels(KernelList& list) {
  add_attention(list,
                {.schema = TN_SCHEMA_ATTENTION_BACKWARD,
                 .dtypes = Floats::kMask,
                 .run = run,
                 .supports = supports,
                 .scratch = scratch_bytes},
                TN_SCHEMA_ATTENTION_PACKED_BACKWARD);
}

}  // namespace tenon::gpu
