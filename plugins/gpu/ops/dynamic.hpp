// Finds the elements that are not 0: how many, and where. The host only knows how many after a wait.
#pragma once

#include "block_scan.hpp"
#include "kernels.hpp"
#include "launch.hpp"

namespace tenon::gpu {

// Tiles of elements, with the count for each tile in scratch memory.
struct Compaction {
  static constexpr uint32_t kTile = 2048, kThreads = kBlockThreads, kEach = kTile / kThreads;

  int64_t count;
  uint64_t bytes() const { return (static_cast<uint64_t>(tiles()) * 4 + 4 + 255) / 256 * 256; }
  int64_t tiles() const { return (count + kTile - 1) / kTile; }
  Grid grid() const { return {{static_cast<uint32_t>(tiles()), 1, 1}, {kThreads, 1, 1}}; }
  Ptr<uint32_t> counts(const tn_call& call, uint64_t offset) const {
    return scratch<uint32_t>(call, offset, tiles() + 1);
  }
  // Replaces counts by the number of elements before each tile, and returns the total. Waits for the stream.
  int64_t total(const tn_call& call, uint64_t offset) const;
};

// This thread's elements: kEach of each tile.
template <class Set>
GPU_DEVICE uint32_t count_mine(const Set& set, uint32_t count) {
  const uint32_t begin = block_index().x * Compaction::kTile + thread_index().x * Compaction::kEach;
  uint32_t mine = 0;
  for (uint32_t i = begin; i < begin + Compaction::kEach && i < count; ++i) mine += set(i) ? 1 : 0;
  return mine;
}

// Set(i): whether element i counts.
template <class Set>
GPU_KERNEL count_tiles(Set set, uint32_t count, Ptr<uint32_t> counts) {
  uint32_t total = 0;
  block_sum_before(count_mine(set, count), total);
  if (thread_index().x == 0) counts[block_index().x] = total;
}

// Calls write(i, to) for each element that counts; `to` numbers them.
template <class Set, class Write>
GPU_DEVICE void for_set(const Set& set, uint32_t count, const Ptr<const uint32_t>& before,
                        const Write& write) {
  uint32_t total = 0;
  uint32_t to = before[block_index().x] + block_sum_before(count_mine(set, count), total);
  const uint32_t begin = block_index().x * Compaction::kTile + thread_index().x * Compaction::kEach;
  for (uint32_t i = begin; i < begin + Compaction::kEach && i < count; ++i)
    if (set(i)) write(i, to++);
}

// How many elements of a dense x are not 0. Waits for the stream.
int64_t count_set(const tn_call& call, uint64_t offset, const tn_view& x);
// Then writes their row-major positions: flat, or one coordinate for each dimension.
void write_set(const tn_call& call, uint64_t offset, const tn_view& x, bool flat,
               Ptr<int64_t> positions);

}  // namespace tenon::gpu
