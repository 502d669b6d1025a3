#include "fill.hpp"

#include <algorithm>
#include <cstring>

#include "device.hpp"
#include "shaders/fill.hpp"

namespace tenon::vulkan {

void fill(Stream& stream, const Buffer& to, uint64_t offset, uint64_t bytes, const void* pattern,
          uint32_t pattern_size) {
  if (pattern_size == 0 || 8 % pattern_size != 0)
    sdk::fail(TN_INVALID_ARGUMENT, "[vulkan] a pattern of ", pattern_size,
              " bytes; 1, 2, 4 and 8 can be filled in");
  uint32_t words[2];
  for (uint32_t i = 0; i < 8; i += pattern_size)
    std::memcpy(reinterpret_cast<char*>(words) + i, pattern, pattern_size);
  if (words[0] == words[1] && offset % 4 == 0 && bytes % 4 == 0) {
    stream.fill_words(to, offset, bytes, words[0]);
    return;
  }
  if (bytes == 0) return;
  if (bytes > UINT32_MAX) {  // in pieces that a shader can count
    const uint64_t piece = uint64_t{1} << 30;
    for (uint64_t done = 0; done < bytes; done += piece)
      fill(stream, to, offset + done, std::min(piece, bytes - done), pattern, pattern_size);
    return;
  }
  Dispatch dispatch;
  dispatch.key = {&shaders::fill, Compute::kI32, stream.device().group_size(), {}};
  dispatch.slots[0] = {&to, offset, bytes, true};
  dispatch.slot_count = 1;
  const bool whole_words = offset % 4 == 0 && bytes % 4 == 0;
  const uint64_t count = whole_words ? bytes / 4 : bytes;
  dispatch.words[0] = static_cast<uint32_t>(count);
  dispatch.words[1] = words[0];
  dispatch.words[2] = words[1];
  dispatch.words[3] = whole_words ? 1 : 0;
  const uint64_t groups = (count + dispatch.key.group_size - 1) / dispatch.key.group_size;
  dispatch.groups[0] = static_cast<uint32_t>(std::min<uint64_t>(groups, 65535));
  stream.dispatch(dispatch);
}

}  // namespace tenon::vulkan
