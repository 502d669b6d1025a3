// Host-visible memory used as a ring: what a batch took is free again when the batch is done.
#pragma once

#include <algorithm>
#include <cstdint>

#include "memory.hpp"

namespace tenon::vulkan {

class Ring {
 public:
  static constexpr VkDeviceSize kNone = ~VkDeviceSize{0};

  Ring(Heap& heap, VkDeviceSize size) : heap_(heap), size_(size) {}
  ~Ring() {
    if (buffer_ != nullptr) heap_.free(buffer_);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // The offset of `bytes` contiguous bytes, aligned to 64; kNone if too much is in use.
  VkDeviceSize take(VkDeviceSize bytes) {
    if (buffer_ == nullptr) buffer_ = heap_.allocate(size_);
    if (head_ == tail_) head_ = tail_ = (head_ + size_ - 1) / size_ * size_;  // empty: starts over
    uint64_t begin = (head_ + 63) / 64 * 64;
    if (begin % size_ + bytes > size_) begin = (begin / size_ + 1) * size_;  // does not wrap around
    if (begin + bytes - tail_ > size_) return kNone;
    head_ = begin + bytes;
    return begin % size_;
  }
  uint64_t head() const { return head_; }
  // Frees everything up to `mark`, which head() returned.
  void release(uint64_t mark) { tail_ = std::max(tail_, mark); }
  bool empty() const { return head_ == tail_; }

  // The largest single copy; several fit.
  VkDeviceSize piece() const { return size_ / 4; }
  const Buffer& buffer() const { return *buffer_; }
  char* at(VkDeviceSize offset) const { return buffer_->mapped() + offset; }

 private:
  Heap& heap_;
  const VkDeviceSize size_;
  Buffer* buffer_ = nullptr;  // on first use
  uint64_t head_ = 0, tail_ = 0;
};

}  // namespace tenon::vulkan
