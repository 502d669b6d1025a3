// linear of a few rows with weights in four bits and groups of 32, the usual size. A vector of packed memory holds whole groups: each lane has
// eight entries of one group, which eight steps take out of all lanes at once.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/quantize_int4.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>

#include "ops/quantize_sums-inl.hpp"
#include "ops/workspace.hpp"
#include "threads.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR
constexpr int64_t kEntries = 8;     // of a lane
constexpr int64_t kGroupLanes = 4;  // which make a group
constexpr int64_t kGroupBytes = 16;
constexpr int64_t kLine = 64;

using Bits = hn::Rebind<uint32_t, QD>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(QD()));
constexpr int64_t kGroups = kLanes / kGroupLanes;  // of a vector
constexpr int64_t kBlock = kLanes * kEntries;      // entries of a vector

template <class T>
using Weight4 = Weight<Int4, T>;

template <class T>
int64_t blocks_of(const Weight4<T>& w) {
  return (w.groups + kGroups - 1) / kGroups;
}

// Entry K of each lane.
template <int K>
HWY_INLINE QV entry(hn::Vec<Bits> packed, [[maybe_unused]] QV table) {
  if constexpr (K > 0) packed = hn::ShiftRight<4 * K>(packed);
#if HWY_TARGET <= HWY_AVX3  // looks at four bits of an index
  return hn::TableLookupLanes(table, hn::Indices512<float>{packed.raw});
#else
  const hn::Rebind<int32_t, QD> whole;
  return hn::ConvertTo(QD(), hn::BitCast(whole, hn::And(packed, hn::Set(Bits(), 15))));
#endif
}

// A vector that begins with these four lanes.
template <class V>
HWY_INLINE QV widened(V v) {
  using D = hn::DFromV<V>;
  if constexpr (hn::MaxLanes(D()) == hn::MaxLanes(QD())) {
    return v;
  } else {
    const hn::Twice<D> twice;
    return widened(hn::ZeroExtendVector(twice, v));
  }
}

// Numbers of `count` groups, each in the lanes of its group; 0 behind them.
template <class T>
HWY_INLINE QV by_groups(const T* numbers, int64_t count) {
  const hn::FixedTag<float, 4> few;
  const QD d;
  const auto some = count == kGroupLanes ? load(few, numbers)
                                         : load_first(few, numbers, static_cast<size_t>(count), 0);
  const hn::Rebind<int32_t, QD> whole;
  const auto lane = hn::ShiftRight<2>(hn::Iota(whole, 0));
  return hn::TableLookupLanes(widened(some), hn::IndicesFromVec(d, lane));
}

// Calls step.operator()<K>() for each entry of a lane.
template <class Step, int... K>
HWY_INLINE void each_entry(Step&& step, std::integer_sequence<int, K...>) {
  (step.template operator()<K>(), ...);
}

// R rows of x times C rows of the weight.
template <int R, int C, class T>
struct Dots {
  const Rows& r;
  int64_t first;
  const Weight4<T>& w;
  int64_t column;
  QV sum[R][C];

  // What block b adds: it has `count` groups.
  HWY_INLINE void add(int64_t b, int64_t count) {
    const QD d;
    const Bits bits;
    const QV table = hn::Iota(d, 0.0f);
    const int64_t blocks = blocks_of(w), group = b * kGroups;
    const auto there = hn::FirstN(bits, static_cast<size_t>(count * kGroupLanes));
    constexpr auto kSize = static_cast<int64_t>(sizeof(T));
    // A line of either in each step: together those of C columns.
    const int64_t coming = column * w.groups + b * kLine / kSize + kAhead / kGroupBytes;
    hwy::Prefetch(w.scale + coming);
    hwy::Prefetch(w.offset + coming);
    hn::Vec<Bits> packed[C];
    QV part[R][C];
#pragma GCC unroll 4
    for (int j = 0; j < C; ++j) {
      const uint8_t* const from = w.packed + ((column + j) * w.groups + group) * kGroupBytes;
      hwy::Prefetch(from + kAhead);  // behind the end it does nothing
      const auto* const words = reinterpret_cast<const uint32_t*>(from);
      packed[j] = count == kGroups ? hn::LoadU(bits, words) : hn::MaskedLoad(there, bits, words);
      for (int i = 0; i < R; ++i) part[i][j] = hn::Zero(d);
    }
    each_entry(
        [&]<int K>() HWY_ATTR {
          QV x[R];
#pragma GCC unroll 4
          for (int i = 0; i < R; ++i)
            x[i] = hn::LoadU(d, r.x + ((first + i) * blocks + b) * kBlock + K * kLanes);
#pragma GCC unroll 4
          for (int j = 0; j < C; ++j) {
            const QV y = entry<K>(packed[j], table);
#pragma GCC unroll 4
            for (int i = 0; i < R; ++i) part[i][j] = hn::MulAdd(y, x[i], part[i][j]);
          }
        },
        std::make_integer_sequence<int, kEntries>());
    scale(b, count, part);
  }

