// Reads calls that write rows of one tensor to places of another: index_put, scatter and their kin.
#ifndef TENON_PLUGINS_COMMON_DEPOSIT_HPP
#define TENON_PLUGINS_COMMON_DEPOSIT_HPP

#include <vector>

#include "advanced_index.hpp"

namespace tenon {

// out[o, place, c] starts as x, or 0, and gets source[o, row, c] for each row whose key is that place.
struct DepositCall {
  int64_t outer = 1, places = 1, rows = 0, inner = 1;
  bool add = false;    // otherwise the last row of a place replaces what is there
  bool apart = false;  // no two rows have the same place
  const tn_view* x = nullptr;
  const tn_view* source = nullptr;
  // Sizes and strides of (row, c) in a source that is not dense; it has a single plane.
  std::vector<int64_t> shape, steps;
  bool dense() const { return shape.empty(); }
};

DepositCall read_put(const tn_call& call, const AdvancedIndex& index);
// Of scatter, or of scatter_add. src may be a single number.
DepositCall read_scatter(const tn_call& call, bool add);
DepositCall read_embedding_backward(const tn_call& call);
DepositCall read_strided_scatter(const tn_call& call);

}  // namespace tenon

#endif
