// Attention, forward: a block keeps some queries, walks the keys once, and rescales its sums whenever a larger score appears
// (online softmax, Milakov and Gimelshein 2018).
#include "attention.hpp"
#include "reduce.hpp"

namespace tenon::gpu {
namespace {

template <class T, uint32_t kWidth>
GPU_SIZED_KERNEL(ScoreTile<Compute<T>>::kThreads, attend, AttentionProblem<T> p) {
  using C = Compute<T>;
  using S = ScoreTile<C>;
  using Sum = SumTile<C, kWidth>;
  constexpr C kNone = -std::numeric_limits<C>::infinity();
  GPU_SHARED(C, room, kWeights<C>);
  const Ptr<C> weights = room;
  const auto [first, end, copy, b, h] = queries_of_block<S>(p);
  Matrix<T> q = p.q.over_columns(b, h), k = p.k.over_columns(b, h), v = p.v.over_rows(b, h);

  C out[Sum::kOfRow * Sum::kOfColumn], most[S::kOfRow], total[S::kOfRow];
  GPU_UNROLL for (uint32_t i = 0; i < Sum::kOfRow * Sum::kOfColumn; ++i) out[i] = C(0);
  GPU_UNROLL for (uint32_t i = 0; i < S::kOfRow; ++i) {
    most[i] = kNone;
    total[i] = C(0);
  }
  for (uint32_t key = 0; key < end; key += S::kColumns) {
    C s[S::kOfRow * S::kOfColumn];
    multiply<S>(q, k, first, key, 0, p.q.columns, s);
    GPU_UNROLL for (uint32_t i = 0; i < S::kOfRow; ++i) {
      const uint32_t row = first + tile_row<S, C>(i);
      C large = most[i];
      GPU_UNROLL for (uint32_t j = 0; j < S::kOfColumn; ++j) {
        const uint32_t column = key + tile_column<S, C>(j);
        C& score = s[i * S::kOfColumn + j];
        score = row < p.q.rows && column < end ? p.scores(score, b, h, row, column) : kNone;
        large = score > large || is_nan(score) ? score : large;
      }
      large = group_reduce(large, S::kAcross, Largest());
      const C shift = large == kNone ? C(0) : large, rescale = std::exp(most[i] - shift);
      most[i] = large;
      total[i] *= rescale;
      GPU_UNROLL for (uint32_t j = 0; j < S::kOfColumn; ++j) {
        C& score = s[i * S::kOfColumn + j];
        score = std::exp(score - shift);
        total[i] += score;
      }
      GPU_UNROLL for (uint32_t j = 0; j < Sum::kOfColumn; ++j) out[i * Sum::kOfColumn + j] *=
          rescale;
    }
    put_weights<C>(weights, s);
    add_product<Sum, C>(weights, v, key, end, out);
  }
  GPU_UNROLL for (uint32_t i = 0; i < S::kOfRow; ++i) {
    total[i] = group_reduce(total[i], S::kAcross, gpu::Sum());
    const uint32_t row = first + tile_row<S, C>(i);
    if (thread_index().x % S::kAcross == 0 && row < p.q.rows)
      p.lse[int64_t{copy} * p.q.rows + row] =
          total[i] == C(0) ? kNone : most[i] + std::log(total[i]);
    total[i] = total[i] == C(0) ? C(0) : C(1) / total[i];
  }
  store_sums<Sum, T>(p.y.of(b, h), p.y.row, first, p.q.rows, p.v.columns, total, out);
}

constexpr uint32_t kMost = 256;

bool supports(const tn_call& call, uint32_t form) {
  return with_plain_call<false>(call, form, [](const tn_call& plain) {
    return supports_attention<arg::attention>(plain, kMost);
  });
}

void run_plain(const tn_call& call) {
  using arg = tenon::arg::attention;
  const tn_view &q = input(call, arg::q), &k = input(call, arg::k), &v = input(call, arg::v);
  const int64_t h = q.shape[1];
  const uint32_t most = attention_width(q, v, kMost);
  with_attention<kMost>(q.dtype, most, [&](auto tag, auto width) {
    using T = typename decltype(tag)::type;
    using S = ScoreTile<Compute<T>>;
    const auto tiles = static_cast<uint32_t>((q.shape[2] + S::kRows - 1) / S::kRows),
               copies = static_cast<uint32_t>(q.shape[0] * h);
    const AttentionProblem<T> p{heads<T>(q, h),
                                heads<T>(k, h),
                                heads<T>(v, h),
                                read_scores<T>(AttentionCall::read<arg>(call)),
                                head_rows<T>(output(call)),
                                out<Compute<T>>(output(call, arg::result::lse)),
                                static_cast<uint32_t>(h),
                                tiles};
    if constexpr (sizeof(T) == 2)
      if (is_for_matrices(call, q.dtype, most)) return attend_on_matrices(call, p, most, copies);
    launch(call, {{tiles * copies, 1, 1}, {S::kThreads, 1, 1}}, attend<T, width>, p);
  });
}

void run(const tn_call& call, uint32_t form) { with_plain_call<false>(call, form, run_plain); }

}  // namespace

void add_attention_kernels(KernelList& list) {
  add_attention(
      list,
      {.schema = TN_SCHEMA_ATTENTION, .dtypes = Floats::kMask, .run = run, .supports = supports},
      TN_SCHEMA_ATTENTION_PACKED);
}

}  // namespace tenon::gpu
