// Fills memory with a repeated pattern.
#pragma once

#include "stream.hpp"

namespace tenon::vulkan {

// `pattern_size` is 1, 2, 4 or 8 bytes. Throws sdk::Error.
void fill(Stream& stream, const Buffer& to, uint64_t offset, uint64_t bytes, const void* pattern,
          uint32_t pattern_size);

}  // namespace tenon::vulkan
