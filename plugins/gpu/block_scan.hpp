// Prefix sums over the threads of a block. All threads of the block must call these.
#pragma once

#include "portable.hpp"

namespace tenon::gpu {

// The sum over all earlier threads, and over all threads. The block has whole warps along x.
GPU_DEVICE uint32_t block_sum_before(uint32_t value, uint32_t& total) {
  GPU_SHARED(uint32_t, sums, kMostWarps);
  uint32_t sum = value;
  for (uint32_t by = 1; by < warp_width(); by *= 2) {
    const uint32_t other = shuffle_up(sum, by);
    if (lane() >= by) sum += other;
  }
  if (lane() == warp_width() - 1) sums[warp()] = sum;
  sync_threads();
  uint32_t before = 0;
  total = 0;
  for (uint32_t w = 0; w < block_size().x / warp_width(); ++w) {
    const uint32_t of_warp = sums[w];
    if (w < warp()) before += of_warp;
    total += of_warp;
  }
  sync_threads();
  return before + sum - value;
}

}  // namespace tenon::gpu
