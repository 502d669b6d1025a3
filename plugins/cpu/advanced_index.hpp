// NumPy's indexing by several tensors, brought into one form: offsets of whole blocks. A result
// element is found at before[i] + at[b] + mid[m] + k, with k inside a block of `inner` elements
// that lie side by side.
#pragma once

#include <vector>

#include "indexing.hpp"

namespace tenon::cpu {

struct AdvancedIndex {
  std::vector<int64_t> before, at, mid;  // element offsets into x
  int64_t inner = 1;
  std::vector<int64_t> shape;  // of the result
  int64_t blocks() const { return static_cast<int64_t>(before.size() * at.size() * mid.size()); }
};

// x contiguous, indices contiguous tensors of integers or bool (a mask), or absent.
// Checks every index.
AdvancedIndex resolve_indices(const char* op, const tn_view& x, const tn_value& indices);

}  // namespace tenon::cpu
