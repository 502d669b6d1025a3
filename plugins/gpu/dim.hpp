// Sizes of, and positions in, a grid of thread blocks.
#pragma once

#include <cstdint>

namespace tenon::gpu {

struct Dim {
  uint32_t x = 1, y = 1, z = 1;
};

inline constexpr uint32_t kBlockThreads = 256;  // of a block, unless a kernel says otherwise
inline constexpr uint32_t kMostThreads = 1024;  // of any block

}  // namespace tenon::gpu
