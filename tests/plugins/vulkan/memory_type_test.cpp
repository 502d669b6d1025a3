// Which memory type buffers are allocated from.
#include "memory_type.hpp"

#include <gtest/gtest.h>

namespace tenon::vulkan {
namespace {

constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                                kVisible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                           VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                                kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;

VkPhysicalDeviceMemoryProperties with(std::initializer_list<VkMemoryPropertyFlags> types) {
  VkPhysicalDeviceMemoryProperties memory{};
  for (const VkMemoryPropertyFlags flags : types)
    memory.memoryTypes[memory.memoryTypeCount++].propertyFlags = flags;
  return memory;
}

TEST(MemoryType, TakesTheFirstThatQualifies) {
  const auto memory = with({kVisible, kLocal, kLocal | kVisible, kVisible | kCached});
  EXPECT_EQ(choose_type(memory, kDeviceMemory, ~0U), 1U);
  EXPECT_EQ(choose_type(memory, kUploadMemory, ~0U), 0U);
  EXPECT_EQ(choose_type(memory, kReadBackMemory, ~0U), 3U);
}

// A device's first memory types may be for images only.
TEST(MemoryType, OnlyTypesForBuffers) {
  const auto memory = with({kLocal, kLocal, kLocal | kVisible});
  EXPECT_EQ(choose_type(memory, kDeviceMemory, 0b110), 1U);
  EXPECT_EQ(choose_type(memory, kDeviceMemory, 0b100), 2U);
  EXPECT_THROW(choose_type(memory, kUploadMemory, 0b011), sdk::Error);
}

}  // namespace
}  // namespace tenon::vulkan
