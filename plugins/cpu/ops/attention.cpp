// Attention, forward: a tile of queries goes over the keys once and rescales its sums as larger scores appear (online softmax,
// Milakov and Gimelshein 2018), so that memory grows with the length, not its square (Dao 2023).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attention.cpp"
#include <hwy/foreach_target.h>

#include <cmath>

#include "attention-inl.hpp"
#include "float_kernels.hpp"
#include "kernels.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

// Queries that are worth a packed copy of the keys.
constexpr int64_t kPackFrom = 48;

template <class T>
struct Forward {
  using C = Compute<T>;
  const AttentionCall& call;
  T* y;
  C* lse;
  // Keys of each (batch, group) as blocks of (width, kKeys), where that pays; of halves the values, too, as rows.
  C* packed = nullptr;
  C* values = nullptr;
  int64_t tile = kQueries;  // of queries, for one thread

  // The keys' block from `key` on as the right side of q·kᵀ.
  Right<C> keys(int64_t b, int64_t g, int64_t key, int64_t n, C* room) const {
    if (packed == nullptr) return rows_of(HeadRows<T>(*call.k, b, g), key, n, room).transposed();
    const C* head = packed + (b * call.groups() + g) * packed_size(call.keys(), call.width());
    return {head + key * call.width(), kKeys, 1};
  }
  Right<C> values_from(int64_t b, int64_t g, int64_t key, int64_t n, C* room) const {
    if (values == nullptr) return rows_of(HeadRows<T>(*call.v, b, g), key, n, room);
    const int64_t f = call.value_width();
    return {values + ((b * call.groups() + g) * call.keys() + key) * f, f, 1};
  }
};

// Of one query: the largest score so far and Σ e^(score − largest).
template <class C>
struct Online {
  C most = -std::numeric_limits<C>::infinity(), total = 0;

  // Takes in n scores, which become weights; gives what sums so far are to be multiplied by.
  C weigh(C* scores, int64_t n) {
    const C large = std::max(most, greatest(scores, static_cast<size_t>(n)));
    const C shift = large == -std::numeric_limits<C>::infinity() ? C(0) : large;
    const C rescale = std::exp(most - shift);
    most = large;
    total = total * rescale + exp_sum<true>(scores, scores, static_cast<size_t>(n), shift);
    return rescale;
  }
};

template <class C>
HWY_INLINE void scale_row(C* x, int64_t n, C factor) {
  const hn::ScalableTag<C> d;
  const auto times = hn::Set(d, factor);
  map_row(x, x, static_cast<size_t>(n), [=](auto v) HWY_ATTR { return hn::Mul(v, times); });
}

template <class T>
void attend_tile(const Forward<T>& f, int64_t copy, int64_t first) {
  using C = Compute<T>;
  const AttentionCall& call = f.call;
  const int64_t b = copy / call.heads(), h = copy % call.heads(), g = h / call.heads_of_group();
  const int64_t rows = std::min(f.tile, call.queries() - first);
  const int64_t e = call.width(), w = call.value_width(), end = keys_seen(call, first + rows);
  const bool widens = !std::is_same_v<T, C>;
  const auto bytes = [](int64_t n) { return Room::bytes_of<C>(n); };
  Room room(Workspace::Attention, bytes(rows * e) + bytes(rows * kKeys) + bytes(rows * w) +
                                      (widens ? bytes(kKeys * e) + bytes(kKeys * w) : 0));
  C* const q = room.take<C>(rows * e);
  C* const scores = room.take<C>(rows * kKeys);
  C* const sums = room.take<C>(rows * w);
  C* const key_room = widens ? room.take<C>(kKeys * e) : nullptr;
  C* const value_room = widens ? room.take<C>(kKeys * w) : nullptr;
  Online<C> online[kQueries];

  HeadRows<T>(*call.q, b, h).copy(first, rows, static_cast<C>(call.scale), q);
  std::fill(sums, sums + rows * w, C(0));
  const ScoreMask<T> mask(call, b, h);
  for (int64_t key = 0; key < end; key += kKeys) {
    const int64_t n = std::min(kKeys, end - key);
    multiply<C>(rows, n, e, {q, e, 1}, f.keys(b, g, key, n, key_room), scores, kKeys, false);
    for (int64_t i = 0; i < rows; ++i) {
      mask.apply(scores + i * kKeys, n, first + i, key);
      const C rescale = online[i].weigh(scores + i * kKeys, n);
      if (key != 0 && rescale != 1) scale_row(sums + i * w, w, rescale);
    }
    multiply<C>(rows, w, n, {scores, kKeys, 1}, f.values_from(b, g, key, n, value_room), sums, w,
                true);
  }
  const int64_t row = copy * call.queries() + first;
  for (int64_t i = 0; i < rows; ++i) {
    const auto [most, total] = online[i];
    f.lse[row + i] = total == C(0) ? -std::numeric_limits<C>::infinity() : most + std::log(total);
    const auto part = hn::Set(LaneTag<T>(), total == C(0) ? C(0) : 1 / total);
    map_row(sums + i * w, f.y + (row + i) * w, static_cast<size_t>(w),
            [=](auto v) HWY_ATTR { return hn::Mul(v, part); });
  }
}

