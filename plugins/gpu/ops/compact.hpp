// Elements that are not 0, in order: how many, and where. How many is known on the host only after a wait.
#pragma once

#include "kernels.hpp"
#include "launch.hpp"

namespace tenon::gpu {

// Tiles of elements and how many of each are set, in scratch memory.
struct Compaction {
  static constexpr uint32_t kTile = 2048;

  int64_t count;
  uint64_t bytes() const { return (static_cast<uint64_t>(tiles()) * 4 + 4 + 255) / 256 * 256; }
  int64_t tiles() const { return (count + kTile - 1) / kTile; }
  Ptr<uint32_t> counts(const tn_call& call, uint64_t offset) const {
    return scratch<uint32_t>(call, offset, tiles() + 1);
  }
  // Counts become how many stand before a tile; returns how many there are in all. Waits for the stream.
  int64_t total(const tn_call& call, uint64_t offset) const;
};

// How many elements of a dense x are not 0; waits for the stream.
int64_t count_set(const tn_call& call, uint64_t offset, const tn_view& x);
// Then their positions, row-major: flat, or a coordinate for each dimension.
void write_set(const tn_call& call, uint64_t offset, const tn_view& x, bool flat,
               Ptr<int64_t> positions);

}  // namespace tenon::gpu
