// Host memory that a program allocated (memory table, host_allocate). The device writes read-backs straight into it.
#pragma once

#include <atomic>
#include <map>
#include <mutex>

#include "memory.hpp"

namespace tenon::vulkan {

class Pinned {
 public:
  explicit Pinned(Heap& heap) : heap_(heap) {}  // of host-visible memory
  ~Pinned() {
    for (const auto& [address, buffer] : buffers_) heap_.free(buffer);
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

  // All of these: [thread-safe]
  void* allocate(VkDeviceSize bytes) {
    Buffer* buffer = heap_.allocate(bytes);
    const std::lock_guard lock(mutex_);
    buffers_.emplace(buffer->mapped(), buffer);
    ++count_;
    return buffer->mapped();
  }
  void free(void* address) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = buffers_.find(static_cast<char*>(address));
    if (found == buffers_.end()) return;
    heap_.free(found->second);
    buffers_.erase(found);
    --count_;
  }
  // The buffer that contains a whole range of host memory; NULL for other memory.
  const Buffer* find(const void* address, VkDeviceSize bytes) const {
    if (count_.load(std::memory_order_relaxed) == 0) return nullptr;
    const char* begin = static_cast<const char*>(address);
    const std::lock_guard lock(mutex_);
    auto after = buffers_.upper_bound(begin);
    if (after == buffers_.begin()) return nullptr;
    const auto& [start, buffer] = *std::prev(after);
    return begin + bytes <= start + buffer->size ? buffer : nullptr;
  }

 private:
  Heap& heap_;
  mutable std::mutex mutex_;
  std::map<const char*, Buffer*> buffers_;
  std::atomic<size_t> count_{0};
};

}  // namespace tenon::vulkan
