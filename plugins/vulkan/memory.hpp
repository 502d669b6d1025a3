// Memory of one kind, carved out of large blocks so that the driver sees few allocations.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "memory_type.hpp"
#include "vk.hpp"

namespace tenon::vulkan {

class Device;

// One driver allocation, covered by one VkBuffer.
struct Block {
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceSize size = 0;
  VkDeviceAddress address = 0;                // 0 if buffers have no addresses
  char* mapped = nullptr;                     // host memory only
  std::map<VkDeviceSize, VkDeviceSize> gaps;  // offset → size of the free parts
};

// The core's buffer handle: a part of a block.
struct Buffer {
  Block* block = nullptr;
  VkDeviceSize offset = 0;  // in the block, a multiple of Heap::kAlignment
  VkDeviceSize size = 0;
  VkBuffer handle() const { return block->buffer; }
  VkDeviceAddress address() const { return block->address + offset; }
  char* mapped() const { return block->mapped + offset; }
};

class Heap {
 public:
  // At least every alignment that Vulkan may require of a bound buffer (VkPhysicalDeviceLimits, table 53: at most 256).
  static constexpr VkDeviceSize kAlignment = 256;

  Heap(Device& device, MemoryKind kind);
  ~Heap();
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  // Throws sdk::Error (TN_OUT_OF_MEMORY) with the sizes. [thread-safe]
  Buffer* allocate(VkDeviceSize bytes);
  // [thread-safe]
  void free(Buffer* buffer) noexcept;

 private:
  Block& add_block(VkDeviceSize bytes);
  void destroy(Block& block) noexcept;

  Device& device_;
  uint32_t type_ = 0;
  bool visible_ = false;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Block>> blocks_;
};

}  // namespace tenon::vulkan
