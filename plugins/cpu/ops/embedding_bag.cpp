// embedding_bag: the rows of a bag are combined in registers, a stretch of columns after the other. Halves compute in f32.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/embedding_bag.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>

#include <atomic>

#include "float_kernels.hpp"
#include "indexing.hpp"
#include "lanes-inl.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kAhead = 8;  // indices

enum class Mode : uint8_t { kSum, kMean, kMax };

template <class T>
struct Bags {
  using arg = tenon::arg::embedding_bag;
  const T *weight, *factors;  // factors: of each index, or NULL
  const int64_t *index, *offsets;
  T* out;
  int64_t rows, width, count, bags, padding;
  Mode mode;

  explicit Bags(const tn_call& call)
      : weight(data_of<const T>(input(call, arg::weight))),
        factors(nullptr),
        index(data_of<const int64_t>(input(call, arg::index))),
        offsets(data_of<const int64_t>(input(call, arg::offsets))),
        out(data_of<T>(output(call))),
        rows(input(call, arg::weight).shape[0]),
        width(input(call, arg::weight).shape[1]),
        count(numel(input(call, arg::index))),
        bags(numel(input(call, arg::offsets))),
        padding(call.args[arg::padding_idx].tag == TN_VALUE_INT ? call.args[arg::padding_idx].as.i
                                                                : -1) {
    const std::string_view name = text_arg(call, arg::mode);
    mode = name == "sum" ? Mode::kSum : name == "mean" ? Mode::kMean : Mode::kMax;
    if (const tn_view* given = input_or_null(call, arg::per_sample_weights))
      factors = data_of<const T>(*given);
  }

  void check() const {
    if (bags > 0 && offsets[0] != 0)
      fail(TN_INVALID_ARGUMENT, "[embedding_bag] the first offset is ", offsets[0], ", must be 0");
    for (int64_t b = 0; b < bags; ++b)
      if (offsets[b] > end_of(b))
        fail(TN_INVALID_ARGUMENT, "[embedding_bag] bag ", b, " begins at ", offsets[b],
             " and ends at ", end_of(b));
  }
  int64_t end_of(int64_t b) const { return b + 1 < bags ? offsets[b + 1] : count; }

  // Rows lie anywhere: those of bags to come are asked for early.
  HWY_INLINE void prefetch(int64_t i, int64_t c) const {
    if (i >= count) return;
    constexpr int64_t kLine = 64 / sizeof(T);
    const T* const row = weight + index[i] * width + c;
    for (int64_t line = 0; line < 4 && c + line * kLine < width; ++line)
      hwy::Prefetch(row + line * kLine);
  }
  // Columns [c, c + Vectors whole vectors) of a bag, or `rest` < Lanes of them.
  template <int Vectors, Mode kMode>
  HWY_INLINE void columns(int64_t b, int64_t c, size_t rest) const {
    const LaneTag<T> d;
    using V = hn::Vec<LaneTag<T>>;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const auto read = [&](const T* from) HWY_ATTR {
      return rest == 0 ? load(d, from) : load_first(d, from, rest, 0);
    };
    V sums[Vectors];
    for (int v = 0; v < Vectors; ++v) sums[v] = hn::Zero(d);
    int64_t many = 0;
    for (int64_t i = offsets[b], end = end_of(b); i < end; ++i) {
      prefetch(i + kAhead, c);
      if (index[i] == padding) continue;
      const T* const row = weight + index[i] * width + c;
      const V factor = hn::Set(d, factors == nullptr ? 1 : static_cast<Compute<T>>(factors[i]));
      for (int v = 0; v < Vectors; ++v) {
        V x = read(row + v * lanes);
        if (factors != nullptr) x = hn::Mul(x, factor);
        if constexpr (kMode == Mode::kMax)
          sums[v] = many == 0 ? x : max_nan(d, sums[v], x);
        else
          sums[v] = hn::Add(sums[v], x);
      }
      ++many;
    }
    for (int v = 0; v < Vectors; ++v) {
      if (kMode == Mode::kMean && many > 1)
        sums[v] = hn::Div(sums[v], hn::Set(d, static_cast<Compute<T>>(many)));
      T* const to = out + b * width + c + v * lanes;
      rest == 0 ? store(sums[v], d, to) : store_first(sums[v], d, to, rest);
    }
  }
  template <Mode kMode>
  void bag(int64_t b) const {
    const auto lanes = static_cast<int64_t>(hn::Lanes(LaneTag<T>()));
    int64_t c = 0;
    for (; c + 4 * lanes <= width; c += 4 * lanes) columns<4, kMode>(b, c, 0);
    for (; c + lanes <= width; c += lanes) columns<1, kMode>(b, c, 0);
    if (c < width) columns<1, kMode>(b, c, static_cast<size_t>(width - c));
  }
  // False where an index is out of range: threads check those of their bags before they read.
  template <Mode kMode>
  bool run() const {
    const int64_t work = (count + bags) * width / std::max<int64_t>(1, bags);
    std::atomic<bool> good = true;
    parallel_for(bags, std::max<int64_t>(1, kGrainCopy / std::max<int64_t>(1, work)),
                 [&](int64_t begin, int64_t end) {
                   const int64_t first = offsets[begin];
                   const int64_t last = std::min(count, end_of(end - 1) + kAhead);
                   if (!in_range(index + first, last - first, 1, 0, static_cast<uint64_t>(rows)))
                     good = false;
                   else
                     for (int64_t b = begin; b < end; ++b) bag<kMode>(b);
                 });
    return good;
  }
};

template <class T>
void embedding_bag(const tn_call& call) {
  const Bags<T> bags(call);
  bags.check();
  const bool good = bags.mode == Mode::kSum    ? bags.template run<Mode::kSum>()
                    : bags.mode == Mode::kMean ? bags.template run<Mode::kMean>()
                                               : bags.template run<Mode::kMax>();
  if (!good || bags.bags == 0)
    check_indices("embedding_bag", input(call, tenon::arg::embedding_bag::index), 0, bags.rows,
                  false);
}

void add_kernels(KernelList& list) {
  for_each_float([&]<class T>(Tag<T>) {
    list.add({.schema = TN_SCHEMA_EMBEDDING_BAG,
              .dtypes = TN_MASK(kDtype<T>),
              .run = run_of<embedding_bag<T>>});
  });
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_embedding_bag_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
