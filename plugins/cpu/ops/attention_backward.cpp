// Attention, backward: weights are made again from the forward's lse, a tile at a time. p = e^(s − lse),
// ds = p∘(g·vᵀ − Σ g∘y + d lse), gv = pᵀ·g, gk = scale·dsᵀ·q, gq = scale·ds·k (Dao et al. 2022, app. B.4).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attention_backward.cpp"
#include <hwy/foreach_target.h>

#include "attention-inl.hpp"
#include "float_kernels.hpp"
#include "kernels.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

using names = tenon::arg::attention_backward;

// One piece of work keeps a head of keys and goes over the queries that it serves, or over one of some shares of them where there
// are few heads. How many depends on shapes alone, so that results do not depend on the number of threads.
constexpr int64_t kPieces = 8;

template <class T>
struct Backward {
  using C = Compute<T>;
  AttentionCall call;
  const tn_view *g, *y, *lse, *glse;
  T *gq, *gk, *gv;
  int64_t shares = 1;
  C* sums = nullptr;  // a piece's gk and gv, where they are not summed in the results

  explicit Backward(const tn_call& c)
      : call(AttentionCall::read<names>(c)),
        g(&input(c, names::g)),
        y(&input(c, names::y)),
        lse(&input(c, names::lse)),
        glse(input_or_null(c, names::glse)),
        gq(data_of<T>(output(c, names::result::gq))),
        gk(data_of<T>(output(c, names::result::gk))),
        gv(data_of<T>(output(c, names::result::gv))) {
    const int64_t tiles = tiles_of(call.queries(), kQueries) * call.heads_of_group();
    shares = std::clamp<int64_t>(kPieces / std::max<int64_t>(1, heads()), 1,
                                 std::max<int64_t>(1, tiles));
  }

  int64_t heads() const { return call.batch() * call.groups(); }
  int64_t key_size() const { return call.keys() * call.width(); }
  int64_t value_size() const { return call.keys() * call.value_width(); }
  bool in_place() const { return std::is_same_v<T, C> && shares == 1; }
};

// Tiles of one piece.
template <class T>
struct Tiles {
  using C = Compute<T>;
  // keys and values of the head: packed blocks, and keys as rows where they are halves
  C *keys, *values, *key_rows;
  C *q, *g, *gq, *scores, *slopes;  // of some queries
  C *shift, *along;                 // lse and Σ g∘y − d lse of each query

  explicit Tiles(const AttentionCall& a) {
    const int64_t e = a.width(), w = a.value_width();
    const struct {
      C** at;
      int64_t count;
    } parts[] = {{&keys, packed_size(a.keys(), e)},
                 {&values, packed_size(a.keys(), w)},
                 {&key_rows, is_half_v<T> ? a.keys() * e : 0},
                 {&q, kQueries * e},
                 {&g, kQueries * w},
                 {&gq, kQueries * e},
                 {&scores, kQueries * kKeys},
                 {&slopes, kQueries * kKeys},
                 {&shift, kQueries},
                 {&along, kQueries}};
    size_t bytes = 0;
    for (const auto& part : parts) bytes += Room::bytes_of<C>(part.count);
    Room room(Workspace::Attention, bytes);
    for (const auto& part : parts) *part.at = room.take<C>(part.count);
  }
};

template <class T>
void pack_head(const Backward<T>& f, const Tiles<T>& t, int64_t b, int64_t head) {
  const HeadRows<T> k(*f.call.k, b, head), v(*f.call.v, b, head);
  for (int64_t key = 0; key < f.call.keys(); key += kKeys) {
    const int64_t n = std::min(kKeys, f.call.keys() - key);
    pack_rows(rows_of(k, key, n, t.key_rows + (is_half_v<T> ? key * k.width : 0)), k.width, n,
              t.keys + key * k.width);
    pack_rows(rows_of(v, key, n, t.g), v.width, n, t.values + key * v.width);
  }
}

