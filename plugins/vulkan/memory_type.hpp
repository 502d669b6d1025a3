// Chooses the memory type for buffers.
#pragma once

#include <bit>
#include <cstdint>

#include "vk.hpp"

namespace tenon::vulkan {

// What a heap requires: the first type that has all of `needed`; those that also have `wanted` come first.
struct MemoryKind {
  VkMemoryPropertyFlags needed;
  VkMemoryPropertyFlags wanted;
};
inline constexpr MemoryKind kDeviceMemory{VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0};
inline constexpr MemoryKind kUploadMemory{
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, 0};
inline constexpr MemoryKind kReadBackMemory{
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
    VK_MEMORY_PROPERTY_HOST_CACHED_BIT};

// From the types whose bits are set in `allowed`. Throws TN_UNIMPLEMENTED if none fits.
inline uint32_t choose_type(const VkPhysicalDeviceMemoryProperties& memory, MemoryKind kind,
                            uint32_t allowed) {
  int best = -1, best_score = -1;
  for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    const VkMemoryPropertyFlags flags = memory.memoryTypes[i].propertyFlags;
    if ((allowed >> i & 1) == 0 || (flags & kind.needed) != kind.needed) continue;
    const int score = std::popcount(flags & kind.wanted);
    if (score > best_score) best = static_cast<int>(i), best_score = score;
  }
  if (best < 0)
    sdk::fail(TN_UNIMPLEMENTED, "[vulkan] the device has no memory of the kind ", kind.needed,
              " for buffers");
  return static_cast<uint32_t>(best);
}

}  // namespace tenon::vulkan
