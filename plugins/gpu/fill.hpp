// Fills device memory with a pattern.
#pragma once

#include "backend.hpp"

namespace tenon::gpu {

// Repeats a pattern of 1, 2, 4 or 8 bytes from `to` on, `bytes` in all. [stream-ordered]
void fill(Stream& stream, void* to, uint64_t bytes, const void* pattern, uint32_t pattern_size);

}  // namespace tenon::gpu
