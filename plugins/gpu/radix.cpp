#include "radix.hpp"

#include <algorithm>

#include "block_scan.hpp"
#include "kernels.hpp"

namespace tenon::gpu {
namespace {

constexpr uint32_t kThreads = kBlockThreads, kItems = 8, kDigits = 256, kDigitBits = 8;
constexpr uint32_t kTile = kThreads * kItems;

// Bits above the sorted ones are 0.
template <class Key>
GPU_DEVICE uint32_t digit_of(Key key, uint32_t shift) {
  return static_cast<uint32_t>(key >> shift) & (kDigits - 1);
}

// counts[digit, block]
template <class Key>
GPU_KERNEL count_digits(Ptr<const Key> keys, uint32_t count, uint32_t shift, Ptr<uint32_t> counts) {
  GPU_SHARED(uint32_t, tally, kDigits);
  const uint32_t t = thread_index().x, b = block_index().x;
  tally[t] = 0;
  sync_threads();
  for (uint32_t k = 0; k < kItems; ++k) {
    const uint32_t i = b * kTile + k * kThreads + t;
    if (i < count) atomic_add(tally + digit_of<Key>(keys[i], shift), 1);
  }
  sync_threads();
  counts[int64_t{t} * block_count().x + b] = tally[t];
}

// One block for each digit replaces its counts by prefix sums; totals[digit] is their sum.
GPU_KERNEL sum_counts(Ptr<uint32_t> counts, uint32_t blocks, Ptr<uint32_t> totals) {
  const Ptr<uint32_t> mine = counts + int64_t{block_index().x} * blocks;
  uint32_t before = 0;
  for (uint32_t first = 0; first < blocks; first += kThreads) {
    const uint32_t b = first + thread_index().x;
    uint32_t total = 0;
    const uint32_t count = b < blocks ? static_cast<uint32_t>(mine[b]) : 0;
    const uint32_t sum = block_sum_before(count, total);
    if (b < blocks) mine[b] = before + sum;
    before += total;
  }
  if (thread_index().x == 0) totals[block_index().x] = before;
}

// The lanes of the warp with the same digit, including this one.
GPU_DEVICE uint64_t lanes_with(bool valid, uint32_t digit, uint32_t bits) {
  uint64_t same = ballot(valid);
  for (uint32_t bit = 0; bit < bits; ++bit) {
    const bool set = (digit >> bit & 1) != 0;
    const uint64_t lanes = ballot(set);
    same &= set ? lanes : ~lanes;
  }
  return same;
}

// A single block needs no counts. Without `order`: the numbers 0, 1, ….
template <class Key>
GPU_KERNEL place_pairs(Ptr<const Key> keys, Ptr<const uint32_t> order, uint32_t count,
                       uint32_t shift, uint32_t bits, Ptr<const uint32_t> counts,
                       Ptr<const uint32_t> totals, Ptr<Key> to_keys, Ptr<uint32_t> to_order) {
  GPU_SHARED(uint32_t, tallies, kThreads / 32 * kDigits);
  const uint32_t t = thread_index().x, b = block_index().x, warps = kThreads / warp_width();
  for (uint32_t w = 0; w < warps; ++w) tallies[w * kDigits + t] = 0;
  sync_threads();
  const Ptr<uint32_t> mine = tallies + warp() * kDigits;
  const uint64_t below = (uint64_t{1} << lane()) - 1;
  const uint32_t first = b * kTile + warp() * kItems * warp_width() + lane();
  Key held[kItems];
  uint32_t ranks[kItems];
  // Warps beyond the last pair have nothing to rank.
  GPU_UNROLL
  for (uint32_t k = 0; k < kItems && first - lane() + k * warp_width() < count; ++k) {
    const uint32_t i = first + k * warp_width();
    const bool valid = i < count;
    held[k] = valid ? static_cast<Key>(keys[i]) : Key(0);
    const uint32_t digit = digit_of(held[k], shift);
    const uint64_t same = lanes_with(valid, digit, bits);
    const uint32_t before = mine[digit];
    ranks[k] = before + bits_set(same & below);
    sync_warp();
    if (valid && (same & below) == 0) mine[digit] = before + bits_set(same);
    sync_warp();
  }
  sync_threads();
  uint32_t of_block = 0, all = 0;
  for (uint32_t w = 0; w < warps; ++w) of_block += tallies[w * kDigits + t];
  uint32_t place =
      block_sum_before(counts == nullptr ? of_block : static_cast<uint32_t>(totals[t]), all);
  if (counts != nullptr) place += counts[int64_t{t} * block_count().x + b];
  for (uint32_t w = 0; w < warps; ++w) {
    const uint32_t of_warp = tallies[w * kDigits + t];
    tallies[w * kDigits + t] = place;
    place += of_warp;
  }
  sync_threads();
  GPU_UNROLL
  for (uint32_t k = 0; k < kItems; ++k) {
    const uint32_t i = first + k * warp_width();
    if (i >= count) continue;
    const uint32_t to = mine[digit_of(held[k], shift)] + ranks[k];
    to_keys[to] = held[k];
    to_order[to] = order == nullptr ? i : static_cast<uint32_t>(order[i]);
  }
}

uint64_t aligned(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace

// Parts: keys, keys, order, order, counts, totals, the end.
template <class Key>
uint64_t RadixSort<Key>::place(uint32_t part) const {
  const auto n = static_cast<uint64_t>(count);
  const uint64_t sizes[] = {
      n * sizeof(Key), n * sizeof(Key), n * 4, n * 4, static_cast<uint64_t>(blocks()) * kDigits * 4,
      kDigits * 4};
  uint64_t at = 0;
  for (uint32_t k = 0; k < part; ++k) at += aligned(sizes[k]);
  return at;
}

template <class Key>
uint64_t RadixSort<Key>::bytes() const {
  return place(6);
}

template <class Key>
Ptr<Key> RadixSort<Key>::keys(const tn_call& call, uint64_t offset) const {
  return scratch<Key>(call, offset, count);
}

template <class Key>
typename RadixSort<Key>::Sorted RadixSort<Key>::sort(const tn_call& call, uint64_t offset) const {
  Ptr<Key> from = keys(call, offset), to = scratch<Key>(call, offset + place(1), count);
  Ptr<uint32_t> order = scratch<uint32_t>(call, offset + place(2), count),
                to_order = scratch<uint32_t>(call, offset + place(3), count);
  const bool alone = blocks() == 1;
  const Ptr<uint32_t> counts = alone
                                   ? Ptr<uint32_t>(nullptr)
                                   : scratch<uint32_t>(call, offset + place(4), blocks() * kDigits);
  const Ptr<uint32_t> totals = scratch<uint32_t>(call, offset + place(5), kDigits);
  const auto n = static_cast<uint32_t>(count), tiles = static_cast<uint32_t>(blocks());
  const Grid grid{{tiles, 1, 1}, {kThreads, 1, 1}};
  for (uint32_t shift = 0; shift < bits; shift += kDigitBits) {
    if (!alone) {
      launch(call, grid, count_digits<Key>, from, n, shift, counts);
      launch(call, {{kDigits, 1, 1}, {kThreads, 1, 1}}, sum_counts, counts, tiles, totals);
    }
    launch(call, grid, place_pairs<Key>, from, shift == 0 ? Ptr<uint32_t>(nullptr) : order, n,
           shift, std::min(kDigitBits, bits - shift), counts, totals, to, to_order);
    std::swap(from, to);
    std::swap(order, to_order);
  }
  return {from, order};
}

template struct RadixSort<uint32_t>;
template struct RadixSort<uint64_t>;

}  // namespace tenon::gpu
