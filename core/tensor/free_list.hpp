// Thread-local free lists of blocks of one size: an allocation on the hot path costs a few instructions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

// Static TLS: one instruction instead of a call. The core keeps what it puts there small.
#define TN_TLS __attribute__((tls_model("initial-exec")))

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TN_NO_FREE_LISTS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TN_NO_FREE_LISTS 1
#endif
#endif

namespace tenon::core {

// Trivially destructible, so that tensors may be released while a thread's other objects are destroyed; what is still cached
// then goes back through `Reaper`. Under sanitizers every block is malloc's own.
template <size_t kBytes, uint32_t kKeep = 512>
class FreeList {
 public:
  void* take() {
    if (head_ != nullptr) [[likely]] {
      Link* block = head_;
      head_ = block->next;
      --count_;
      return block;
    }
    return fresh();
  }

  void give(void* memory) noexcept {
#ifndef TN_NO_FREE_LISTS
    if (count_ < kKeep && state_ == kOpen) [[likely]] {
      auto* link = static_cast<Link*>(memory);
      link->next = head_;
      head_ = link;
      ++count_;
      return;
    }
    if (state_ == kUnused) return open(memory);
#endif
    std::free(memory);
  }

 private:
  struct Link {
    Link* next;
  };
  enum State : uint32_t { kUnused, kOpen, kClosed };

  struct Reaper {
    FreeList* list = nullptr;
    ~Reaper() {
      if (list == nullptr) return;
      list->state_ = kClosed;
      while (list->head_ != nullptr) {
        Link* next = list->head_->next;
        std::free(list->head_);
        list->head_ = next;
      }
      list->count_ = 0;
    }
  };

  [[gnu::noinline]] void* fresh() {
    void* memory = std::aligned_alloc(64, (kBytes + 63) / 64 * 64);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }

  [[gnu::noinline]] void open(void* memory) noexcept {
    static thread_local Reaper reaper;
    reaper.list = this;
    state_ = kOpen;
    give(memory);
  }

  Link* head_ = nullptr;
  uint32_t count_ = 0;
  State state_ = kUnused;
};

}  // namespace tenon::core
