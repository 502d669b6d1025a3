// unique: sorted distinct values, where each first occurs, which one each element is, how often each occurs. No NaN equals
// another. Integers of a small range are counted, others sorted.
#include <algorithm>
#include <limits>
#include <vector>

#include "kernels.hpp"
#include "sort_keys.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

namespace tenon::cpu {
namespace {

using arg = tenon::arg::unique;

// The results whose size is known once the values are.
template <class T>
struct Found {
  T* values;
  int64_t *first, *counts;

  Found(const tn_call& call, int64_t size) {
    const sdk::Call c(call);
    const int64_t shape[] = {size};
    values = data_of<T>(sdk::make_output(c, arg::result::values, shape));
    first = data_of<int64_t>(sdk::make_output(c, arg::result::indices, shape));
    counts = data_of<int64_t>(sdk::make_output(c, arg::result::counts, shape));
  }
};

template <class T>
void by_order(const tn_call& call, const T* from, int64_t n, int64_t* inverse) {
  std::vector<int64_t> order(static_cast<size_t>(n)), starts;
  std::vector<uint8_t> begins(static_cast<size_t>(n));
  if (n > 0) sort_indices(kDtype<T>, from, n, false, order.data(), begins.data());
  for (int64_t i = 0; i < n; ++i) {
    if (begins[static_cast<size_t>(i)] != 0) starts.push_back(i);
    inverse[order[static_cast<size_t>(i)]] = static_cast<int64_t>(starts.size()) - 1;
  }
  const Found<T> to(call, static_cast<int64_t>(starts.size()));
  starts.push_back(n);
  for (size_t u = 0; u + 1 < starts.size(); ++u) {
    to.first[u] = order[static_cast<size_t>(starts[u])];
    to.values[u] = from[to.first[u]];
    to.counts[u] = starts[u + 1] - starts[u];
  }
}

// What is known of each value of a range.
struct Seen {
  int64_t count = 0, first = 0, place = 0;
};

template <class T>
void by_count(const tn_call& call, const T* from, int64_t n, int64_t* inverse, T least,
              uint64_t range) {
  std::vector<Seen> seen(range);
  const auto of = [&](T value) -> Seen& {
    return seen[static_cast<uint64_t>(value) - static_cast<uint64_t>(least)];
  };
  for (int64_t i = 0; i < n; ++i) {
    Seen& value = of(from[i]);
    if (value.count++ == 0) value.first = i;
  }
  int64_t size = 0;
  for (Seen& value : seen)
    if (value.count > 0) value.place = size++;
  const Found<T> to(call, size);
  for (const Seen& value : seen) {
    if (value.count == 0) continue;
    to.values[value.place] = from[value.first];
    to.first[value.place] = value.first;
    to.counts[value.place] = value.count;
  }
  parallel_for(n, kGrainMath, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) inverse[i] = of(from[i]).place;
  });
}

template <class T>
void unique_of(const tn_call& call, const T* from, int64_t n, int64_t* inverse) {
  if constexpr (std::is_integral_v<T>) {
    T least = std::numeric_limits<T>::max(), most = std::numeric_limits<T>::lowest();
    for (int64_t i = 0; i < n; ++i)
      least = std::min(least, from[i]), most = std::max(most, from[i]);
    const uint64_t span = static_cast<uint64_t>(most) - static_cast<uint64_t>(least);
    constexpr uint64_t kCached = 65536;  // values whose counts stay in a cache
    if (n > 0 && span < std::min(kCached, static_cast<uint64_t>(n)))
      return by_count(call, from, n, inverse, least, span + 1);
  }
  by_order(call, from, n, inverse);
}

void unique(const tn_call& call) {
  const tn_view& x = input(call, arg::x);
  visit_dtype<TN_MASK_REAL | TN_MASK_BOOL>(x.dtype, [&]<class T>(Tag<T>) {
    unique_of(call, data_of<const T>(x), numel(x),
              data_of<int64_t>(output(call, arg::result::inverse)));
  });
}

}  // namespace

void add_dynamic_unique_kernels(KernelList& list) {
  list.add(
      {.schema = TN_SCHEMA_UNIQUE, .dtypes = TN_MASK_REAL | TN_MASK_BOOL, .run = run_of<unique>});
}

}  // namespace tenon::cpu
