// Each thread's own lists of small host blocks: taking and giving back is a few instructions, without a lock.
#pragma once

#include <atomic>
#include <cstdint>

#include "memory/allocator.hpp"

namespace tenon::core {

struct ThreadLists {
  struct List {
    void* head;  // a free block's first word points to the next one
    uint32_t count;
    uint32_t capacity;
  };
  List lists[kSmallClasses];
  // Written by the owner only, read by statistics.
  std::atomic<int64_t> used{0};
  std::atomic<uint64_t> allocations{0};
  uint64_t trims_seen = 0;
  ThreadLists* next = nullptr;
  ThreadLists* previous = nullptr;

  ThreadLists() {
    for (uint32_t i = 0; i < kSmallClasses; ++i) {
      const uint64_t fit = (128 << 10) / class_bytes(i);
      lists[i] = {nullptr, 0, static_cast<uint32_t>(fit < 4 ? 4 : fit > 64 ? 64 : fit)};
    }
  }
  template <class Integer>
  static void bump(std::atomic<Integer>& counter, Integer by) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }
  // NULL when there is none.
  void* take(uint32_t index, uint64_t bytes) noexcept {
    List& list = lists[index];
    if (list.head == nullptr) [[unlikely]]
      return nullptr;
    void* block = pop(list);
    bump(used, static_cast<int64_t>(bytes));
    bump(allocations, uint64_t{1});
    return block;
  }
  // False when the list is full.
  bool give(uint32_t index, void* block, uint64_t bytes) noexcept {
    List& list = lists[index];
    if (list.count >= list.capacity) [[unlikely]]
      return false;
    push(list, block);
    bump(used, -static_cast<int64_t>(bytes));
    return true;
  }
  static void* pop(List& list) noexcept {
    void* block = list.head;
    list.head = *static_cast<void**>(block);
    --list.count;
    return block;
  }
  static void push(List& list, void* block) noexcept {
    *static_cast<void**>(block) = list.head;
    list.head = block;
    ++list.count;
  }
};

// NULL until the thread's first slow call, after its end, and with TENON_ALLOCATOR=plain. A pointer alone, so that access needs
// neither a guard nor much of the static TLS area.
extern thread_local constinit ThreadLists* t_lists __attribute__((tls_model("initial-exec")));

}  // namespace tenon::core