// ---- packed copies: made once a call, read by every tile of queries

template <class T>
uint64_t forward_scratch(const tn_call& call) {
  using C = Compute<T>;
  const auto a = AttentionCall::read<arg::attention>(call);
  if (a.queries() < kPackFrom) return 0;
  const int64_t copies = a.batch() * a.groups();
  const size_t packed = Room::bytes_of<C>(copies * packed_size(a.keys(), a.width()));
  return packed + (is_half_v<T> ? Room::bytes_of<C>(copies * a.keys() * a.value_width()) : 0);
}

template <class T>
void pack(const Forward<T>& f) {
  using C = Compute<T>;
  const AttentionCall& call = f.call;
  const int64_t blocks = tiles_of(call.keys(), kKeys), e = call.width(), w = call.value_width();
  const int64_t grain = std::max<int64_t>(1, kGrainCopy / (kKeys * (e + w)));
  parallel_for(call.batch() * call.groups() * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t copy = i / blocks, key = i % blocks * kKeys;
      const int64_t b = copy / call.groups(), g = copy % call.groups();
      const int64_t n = std::min(kKeys, call.keys() - key);
      Room room(Workspace::Attention, Room::bytes_of<C>(kKeys * e));
      const auto rows = rows_of(HeadRows<T>(*call.k, b, g), key, n, room.take<C>(kKeys * e));
      pack_rows(rows, e, n, f.packed + i * kKeys * e);
      if (f.values != nullptr)
        HeadRows<T>(*call.v, b, g).copy(key, n, 1, f.values + (copy * call.keys() + key) * w);
    }
  });
}

template <class T>
void forward(const tn_call& call) {
  using arg = tenon::arg::attention;
  using C = Compute<T>;
  const auto a = AttentionCall::read<arg>(call);
  Forward<T> f{a, data_of<T>(output(call, arg::result::y)),
               data_of<C>(output(call, arg::result::lse))};
  if (a.queries() >= kPackFrom) {
    const int64_t packed = a.batch() * a.groups() * packed_size(a.keys(), a.width());
    f.packed = static_cast<C*>(call.scratch);
    if (is_half_v<T>)
      f.values = reinterpret_cast<C*>(static_cast<char*>(call.scratch) + Room::bytes_of<C>(packed));
    pack(f);
  }
  const int64_t copies = a.batch() * a.heads();
  while (f.tile > kPackFrom && copies * tiles_of(a.queries(), f.tile) < 2 * max_threads())
    f.tile /= 2;
  const int64_t tiles = tiles_of(a.queries(), f.tile);
  const int64_t work = std::min(f.tile, a.queries()) * a.keys() * (a.width() + a.value_width());
  const int64_t grain = std::max<int64_t>(1, kGemmGrain / std::max<int64_t>(1, work));
  parallel_for(copies * tiles, grain, [&](int64_t begin, int64_t end) {
    // Later queries have more keys where attention is causal: they begin first.
    for (int64_t i = begin; i < end; ++i)
      attend_tile(f, i % copies, (tiles - 1 - i / copies) * f.tile);
  });
}

void add_kernels(KernelList& list) {
  for_each_float([&]<class T>(Tag<T>) {
    list.add({.schema = TN_SCHEMA_ATTENTION,
              .dtypes = TN_MASK(kDtype<T>),
              .run = run_of<forward<T>>,
              .flags = TN_KERNEL_STRIDED,
              .scratch_size = scratch_of<forward_scratch<T>>});
  });
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_attention_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
