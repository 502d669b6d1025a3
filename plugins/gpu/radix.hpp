// Sorts pairs of a key and a number by key, stably. After D. G. Merrill and
// A. S. Grimshaw, "Revisiting Sorting for GPGPU Stream Architectures", 2010: count digits, compute positions, move pairs.
#pragma once

#include "launch.hpp"

namespace tenon::gpu {

// Two buffers each for `count` keys and numbers, and room for counts. Keys are uint32_t or uint64_t.
template <class Key>
struct RadixSort {
  static constexpr uint32_t kTile = 2048;  // pairs in a block
  static constexpr uint32_t kDigits = 256;

  int64_t count;
  uint32_t bits;  // how many of the lowest key bits are sorted; the others are 0
  // Bytes of scratch memory.
  uint64_t bytes() const;
  // Write the keys here before sort().
  Ptr<Key> keys(const tn_call& call, uint64_t offset) const;
  struct Sorted {
    Ptr<Key> keys;
    Ptr<uint32_t> order;  // the numbers 0, 1, … in the order of the keys
  };
  // [stream-ordered]
  Sorted sort(const tn_call& call, uint64_t offset) const;

 private:
  int64_t blocks() const { return (count + kTile - 1) / kTile; }
  uint64_t place(uint32_t part) const;
};

}  // namespace tenon::gpu