  HWY_INLINE void scale(int64_t b, int64_t count, const QV (&part)[R][C]) {
    const QD d;
    const int64_t blocks = blocks_of(w);
#pragma GCC unroll 4
    for (int j = 0; j < C; ++j) {
      const int64_t at = (column + j) * w.groups + b * kGroups;
      const QV scale = by_groups(w.scale + at, count), offset = by_groups(w.offset + at, count);
#pragma GCC unroll 4
      for (int i = 0; i < R; ++i) {
        const QV x = hn::LoadU(d, r.groups + ((first + i) * blocks + b) * kLanes);
        sum[i][j] = hn::MulAdd(offset, x, hn::MulAdd(scale, part[i][j], sum[i][j]));
      }
    }
  }

  HWY_INLINE void run() {
    for (int i = 0; i < R; ++i)
      for (int j = 0; j < C; ++j) sum[i][j] = hn::Zero(QD());
    const int64_t whole = w.groups / kGroups, rest = w.groups % kGroups;
    for (int64_t b = 0; b < whole; ++b) add(b, kGroups);
    if (rest > 0) add(whole, rest);
    for (int i = 0; i < R; ++i) store_sums<C>(sum[i], r.sums + (first + i) * w.outputs + column);
  }
};

// Columns [begin, end) of R rows from `first` on: C at once, then one by one.
template <int R, int C, class T>
void columns(const Rows& r, int64_t first, const Weight4<T>& w, int64_t begin, int64_t end) {
  for (; begin + C <= end; begin += C) Dots<R, C, T>{r, first, w, begin, {}}.run();
  for (; begin < end; ++begin) Dots<R, 1, T>{r, first, w, begin, {}}.run();
}

template <class T>
void products(const Rows& r, const Weight4<T>& w, int64_t begin, int64_t end) {
  constexpr int kAtOnce = 4;
  for (int64_t i = 0; i < r.m; i += kAtOnce) switch (r.m - i) {
      case 1:
        columns<1, 4>(r, i, w, begin, end);
        break;
      case 2:
        columns<2, 4>(r, i, w, begin, end);
        break;
      case 3:
        columns<3, 2>(r, i, w, begin, end);
        break;
      default:
        columns<kAtOnce, 2>(r, i, w, begin, end);
    }
}

// Entries of a block: the first ones of all lanes, then the second ones; and their sums by lanes.
HWY_INLINE void spread_block(const float* from, float* x, float* sums) {
  const QD d;
  QV a[4], b[4];
  hn::LoadInterleaved4(d, from, a[0], a[1], a[2], a[3]);
  hn::LoadInterleaved4(d, from + kBlock / 2, b[0], b[1], b[2], b[3]);
  QV sum = hn::Zero(d);
  for (int k = 0; k < 4; ++k) {
    const QV even = hn::ConcatEven(d, b[k], a[k]), odd = hn::ConcatOdd(d, b[k], a[k]);
    hn::StoreU(even, d, x + k * kLanes);
    hn::StoreU(odd, d, x + (k + 4) * kLanes);
    sum = hn::Add(sum, hn::Add(even, odd));
  }
  hn::StoreU(sum, d, sums);
}

// A row of x in blocks, zeros behind it.
template <class T>
void spread(const T* from, const Weight4<T>& w, float* x, float* sums) {
  const int64_t blocks = blocks_of(w), n = w.row();
  for (int64_t b = 0; b < blocks; ++b, from += kBlock, x += kBlock, sums += kLanes) {
    const int64_t count = std::min(kBlock, n - b * kBlock);
    if constexpr (std::is_same_v<T, float>) {
      if (count == kBlock) {
        spread_block(from, x, sums);
        continue;
      }
    }
    HWY_ALIGN float whole[kBlock] = {};
    map_row(from, whole, static_cast<size_t>(count), [](auto v) HWY_ATTR { return v; });
    spread_block(whole, x, sums);
  }
}

template <class T>
void run(const tn_call& call) {
  using arg = arg::linear_int4;
  const auto w = weight_of<Int4, T, arg>(call);
  const tn_view& given = input(call, arg::x);
  const int64_t m = numel(given) / w.row(), blocks = blocks_of(w);
  auto* const x = workspace<float>(Workspace::Sums, m * (blocks * (kBlock + kLanes) + w.outputs));
  const Rows r = {m, x, x + m * blocks * kBlock, x + m * blocks * (kBlock + kLanes)};
  for (int64_t i = 0; i < m; ++i)
    spread(data_of<const T>(given) + i * w.row(), w, r.x + i * blocks * kBlock,
           r.groups + i * blocks * kLanes);
  parallel_for(w.outputs, std::max<int64_t>(4, kGrainMath / w.row()),
               [&](int64_t begin, int64_t end) { products(r, w, begin, end); });
  finish<T>(r, w.outputs, input_or_null(call, arg::bias), output(call));
}

template <class T>
bool fits(const tn_call& call) {
  const auto w = weight_of<Int4, T, arg::linear_int4>(call);
  const int64_t size = numel(input(call, arg::linear_int4::x));
  return w.width == kGroupBytes && w.outputs > 0 && size > 0 && size <= kMostRows * w.row();
}

template <class T>
void add_of(KernelList& list) {
  list.add({.schema = TN_SCHEMA_LINEAR_INT4,
            .dtypes = TN_MASK(kDtype<T>),
            .run = run_of<run<T>>,
            .priority = 10,
            .supports = supports_of<fits<T>>});
}
#endif

void add_kernels([[maybe_unused]] KernelList& list) {
#if HWY_TARGET != HWY_SCALAR
  add_of<float>(list);
  add_of<F16>(list);
  add_of<BF16>(list);
#endif
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_quantize_int4_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
