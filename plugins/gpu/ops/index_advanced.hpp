// NumPy's advanced indexing in one form: the positions where rows of elements begin. A mask stands for the positions where it is true,
// which are counted first.
#pragma once

#include <vector>

#include "indices.hpp"
#include "kernels.hpp"
#include "layout.hpp"

namespace tenon::gpu {

// Indices along one dimension, or along the dimensions of a mask.
struct Axis {
  const tn_view* index;
  int64_t dim, size, step;  // step counts rows of `inner` elements
  bool is_mask() const { return index->dtype == TN_DTYPE_BOOL; }
  int64_t set = 0;         // for a mask: how many positions; before counting, the most there may be
  uint64_t positions = 0;  // for a mask: where its positions are in scratch memory
};
struct Kept {
  int64_t size, step;
};

// A row of the result comes from row before + place[b] + mid of x; each row has `inner` contiguous elements.
struct AdvancedIndex {
  std::vector<Axis> axes;
  std::vector<Kept> before, mid;
  std::vector<int64_t> positions;  // the broadcast shape of the index tensors
  int64_t inner = 1;
  std::vector<int64_t> shape;  // of the result
  bool has_mask = false;

  // x must be contiguous.
  AdvancedIndex(const tn_view& x, const tn_value& indices);
  int64_t places() const;
  int64_t rows() const;
  bool fits() const;  // whether 32 bits can count its rows
  // Bytes of scratch memory, with masks, for the largest possible number of positions.
  uint64_t bytes() const;
  // Counts the masks' positions, which waits for the stream, and writes them. Throws if they do not broadcast.
  void count_masks(const tn_call& call, const char* op, uint64_t offset);

 private:
  void broadcast(const char* op);
  std::vector<int64_t> tail_;  // sizes that `inner` is made of
};

// Kernel arguments for finding rows.
struct RowFinder {
  Ptr<const int64_t> places;
  Divider positions, mids;
  Layout<1> before, mid;
};
// Adds up the checked positions of all axes in scratch memory; `offset` as in count_masks().
RowFinder find_places(const tn_call& call, const char* op, const AdvancedIndex& index,
                      uint64_t offset);

// The row of x for row i of the result; kNowhere if an index is out of range.
GPU_DEVICE int64_t row_of(const RowFinder& finder, uint32_t i) {
  const uint32_t rest = finder.mids.divide(i), b = finder.positions.divide(rest);
  const int64_t place = finder.places[rest - b * finder.positions.divisor];
  if (place == kNowhere) return kNowhere;
  int64_t before, mid;
  finder.before.find(b, &before);
  finder.mid.find(i - rest * finder.mids.divisor, &mid);
  return place + before + mid;
}

}  // namespace tenon::gpu
