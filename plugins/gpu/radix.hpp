// Pairs of a key and a number, sorted by the keys; equal ones stay in order. After D. G. Merrill and
// A. S. Grimshaw, "Revisiting Sorting for GPGPU Stream Architectures", 2010: counts of digits, their places, pairs to places.
#pragma once

#include "launch.hpp"

namespace tenon::gpu {

// `count` keys, as many numbers, both twice, and room for counts. Keys are uint32_t or uint64_t.
template <class Key>
struct RadixSort {
  static constexpr uint32_t kTile = 2048;  // pairs of a block
  static constexpr uint32_t kDigits = 256;

  int64_t count;
  uint32_t bits;  // of the keys, from the lowest on; those above are 0
  // Of scratch memory.
  uint64_t bytes() const;
  // The keys to be sorted, before sort().
  Ptr<Key> keys(const tn_call& call, uint64_t offset) const;
  struct Sorted {
    Ptr<Key> keys;
    Ptr<uint32_t> order;  // the numbers 0, 1, … that stood with them
  };
  // [stream-ordered]
  Sorted sort(const tn_call& call, uint64_t offset) const;

 private:
  int64_t blocks() const { return (count + kTile - 1) / kTile; }
  uint64_t place(uint32_t part) const;
};

}  // namespace tenon::gpu
