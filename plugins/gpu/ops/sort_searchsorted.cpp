// searchsorted: a binary search for each value.
#include "sort_keys.hpp"

namespace tenon::gpu {
namespace {

// The position that each value would have in its row.
template <class K>
GPU_KERNEL search_rows(int64_t count, int64_t n, int64_t width, bool right, Source sorted,
                       Source values, Ptr<int64_t> out) {
  for (int64_t i = first_thread(); i < count; i += thread_count()) {
    const int64_t base = i / width * n;
    const K key = load_key<K>(values, i);
    int64_t low = 0, high = n;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      const K its = load_key<K>(sorted, base + middle);
      if (right ? its <= key : its < key)
        low = middle + 1;
      else
        high = middle;
    }
    out[i] = low;
  }
}

void run_searchsorted(const tn_call& call, uint32_t) {
  using arg = tenon::arg::searchsorted;
  const tn_view &sorted = input(call, arg::sorted), &values = input(call, arg::values);
  const int64_t count = numel(values), n = sorted.shape[sorted.ndim - 1];
  if (count == 0) return;
  const int64_t width = sorted.ndim == 1 ? count : values.shape[values.ndim - 1];
  with_key(sorted.dtype, [&](auto tag) {
    using K = typename decltype(tag)::type;
    launch(call, grid_of(count), search_rows<K>, count, n, width, int_arg(call, arg::right) != 0,
           source(sorted), source(values), out<int64_t>(output(call)));
  });
}

}  // namespace

void add_sort_searchsorted_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_SEARCHSORTED, .dtypes = All::kMask, .run = run_searchsorted});
}

}  // namespace tenon::gpu
