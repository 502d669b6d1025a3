// Advanced indexing on the device: where the rows of elements begin. A mask's positions are counted first.
#pragma once

#include <vector>

#include "../../common/advanced_index.hpp"
#include "indices.hpp"
#include "kernels.hpp"
#include "layout.hpp"

namespace tenon::gpu {

// A block is a row.
struct RowIndex : AdvancedIndex {
  using AdvancedIndex::AdvancedIndex;

  bool fits() const;  // whether 32 bits can count its rows
  // Bytes of scratch memory, with masks, for the largest possible number of positions.
  uint64_t bytes() const;
  // Counts the masks' positions, which waits for the stream, and writes them. Throws if they do not broadcast.
  void count_masks(const tn_call& call, const char* op, uint64_t offset);
  // Where the positions of an axis, a mask, are in scratch memory.
  std::vector<uint64_t> written;
};

// Kernel arguments for finding rows.
struct RowFinder {
  Ptr<const int64_t> places;
  Divider positions, mids;
  Layout<1> before, mid;
};
// Adds up the checked positions of all axes in scratch memory; `offset` as in count_masks().
RowFinder find_places(const tn_call& call, const char* op, const RowIndex& index, uint64_t offset);

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