// Σ x∘y over n elements, those of y `step` apart.
template <class C, class T>
C dot(const C* x, const T* y, int64_t step, int64_t n) {
  if (step == 1)
    return sum_pairs(hn::ScalableTag<C>(), x, y, static_cast<size_t>(n),
                     [](auto a, auto b) HWY_ATTR { return hn::Mul(a, b); });
  C sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i] * static_cast<C>(y[i * step]);
  return sum;
}

template <class C>
C statistic_at(const tn_view& x, int64_t b, int64_t h, int64_t query) {
  return data_of<const C>(x)[b * x.strides[0] + h * x.strides[1] + query * x.strides[2]];
}

// What the tile keeps of `rows` queries from `first` on.
template <class T>
void load_queries(const Backward<T>& f, const Tiles<T>& t, int64_t b, int64_t h, int64_t first,
                  int64_t rows) {
  using C = Compute<T>;
  const HeadRows<T> q(*f.call.q, b, h), g(*f.g, b, h), y(*f.y, b, h);
  q.copy(first, rows, static_cast<C>(f.call.scale), t.q);
  g.copy(first, rows, 1, t.g);
  for (int64_t i = 0; i < rows; ++i) {
    const C lse = statistic_at<C>(*f.lse, b, h, first + i);
    t.shift[i] = lse == -std::numeric_limits<C>::infinity() ? C(0) : lse;
    t.along[i] = dot(t.g + i * g.width, y.at + (first + i) * y.row, y.column, y.width);
    if (f.glse != nullptr) t.along[i] -= statistic_at<C>(*f.glse, b, h, first + i);
  }
}

// Scores become weights p, slopes, g·vᵀ before, become ds.
template <class C>
void weigh(C* scores, C* slopes, int64_t n, C shift, C along) {
  const hn::ScalableTag<C> d;
  const auto less = hn::Set(d, shift), mean = hn::Set(d, along);
  const auto weight = [=](auto s) HWY_ATTR { return exp_below(d, hn::Sub(s, less)); };
  const auto slope = [=](auto p, auto dp) HWY_ATTR { return hn::Mul(p, hn::Sub(dp, mean)); };
  map_row(scores, scores, static_cast<size_t>(n), weight);
  map_rows(scores, slopes, slopes, static_cast<size_t>(n), slope);
}

// Adds to gk and gv what the tile's queries give, and writes their gq.
template <class T>
void go_over_keys(const Backward<T>& f, const Tiles<T>& t, int64_t b, int64_t h, int64_t first,
                  Compute<T>* gk, Compute<T>* gv) {
  using C = Compute<T>;
  const AttentionCall& call = f.call;
  const int64_t e = call.width(), w = call.value_width();
  const int64_t rows = std::min(kQueries, call.queries() - first);
  const int64_t end = keys_seen(call, first + rows);
  const HeadRows<T> k(*call.k, b, h / call.heads_of_group());
  const ScoreMask<T> mask(call, b, h);
  load_queries(f, t, b, h, first, rows);
  std::fill(t.gq, t.gq + rows * e, C(0));
  for (int64_t key = 0; key < end; key += kKeys) {
    const int64_t n = std::min(kKeys, end - key);
    multiply<C>(rows, n, e, {t.q, e, 1}, {t.keys + key * e, kKeys, 1}, t.scores, kKeys, false);
    multiply<C>(rows, n, w, {t.g, w, 1}, {t.values + key * w, kKeys, 1}, t.slopes, kKeys, false);
    for (int64_t i = 0; i < rows; ++i) {
      mask.apply(t.scores + i * kKeys, n, first + i, key);
      weigh(t.scores + i * kKeys, t.slopes + i * kKeys, n, t.shift[i], t.along[i]);
    }
    multiply<C>(n, w, rows, {t.scores, 1, kKeys}, {t.g, w, 1}, gv + key * w, w, true);
    multiply<C>(n, e, rows, {t.slopes, 1, kKeys}, {t.q, e, 1}, gk + key * e, e, true);
    Right<C> right{t.key_rows + key * e, e, 1};
    if constexpr (!is_half_v<T>) right = {k.at + key * k.row, k.row, k.column};
    multiply<C>(rows, e, n, {t.slopes, kKeys, 1}, right, t.gq, e, true);
  }
  const auto scale = hn::Set(LaneTag<T>(), static_cast<C>(call.scale));
  map_row(t.gq, f.gq + ((b * call.heads() + h) * call.queries() + first) * e,
          static_cast<size_t>(rows * e), [=](auto v) HWY_ATTR { return hn::Mul(v, scale); });
}

