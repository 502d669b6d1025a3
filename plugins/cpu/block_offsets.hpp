// Advanced indexing as offsets of whole blocks: a result element is found at before[i] + at[b] + mid[m] + k, with k inside a block of
// `inner` elements that lie side by side.
#pragma once

#include <vector>

#include "indexing.hpp"

namespace tenon::cpu {

struct BlockOffsets {
  std::vector<int64_t> before, at, mid;  // element offsets into x
  int64_t inner = 1;
  std::vector<int64_t> shape;  // of the result
  bool has_mask = false;       // only then is the shape not known before
  int64_t blocks() const { return static_cast<int64_t>(before.size() * at.size() * mid.size()); }
};

// x contiguous, indices contiguous tensors of integers or bool (a mask), or absent.
// Checks every index.
BlockOffsets block_offsets(const char* op, const tn_view& x, const tn_value& indices);

}  // namespace tenon::cpu
