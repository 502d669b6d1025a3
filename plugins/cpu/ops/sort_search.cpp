// searchsorted: a binary search for each value.
#include <algorithm>

#include "dispatch.hpp"
#include "kernels.hpp"
#include "sort_keys.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

namespace tenon::cpu {
namespace {

void searchsorted(const tn_call& call) {
  using arg = tenon::arg::searchsorted;
  const tn_view& sorted = input(call, arg::sorted);
  const tn_view& values = input(call, arg::values);
  const int64_t n = sorted.shape[sorted.ndim - 1], count = numel(values);
  const int64_t width = sorted.ndim == 1 ? count : values.shape[values.ndim - 1];
  const bool right = call.args[arg::right].as.i != 0;
  int64_t* const out = data_of<int64_t>(output(call));
  visit_dtype<TN_MASK_REAL | TN_MASK_BOOL>(sorted.dtype, [&]<class T>(Tag<T>) {
    const T* const rows = data_of<const T>(sorted);
    const T* const wanted = data_of<const T>(values);
    parallel_for(count, kGrainHeavy, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* const row = rows + i / width * n;
        const Key<T> key = key_of(wanted[i]);
        const auto* const at =
            right ? std::upper_bound(row, row + n, key,
                                     [](Key<T> k, const T& x) { return k < key_of(x); })
                  : std::lower_bound(row, row + n, key,
                                     [](const T& x, Key<T> k) { return key_of(x) < k; });
        out[i] = at - row;
      }
    });
  });
}

}  // namespace

void add_sort_search_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_SEARCHSORTED,
            .dtypes = TN_MASK_REAL | TN_MASK_BOOL,
            .run = run_of<searchsorted>});
}

}  // namespace tenon::cpu