template <class T>
void run_piece(const Backward<T>& f, int64_t piece) {
  using C = Compute<T>;
  const AttentionCall& call = f.call;
  const int64_t copy = piece / f.shares, share = piece % f.shares;
  const int64_t b = copy / call.groups(), head = copy % call.groups();
  const Tiles<T> t(call);
  pack_head(f, t, b, head);
  C *gk = nullptr, *gv = nullptr;
  if constexpr (std::is_same_v<T, C>) {
    gk = f.gk + copy * f.key_size();
    gv = f.gv + copy * f.value_size();
  }
  if (!f.in_place()) {
    gk = f.sums + piece * (f.key_size() + f.value_size());
    gv = gk + f.key_size();
  }
  std::fill(gk, gk + f.key_size(), C(0));
  std::fill(gv, gv + f.value_size(), C(0));
  const int64_t of_head = tiles_of(call.queries(), kQueries),
                tiles = of_head * call.heads_of_group();
  for (int64_t i = tiles * share / f.shares; i < tiles * (share + 1) / f.shares; ++i)
    go_over_keys(f, t, b, head * call.heads_of_group() + i / of_head, i % of_head * kQueries, gk,
                 gv);
}

// out[i] = Σ over shares, which lie `apart`, in their order.
template <class T>
void add_shares(Compute<T>* sums, int64_t shares, int64_t apart, int64_t n, T* out) {
  const auto size = static_cast<size_t>(n);
  for (int64_t s = 1; s < shares; ++s)
    map_rows(sums, sums + s * apart, sums, size,
             [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
  map_row(sums, out, size, [](auto v) HWY_ATTR { return v; });
}

template <class T>
void finish(const Backward<T>& f) {
  const int64_t keys = f.call.keys(), e = f.call.width(), w = f.call.value_width();
  const int64_t apart = f.key_size() + f.value_size();
  const int64_t grain = std::max<int64_t>(1, kGrainCopy / std::max<int64_t>(1, e + w));
  parallel_for(f.heads() * keys, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t key = row % keys;
      Compute<T>* const first = f.sums + row / keys * f.shares * apart;
      add_shares(first + key * e, f.shares, apart, e, f.gk + row * e);
      add_shares(first + f.key_size() + key * w, f.shares, apart, w, f.gv + row * w);
    }
  });
}

template <class T>
uint64_t backward_scratch(const tn_call& call) {
  const Backward<T> f(call);
  return f.in_place()
             ? 0
             : Room::bytes_of<Compute<T>>(f.heads() * f.shares * (f.key_size() + f.value_size()));
}

template <class T>
void backward(const tn_call& call) {
  Backward<T> f(call);
  if (f.call.queries() == 0 && f.call.keys() == 0) return;  // any number of heads has nothing to do
  f.sums = static_cast<Compute<T>*>(call.scratch);
  const AttentionCall& a = f.call;
  const int64_t pieces = f.heads() * f.shares;
  const int64_t work =
      a.batch() * a.heads() * a.queries() * a.keys() * (3 * a.width() + 2 * a.value_width());
  if (work < 2 * kGemmGrain)
    for (int64_t i = 0; i < pieces; ++i) run_piece(f, i);
  else
    parallel_each(pieces, [&](int64_t i) { run_piece(f, i); });
  if (!f.in_place()) finish(f);
}

void add_kernels(KernelList& list) {
  for_each_float([&]<class T>(Tag<T>) {
    list.add({.schema = TN_SCHEMA_ATTENTION_BACKWARD,
              .dtypes = TN_MASK(kDtype<T>),
              .run = run_of<backward<T>>,
              .flags = TN_KERNEL_STRIDED,
              .scratch_size = scratch_of<backward_scratch<T>>});
  });
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_attention_backward_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
