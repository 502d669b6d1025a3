// unique: sorts by digits; a value begins wherever a key differs from the previous one. The host only knows how many there are after a
// wait.
#include "block_scan.hpp"
#include "ops/dynamic.hpp"
#include "radix.hpp"
#include "sort_keys.hpp"

namespace tenon::gpu {
namespace {

constexpr uint32_t kThreads = kBlockThreads, kTile = Compaction::kTile, kEach = kTile / kThreads;

template <class K>
GPU_KERNEL keys_of(int64_t count, Source x, Ptr<K> to) {
  for (int64_t i = first_thread(); i < count; i += thread_count()) {
    const K key = load_key<K>(x, i);
    to[i] = key;
  }
}

// The sorted elements. Each element with the key `alone` (NaN) is a separate value.
template <class K>
struct Ordered {
  Ptr<const K> keys;
  Ptr<const uint32_t> order;
  uint32_t count;
  bool has_alone;
  K alone;
  GPU_DEVICE bool begins(uint32_t i) const {
    if (i == 0) return true;
    const K key = keys[i];
    return key != keys[i - 1] || (has_alone && key == alone);
  }
  // Among this thread's elements.
  GPU_DEVICE uint32_t begins_of(uint32_t first) const {
    uint32_t sum = 0;
    for (uint32_t i = first; i < first + kEach && i < count; ++i) sum += begins(i) ? 1 : 0;
    return sum;
  }
};

GPU_DEVICE uint32_t first_of_thread() { return block_index().x * kTile + thread_index().x * kEach; }

template <class K>
GPU_KERNEL count_values(Ordered<K> from, Ptr<uint32_t> counts) {
  uint32_t total = 0;
  block_sum_before(from.begins_of(first_of_thread()), total);
  if (thread_index().x == 0) counts[block_index().x] = total;
}

template <class K>
GPU_KERNEL write_values(Ordered<K> from, Ptr<const uint32_t> before, Source x, uint32_t bytes,
                        Target values, Ptr<int64_t> indices, Ptr<int64_t> inverse,
                        Ptr<uint32_t> starts) {
  uint32_t total = 0;
  const uint32_t first = first_of_thread();
  const uint32_t sum = block_sum_before(from.begins_of(first), total);
  int64_t which = int64_t{before[block_index().x]} + sum - 1;
  for (uint32_t i = first; i < first + kEach && i < from.count; ++i) {
    const uint32_t place = from.order[i];
    if (from.begins(i)) {
      ++which;
      starts[which] = i;
      indices[which] = place;
      copy_element(values, which, x, place, bytes);
    }
    inverse[place] = which;
  }
}

GPU_KERNEL write_counts(int64_t total, uint32_t count, Ptr<const uint32_t> starts,
                        Ptr<int64_t> counts) {
  for (int64_t i = first_thread(); i < total; i += thread_count()) {
    const uint32_t end = i + 1 < total ? static_cast<uint32_t>(starts[i + 1]) : count;
    counts[i] = end - starts[i];
  }
}

// Scratch: the sort's, counts of tiles, where values begin.
template <class K>
struct Plan {
  RadixSort<K> sort;
  Compaction compaction;
  explicit Plan(const tn_view& x) : sort{numel(x), 8 * size_of(x.dtype)}, compaction{numel(x)} {}
  uint64_t counts_at() const { return (sort.bytes() + 255) / 256 * 256; }
  uint64_t starts_at() const { return counts_at() + compaction.bytes(); }
  uint64_t bytes() const { return starts_at() + static_cast<uint64_t>(sort.count) * 4; }
};

template <class K>
void unique_of(const tn_call& call, const tn_view& x) {
  using result = arg::unique::result;
  const Plan<K> plan(x);
  const int64_t n = plan.sort.count;
  const Source from = source(x);
  launch(call, grid_of(n), keys_of<K>, n, from, plan.sort.keys(call, 0));
  const auto sorted = plan.sort.sort(call, 0);
  const bool is_float = (Floats::kMask & TN_MASK(x.dtype)) != 0;
  const Ordered<K> ordered{sorted.keys, sorted.order, static_cast<uint32_t>(n), is_float,
                           static_cast<K>(~uint64_t{0} >> (64 - plan.sort.bits))};
  const Grid tiles{{static_cast<uint32_t>(plan.compaction.tiles()), 1, 1}, {kThreads, 1, 1}};
  const Ptr<uint32_t> counts = plan.compaction.counts(call, plan.counts_at());
  launch(call, tiles, count_values<K>, ordered, counts);
  const int64_t total = plan.compaction.total(call, plan.counts_at());
  const int64_t shape[] = {total};
  const sdk::Call c(call);
  const tn_view &values = sdk::make_output(c, result::values, shape),
                &indices = sdk::make_output(c, result::indices, shape);
  const tn_view& often = sdk::make_output(c, result::counts, shape);
  const Ptr<uint32_t> starts = scratch<uint32_t>(call, plan.starts_at(), n);
  launch(call, tiles, write_values<K>, ordered, counts, from, size_of(x.dtype), target(values),
         out<int64_t>(indices), out<int64_t>(output(call, result::inverse)), starts);
  launch(call, grid_of(total), write_counts, total, static_cast<uint32_t>(n), starts,
         out<int64_t>(often));
}

void run_unique(const tn_call& call, uint32_t) {
  const tn_view& x = input(call, arg::unique::x);
  if (numel(x) == 0) {
    using result = arg::unique::result;
    const int64_t shape[] = {0};
    for (const uint32_t k : {result::values, result::indices, result::counts})
      sdk::make_output(sdk::Call(call), k, shape);
    return;
  }
  with_key(x.dtype, [&](auto tag) { unique_of<typename decltype(tag)::type>(call, x); });
}

uint64_t scratch_of(const tn_call& call, uint32_t) {
  const tn_view& x = input(call, arg::unique::x);
  if (numel(x) == 0) return 0;
  return size_of(x.dtype) == 8 ? Plan<uint64_t>(x).bytes() : Plan<uint32_t>(x).bytes();
}

// Positions are counted in 32 bits.
bool is_countable(const tn_call& call, uint32_t) {
  return numel(input(call, arg::unique::x)) <= INT32_MAX;
}

}  // namespace

void add_dynamic_unique_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_UNIQUE,
            .dtypes = All::kMask,
            .run = run_unique,
            .supports = is_countable,
            .scratch = scratch_of});
}

}  // namespace tenon::gpu
