// Products whose batch could not be read as rows.
#pragma once

#include <algorithm>

#include "../../common/product.hpp"
#include "dispatch.hpp"
#include "ops/workspace.hpp"
#include "threads.hpp"

namespace tenon::cpu {

// Few rows at a time of one and the same b, as of a tensor (time, batch, k) that was (batch, time, k).
inline bool scatters_rows(const Product& p) {
  constexpr int64_t kFewRows = 32;  // fewer would wait for b, which each product reads anew
  const auto* const b = p.b.batch.begin();
  return p.batches > 1 && p.m < kFewRows &&
         std::all_of(b, b + p.ndim, [](int64_t step) { return step == 0; });
}

// The rows of a in some products, side by side.
template <class T>
T* gathered_rows(const Product& p, int64_t first, int64_t count) {
  T* const to = workspace<T>(Workspace::Sums, count * p.m * p.k);
  parallel_for(count, std::max<int64_t>(1, kGrainCopy / std::max<int64_t>(1, p.m * p.k)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin * p.m; i < end * p.m; ++i) {
                   const T* const row = data_of<const T>(*p.a.view) +
                                        p.offsets(first + i / p.m, p.ndim).a + i % p.m * p.a.row;
                   for (int64_t x = 0; x < p.k; ++x) to[i * p.k + x] = row[x * p.a.column];
                 }
               });
  return to;
}

// The one product of all rows side by side, whose a is yet to be gathered.
inline Product of_gathered_rows(Product p) {
  p.m *= p.batches;
  p.batches = 1;
  p.ndim = 0;
  p.a.row = p.k;
  p.a.column = 1;
  return p;
}

}  // namespace tenon::cpu
