// sort and topk along the last dimension, always stable. Stretches are sorted in shared memory (several short rows at a time) and merged in
// pairs; topk keeps no more of each run than it needs. Long rows are all sorted together by radix.
#include <bit>

#include "fold.hpp"
#include "radix.hpp"
#include "sort_keys.hpp"

namespace tenon::gpu {
namespace {

constexpr uint32_t kSpan = 1024, kThreads = kBlockThreads;

// Rows of n elements, `kept` of each; `flip` inverts the bits of keys for descending order.
struct Rows {
  int64_t count, n, kept;
  uint64_t flip;
  Source x;
  Target values;
  Ptr<int64_t> indices;
  uint32_t bytes;  // of an element
};

// The sorted runs of a row: `length` entries in all; the last run may be shorter.
struct Runs {
  int64_t run, length;
};

template <class K>
struct Entries {
  Ptr<K> keys;
  Ptr<uint32_t> places;
};

template <class K>
GPU_FN bool stands_before(K a, uint32_t a_place, K b, uint32_t b_place) {
  return a < b || (a == b && a_place < b_place);
}

GPU_DEVICE void give(const Rows& rows, int64_t row, int64_t i, uint32_t place) {
  const int64_t to = row * rows.kept + i;
  rows.indices[to] = place;
  copy_element(rows.values, to, rows.x, row * rows.n + place, rows.bytes);
}

// Sorts each stretch of `span` entries in the block; span is a power of two.
template <class K>
GPU_DEVICE void sort_shared(const Ptr<K>& keys, const Ptr<uint32_t>& places, uint32_t span) {
  for (uint32_t size = 2; size <= span; size *= 2) {
    for (uint32_t reach = size / 2; reach > 0; reach /= 2) {
      sync_threads();
      for (uint32_t p = thread_index().x; p < kSpan / 2; p += kThreads) {
        const uint32_t i = 2 * p - (p & (reach - 1)), j = i + reach;
        const K a = keys[i], b = keys[j];
        const uint32_t at = places[i], bt = places[j];
        if (stands_before(b, bt, a, at) != ((i & (span - 1) & size) == 0)) continue;
        keys[i] = b;
        keys[j] = a;
        places[i] = bt;
        places[j] = at;
      }
    }
  }
  sync_threads();
}

// `to` NULL: a row is one stretch and goes directly to the results.
template <class K>
GPU_KERNEL sort_stretches(Rows rows, uint32_t span, Runs made, Entries<K> to) {
  GPU_SHARED(K, keys, kSpan);
  GPU_SHARED(uint32_t, places, kSpan);
  const bool whole = to.keys == nullptr;
  const uint32_t at_once = kSpan / span;
  const int64_t stretches = whole ? 1 : (rows.n + kSpan - 1) / kSpan;
  const int64_t turns = (rows.count + at_once - 1) / at_once * stretches;
  for (int64_t work = block_index().x; work < turns; work += block_count().x) {
    const int64_t stretch = work % stretches, first = stretch * kSpan;
    const int64_t first_row = work / stretches * at_once;
    for (uint32_t e = thread_index().x; e < kSpan; e += kThreads) {
      const int64_t row = first_row + e / span, i = first + e % span;
      const bool any = row < rows.count && i < rows.n;
      keys[e] = any ? load_key<K>(rows.x, row * rows.n + i) ^ static_cast<K>(rows.flip)
                    : static_cast<K>(~K{0});
      places[e] = any ? static_cast<uint32_t>(i) : ~0u;
    }
    sort_shared<K>(keys, places, span);
    for (uint32_t e = thread_index().x; e < kSpan; e += kThreads) {
      const int64_t row = first_row + e / span, i = e % span;
      const uint32_t place = places[e];
      if (row >= rows.count) continue;
      if (whole) {
        if (i < rows.kept) give(rows, row, i, place);
      } else if (i < made.run && stretch * made.run + i < made.length) {
        const int64_t at = row * made.length + stretch * made.run + i;
        to.keys[at] = static_cast<K>(keys[e]);
        to.places[at] = place;
      }
    }
    sync_threads();
  }
}

// Merges pairs of runs: each entry finds its position in the other run.
template <class K>
GPU_KERNEL merge_runs(int64_t count, Runs from, Runs made, Entries<K> entries, Entries<K> to) {
  const int64_t all = count * from.length;
  for (int64_t i = first_thread(); i < all; i += thread_count()) {
    const int64_t row = i / from.length, e = i - row * from.length, base = row * from.length;
    const int64_t which = e / from.run, other = which ^ 1;
    int64_t low = other * from.run, high = low + from.run;
    low = low < from.length ? low : from.length;
    high = high < from.length ? high : from.length;
    const int64_t begin = low;
    const K key = entries.keys[i];
    const uint32_t place = entries.places[i];
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      const K its = entries.keys[base + middle];
      if (stands_before<K>(its, entries.places[base + middle], key, place))
        low = middle + 1;
      else
        high = middle;
    }
    const int64_t rank = e - which * from.run + (low - begin);
    const int64_t at = which / 2 * made.run + rank;
    if (rank >= made.run || at >= made.length) continue;
    to.keys[row * made.length + at] = key;
    to.places[row * made.length + at] = place;
  }
}

GPU_KERNEL give_sorted(Rows rows, int64_t length, Ptr<const uint32_t> places) {
  for (int64_t i = first_thread(); i < rows.count * rows.kept; i += thread_count()) {
    const int64_t row = i / rows.kept, e = i - row * rows.kept;
    const uint32_t place = places[row * length + e];
    give(rows, row, e, place);
  }
}

// The row number is in the bits above the key.
template <class K, class Wide>
GPU_KERNEL keys_of_rows(Rows rows, uint32_t bits, Ptr<Wide> to) {
  for (int64_t i = first_thread(); i < rows.count * rows.n; i += thread_count()) {
    Wide key = load_key<K>(rows.x, i) ^ static_cast<K>(rows.flip);
    if (rows.count > 1) key |= static_cast<Wide>(i / rows.n) << bits;
    to[i] = key;
  }
}
GPU_KERNEL give_ordered(Rows rows, Ptr<const uint32_t> order) {
  for (int64_t i = first_thread(); i < rows.count * rows.kept; i += thread_count()) {
    const int64_t row = i / rows.kept, e = i - row * rows.kept;
    const uint32_t from = order[row * rows.n + e];
    give(rows, row, e, static_cast<uint32_t>(from - row * rows.n));
  }
}

// ---- On the host --------------------------------------------------------------------------------------------------------

enum Op : uint32_t { kSort, kTopk };
static_assert(arg::topk::x == arg::sort::x &&
              arg::topk::result::indices == arg::sort::result::indices);

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct Plan {
  const tn_view& x;
  int64_t count, n, kept;
  bool down;
  Plan(const tn_call& call, uint32_t op) : x(input(call, arg::sort::x)) {
    n = x.ndim == 0 ? 1 : x.shape[x.ndim - 1];
    count = n == 0 ? 0 : numel(x) / n;
    kept = op == kTopk ? int_arg(call, arg::topk::k) : n;
    down = int_arg(call, op == kTopk ? arg::topk::largest : arg::sort::descending) != 0;
  }
  bool whole() const { return n <= kSpan; }
  Runs first_runs() const {
    const int64_t stretches = ceil_div(n, kSpan), run = std::min<int64_t>(kSpan, kept);
    return {run, (stretches - 1) * run + std::min(run, n - (stretches - 1) * kSpan)};
  }
  Runs merged(const Runs& from) const {
    const int64_t pairs = ceil_div(from.length, 2 * from.run), run = std::min(2 * from.run, kept);
    return {run, (pairs - 1) * run + std::min(run, from.length - (pairs - 1) * 2 * from.run)};
  }
  uint32_t key_bits() const { return 8 * size_of(x.dtype); }
  uint32_t bits() const {
    return key_bits() + static_cast<uint32_t>(std::bit_width(static_cast<uint64_t>(count - 1)));
  }
  bool by_digits() const {
    return n > 4 * kSpan && 8 * kept >= n && bits() <= 64 && count * n <= INT32_MAX;
  }
  template <class Wide>
  RadixSort<Wide> digits() const {
    return {count * n, bits()};
  }
  // For all rows after the first stage; later stages have no more.
  int64_t entries() const { return count * first_runs().length; }
  uint64_t bytes() const { return whole() ? 0 : static_cast<uint64_t>(entries()) * 16; }
};

// Keys of both sides, then places of both.
template <class K>
Entries<K> entries_of(const tn_call& call, const Plan& plan, uint32_t side) {
  const int64_t n = plan.entries();
  const auto at = static_cast<uint64_t>(side * n);
  return {scratch<K>(call, at * sizeof(K), n),
          scratch<uint32_t>(call, static_cast<uint64_t>(2 * n) * sizeof(K) + at * 4, n)};
}

template <class K>
void sort_long(const tn_call& call, const Plan& plan, const Rows& rows) {
  Runs runs = plan.first_runs();
  launch(call, fold_grid(plan.count * ceil_div(plan.n, kSpan)), sort_stretches<K>, rows, kSpan,
         runs, entries_of<K>(call, plan, 0));
  uint32_t side = 0;
  for (; runs.length > runs.run; side = 1 - side) {
    const Runs next = plan.merged(runs);
    launch(call, grid_of(plan.count * runs.length), merge_runs<K>, plan.count, runs, next,
           entries_of<K>(call, plan, side), entries_of<K>(call, plan, 1 - side));
    runs = next;
  }
  launch(call, grid_of(plan.count * plan.kept), give_sorted, rows, runs.length,
         entries_of<K>(call, plan, side).places);
}

template <class K, class Wide>
void sort_by_digits(const tn_call& call, const Plan& plan, const Rows& rows) {
  const RadixSort<Wide> sort = plan.digits<Wide>();
  launch(call, grid_of(sort.count), keys_of_rows<K, Wide>, rows, plan.key_bits(),
         sort.keys(call, 0));
  launch(call, grid_of(plan.count * plan.kept), give_ordered, rows, sort.sort(call, 0).order);
}

void run_sort(const tn_call& call, uint32_t op) {
  const Plan plan(call, op);
  if (plan.count == 0 || plan.kept == 0) return;
  const uint32_t bytes = size_of(plan.x.dtype);
  const uint64_t all = bytes == 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * bytes) - 1;
  const Rows rows{plan.count,
                  plan.n,
                  plan.kept,
                  plan.down ? all : 0,
                  source(plan.x),
                  target(output(call)),
                  out<int64_t>(output(call, arg::sort::result::indices)),
                  bytes};
  with_key(plan.x.dtype, [&](auto tag) {
    using K = typename decltype(tag)::type;
    if (plan.by_digits()) {
      if constexpr (sizeof(K) == 4)
        if (plan.bits() <= 32) return sort_by_digits<K, uint32_t>(call, plan, rows);
      return sort_by_digits<K, uint64_t>(call, plan, rows);
    }
    if (!plan.whole()) return sort_long<K>(call, plan, rows);
    const uint32_t span = std::bit_ceil(static_cast<uint32_t>(plan.n));
    launch(call, fold_grid(ceil_div(plan.count, kSpan / span)), sort_stretches<K>, rows, span,
           Runs{}, Entries<K>{Ptr<K>(nullptr), Ptr<uint32_t>(nullptr)});
  });
}

uint64_t scratch_of(const tn_call& call, uint32_t op) {
  const Plan plan(call, op);
  if (plan.count == 0) return 0;
  if (!plan.by_digits()) return 2 * plan.bytes();
  return plan.bits() <= 32 ? plan.digits<uint32_t>().bytes() : plan.digits<uint64_t>().bytes();
}

// Positions are counted in 32 bits.
bool is_countable(const tn_call& call, uint32_t) {
  const tn_view& x = input(call, arg::sort::x);
  return x.ndim == 0 || x.shape[x.ndim - 1] <= INT32_MAX;
}

}  // namespace

void add_sort_kernels(KernelList& list) {
  for (const Op op : {kSort, kTopk})
    list.add({.schema = op == kSort ? TN_SCHEMA_SORT : TN_SCHEMA_TOPK,
              .dtypes = All::kMask,
              .run = run_sort,
              .code = op,
              .supports = is_countable,
              .scratch = scratch_of});
}

}  // namespace tenon::gpu
