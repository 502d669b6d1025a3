#include "memory.hpp"

#include <algorithm>

#include "device.hpp"

namespace tenon::vulkan {
namespace {

// Small requests share blocks of this size; a larger one gets its own block.
constexpr VkDeviceSize kBlock = VkDeviceSize{64} << 20;

// A buffer like all of a heap's. Buffers of one usage accept the same memory types, whatever their size
// (VkMemoryRequirements).
VkBuffer make_buffer(const Device& device, VkDeviceSize bytes) {
  VkBufferCreateInfo wanted{};
  wanted.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  wanted.size = bytes;
  wanted.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                 VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  if (device.addresses()) wanted.usage |= VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  VkBuffer made = VK_NULL_HANDLE;
  check_vk(device.vk().vkCreateBuffer(device.handle(), &wanted, nullptr, &made),
           "creating a buffer");
  return made;
}

VkMemoryRequirements needs_of(const Device& device, VkBuffer buffer) {
  VkMemoryRequirements needs{};
  device.vk().vkGetBufferMemoryRequirements(device.handle(), buffer, &needs);
  return needs;
}

// Bit i: buffers may be placed in memory of type i.
uint32_t types_of_buffers(const Device& device) {
  VkBuffer const probe = make_buffer(device, Heap::kAlignment);
  const uint32_t types = needs_of(device, probe).memoryTypeBits;
  device.vk().vkDestroyBuffer(device.handle(), probe, nullptr);
  return types;
}

}  // namespace

Heap::Heap(Device& device, MemoryKind kind)
    : device_(device),
      type_(choose_type(device.physical().memory, kind, types_of_buffers(device))),
      visible_((kind.needed & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) != 0) {}

Heap::~Heap() {
  for (auto& block : blocks_) destroy(*block);
}

Block& Heap::add_block(VkDeviceSize bytes) {
  const VkDeviceSize largest = device_.physical().largest_block;
  const auto& memory = device_.physical().memory;
  const VkDeviceSize total = memory.memoryHeaps[memory.memoryTypes[type_].heapIndex].size;
  if (bytes > largest || bytes > total)
    sdk::fail(TN_OUT_OF_MEMORY, "[vulkan] ", bytes, " bytes asked for; ", device_.name(),
              " gives at most ", std::min(largest, total), " in one piece");
  device_.inject(Fault::kMemory);
  auto block = std::make_unique<Block>();
  block->size = bytes;
  const auto& vk = device_.vk();
  try {
    block->buffer = make_buffer(device_, bytes);
    VkMemoryAllocateFlagsInfo flags{};
    flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
    flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
    const VkMemoryRequirements needs = needs_of(device_, block->buffer);
    VkMemoryAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    info.pNext = device_.addresses() ? &flags : nullptr;
    info.allocationSize = needs.size;
    info.memoryTypeIndex = type_;
    const VkResult got = vk.vkAllocateMemory(device_.handle(), &info, nullptr, &block->memory);
    if (got < 0) {
      block->memory = VK_NULL_HANDLE;
      fail_vk(got, "allocating " + std::to_string(bytes) + " bytes of " + std::to_string(total) +
                       " on " + device_.name());
    }
    check_vk(vk.vkBindBufferMemory(device_.handle(), block->buffer, block->memory, 0),
             "binding memory");
    if (device_.addresses()) {
      VkBufferDeviceAddressInfo address{};
      address.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
      address.buffer = block->buffer;
      block->address = vk.vkGetBufferDeviceAddress(device_.handle(), &address);
    }
    if (visible_) {
      void* mapped = nullptr;
      check_vk(vk.vkMapMemory(device_.handle(), block->memory, 0, VK_WHOLE_SIZE, 0, &mapped),
               "mapping memory");
      block->mapped = static_cast<char*>(mapped);
    }
    block->gaps.emplace(0, bytes);
    blocks_.push_back(std::move(block));
  } catch (...) {
    if (block) destroy(*block);
    throw;
  }
  return *blocks_.back();
}

void Heap::destroy(Block& block) noexcept {
  const auto& vk = device_.vk();
  vk.vkDestroyBuffer(device_.handle(), block.buffer, nullptr);
  vk.vkFreeMemory(device_.handle(), block.memory, nullptr);
}

Buffer* Heap::allocate(VkDeviceSize bytes) {
  if (bytes > device_.physical().largest_block)
    sdk::fail(TN_OUT_OF_MEMORY, "[vulkan] ", bytes, " bytes asked for; ", device_.name(),
              " gives at most ", device_.physical().largest_block, " in one piece");
  bytes = std::max(bytes + kAlignment - 1, kAlignment) / kAlignment * kAlignment;
  auto buffer = std::make_unique<Buffer>();
  const std::lock_guard lock(mutex_);
  const auto cut = [&](Block& block) {
    for (auto gap = block.gaps.begin(); gap != block.gaps.end(); ++gap) {
      const auto [offset, size] = *gap;
      if (size < bytes) continue;
      if (size > bytes) block.gaps.emplace(offset + bytes, size - bytes);
      block.gaps.erase(gap);
      *buffer = {&block, offset, bytes};
      return true;
    }
    return false;
  };
  for (auto& block : blocks_)
    if (cut(*block)) return buffer.release();
  cut(add_block(bytes > kBlock / 2 ? bytes : std::min(kBlock, device_.physical().largest_block)));
  return buffer.release();
}

void Heap::free(Buffer* buffer) noexcept {
  const std::unique_ptr<Buffer> owned(buffer);
  const std::lock_guard lock(mutex_);
  auto& gaps = buffer->block->gaps;
  auto gap = gaps.emplace(buffer->offset, buffer->size).first;
  if (const auto next = std::next(gap);
      next != gaps.end() && gap->first + gap->second == next->first) {
    gap->second += next->second;
    gaps.erase(next);
  }
  if (gap != gaps.begin()) {
    const auto before = std::prev(gap);
    if (before->first + before->second == gap->first) {
      before->second += gap->second;
      gaps.erase(gap);
      gap = before;
    }
  }
  // The core caches, so a block that comes back empty is meant for others.
  if (gap->second != buffer->block->size) return;
  const auto block = std::find_if(blocks_.begin(), blocks_.end(),
                                  [&](const auto& one) { return one.get() == buffer->block; });
  destroy(**block);
  blocks_.erase(block);
}

}  // namespace tenon::vulkan
