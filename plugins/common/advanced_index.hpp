// Reads NumPy's advanced indexing from a call of index or index_put.
#ifndef TENON_PLUGINS_COMMON_ADVANCED_INDEX_HPP
#define TENON_PLUGINS_COMMON_ADVANCED_INDEX_HPP

#include <vector>

#include "tenon/plugin.h"

namespace tenon {

// Indices along dimension `dim` of x. A mask covers as many dimensions as it has and stands for the positions where it is true.
struct IndexAxis {
  const tn_view* index;
  int64_t dim;
  int64_t size;     // indices are below it
  int64_t step;     // of one index, in blocks
  int64_t set = 0;  // positions of a mask; the most there may be, until they are counted

  bool is_mask() const { return index->dtype == TN_DTYPE_BOOL; }
};

// A dimension of x that the result has, too.
struct KeptDim {
  int64_t size, step;  // the step counts blocks
};

// A block of the result is block before + at[position] + mid of x, and each block has `inner` contiguous elements.
struct AdvancedIndex {
  std::vector<IndexAxis> axes;
  std::vector<KeptDim> before, mid;
  std::vector<int64_t> positions;  // the broadcast shape of the index tensors
  int64_t inner = 1;
  std::vector<int64_t> shape;  // of the result
  bool has_mask = false;

  // x must be contiguous. With masks, positions and shape are the largest possible ones.
  AdvancedIndex(const tn_view& x, const tn_value& indices);
  // The positions and the shape, once `set` of every mask is known. Throws if the axes do not broadcast.
  void broadcast(const char* op);

  int64_t places() const;
  int64_t mids() const;
  int64_t blocks() const;

 private:
  void join_shape();
  std::vector<int64_t> tail_;  // sizes that `inner` is made of
};

// The mask of an index_put that puts a single value at one mask after slices; NULL: another call. Its positions need not be counted.
const tn_view* only_mask(const tn_call& call);
// Elements of x below each element of that mask.
int64_t elements_of_mask(const tn_call& call, const tn_view& mask);

}  // namespace tenon

#endif
