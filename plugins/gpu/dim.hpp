// Sizes and places in a grid of blocks of threads.
#pragma once

#include <cstdint>

namespace tenon::gpu {

struct Dim {
  uint32_t x = 1, y = 1, z = 1;
};

}  // namespace tenon::gpu
