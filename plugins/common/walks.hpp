// The dimensions of a reduction, for the gpu dialect and for Vulkan.
#ifndef TENON_PLUGINS_COMMON_WALKS_HPP
#define TENON_PLUGINS_COMMON_WALKS_HPP

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "tenon/plugin.h"

namespace tenon {

struct Walk {
  int64_t size, step;  // step: in elements
};
using Walks = std::vector<Walk>;  // outermost first

// From the call's loop: the dimensions kept and those reduced.
inline std::pair<Walks, Walks> walks_of(const tn_call& call) {
  const tn_loop& loop = *call.loop;
  std::pair<Walks, Walks> walks;
  for (uint32_t d = 0; d < loop.ndim; ++d)
    (d < loop.ndim - loop.reduced ? walks.first : walks.second)
        .push_back({loop.shape[d], loop.strides[1][d]});
  return walks;
}

inline int64_t product(const Walks& walks) {
  int64_t n = 1;
  for (const Walk& walk : walks) n *= walk.size;
  return n;
}

// Drops dimensions of size 1 and merges neighbours that are contiguous.
inline Walks simplified(const Walks& walks) {
  Walks out;
  for (const Walk& walk : walks) {
    if (walk.size == 1) continue;
    if (!out.empty() && out.back().step == walk.size * walk.step)
      out.back() = {out.back().size * walk.size, walk.step};
    else
      out.push_back(walk);
  }
  return out;
}

// Whether neighbouring results are closer in memory than the elements of one result.
inline bool by_columns(const Walks& kept, const Walks& reduced) {
  return !kept.empty() && !reduced.empty() &&
         std::abs(kept.back().step) < std::abs(reduced.back().step);
}

// Whether the elements of a result come in blocks of adjacent elements that begin at multiples of the block size.
inline bool in_blocks(const Walks& kept, const Walks& reduced, int64_t block) {
  const auto even = [block](const Walk& walk) { return walk.step % block == 0; };
  return !reduced.empty() && reduced.back().step == 1 &&
         (reduced.size() == 1 || reduced.back().size % block == 0) &&
         std::all_of(kept.begin(), kept.end(), even) &&
         std::all_of(reduced.begin(), reduced.end() - 1, even);
}

}  // namespace tenon
#endif
