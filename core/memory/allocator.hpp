// The caching allocator that every device shares.
//
// Sizes are rounded up to classes, eight to a doubling, so at most 12.5 % is lost. Freed blocks are kept:
//  - host blocks of at most 64 KiB in lists of the freeing thread, without a lock; full lists spill to central ones,
//  - larger ones of the host in central bins under a mutex. A request takes the smallest that fits and leaves the rest as a block
//    of its own; free pieces that lie side by side are joined again,
//  - those of other devices, whose buffers may be handles, in bins as well, but whole: with at most 25 % to spare.
// What is kept is bounded: used and cached bytes together stay below 1.25 × the recent peak of use + 16 MiB; the blocks unused
// for longest go back to the device, then the memory of free pieces, whose addresses stay until all of the block is free. A
// training run of varying sizes therefore settles at its own peak. On the host, which need not wait for a stream, blocks go back down
// to the recent peak itself before a large one is added; that one is cut for small requests later.
//
// Streams: a freed block may be handed out again at once. That is right because all work on a device is enqueued on its default
// stream, in order; before blocks go back to the device that stream is synchronised. What a thread allocates while its work is
// redirected is no part of that order: its blocks come from the device and go back to it.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "memory/device.hpp"
#include "memory/forking.hpp"

namespace tenon::core {

constexpr uint64_t kSmallBytes = 64 << 10;  // largest block of the thread lists
constexpr uint32_t kSmallClasses = 64;
constexpr uint32_t kClasses = 8 + 8 * 45;
constexpr uint64_t kLargestBlock = uint64_t{1} << 50;

// Block.bin: below kNodes the class of a small block, else kNodes + the node of a large one, or:
constexpr uint32_t kNodes = kSmallClasses;
constexpr uint32_t kUncached = ~0u;  // goes back to the device at once

// Index of the smallest class that holds `bytes`, and the size of a class.
constexpr uint32_t size_class(uint64_t bytes) {
  const uint64_t units = (bytes + 63) / 64;
  if (units <= 8) return units == 0 ? 0 : static_cast<uint32_t>(units - 1);
  const auto exponent = static_cast<uint32_t>(63 - __builtin_clzll(units - 1));
  return 8 * (exponent - 3) + static_cast<uint32_t>((units - 1) >> (exponent - 3));
}
constexpr uint64_t class_bytes(uint32_t index) {
  if (index < 8) return 64 * (index + uint64_t{1});
  return 64 * ((index % 8 + uint64_t{9}) << (index / 8 - 1));
}
static_assert(size_class(kSmallBytes) == kSmallClasses - 1 &&
              class_bytes(kSmallClasses - 1) == kSmallBytes);

struct ThreadLists;

class CachingAllocator {
 public:
  // Without `caching` every call goes to the device, so that a sanitizer sees each use after free.
  CachingAllocator(tn_device& device, bool caching);

  Block allocate(uint64_t bytes);
  void deallocate(const Block& block) noexcept;

  void stats(tn_memory_stats& out);
  void reset_peak();
  void set_limit(uint64_t bytes);
  void trim() noexcept;
  // Blocks that have not come back; exact for devices other than the host.
  uint64_t live_blocks();

 private:
  friend struct ListsOwner;
  static constexpr uint32_t kNone = ~0u;
  // A free block, or a large one in use. Free ones are in the list of the largest class that they hold, latest first; those that
  // the device gave whole are in the order of release, too.
  struct Node {
    Block block;
    uint32_t class_prev = kNone, class_next = kNone, older = kNone, newer = kNone;
    uint32_t before = kNone, after = kNone;  // the pieces beside it
    bool free = false;
    bool empty = false;  // its memory is the system's until it is used again
    bool whole() const { return before == kNone && after == kNone; }
  };

  Block take_cached(uint32_t index);  // the following need the lock
  Block from_device(uint32_t index, uint64_t wanted);
  void keep(const Block& block);
  uint32_t make_node(const Block& block);
  void drop_node(uint32_t index) noexcept;
  void link(uint32_t index) noexcept;
  void unlink(uint32_t index) noexcept;
  void cut(uint32_t index, uint64_t bytes);
  void join(uint32_t index, uint32_t behind) noexcept;
  void evict(uint64_t bytes);
  void evict_down_to(uint64_t cached);
  void to_device(const Block& block) noexcept;
  void synchronize_stream() noexcept;
  uint64_t recent_peak() const;
  void shrink_if_large();
  void make_way(uint64_t bytes);
  void count_use(int64_t bytes);
  [[noreturn]] void out_of_memory(uint64_t wanted, const std::string& reason);
  // What the slow paths do with a thread's lists, which are the host's.
  ThreadLists* lists_here();
  void report(ThreadLists& lists);
  void spill(ThreadLists& lists, uint32_t index, uint32_t down_to);
  void spill_all(ThreadLists& lists);
  void refill(ThreadLists& lists, uint32_t index);
  void obey_trim(ThreadLists& lists);

  tn_device& device_;
  const bool caching_;
  Mutex mutex_;
  std::array<uint32_t, kClasses> heads_;
  std::vector<Node> nodes_;
  uint32_t free_nodes_ = kNone;
  uint32_t oldest_ = kNone, newest_ = kNone;
  uint64_t cached_ = 0;  // in the central bins
  int64_t used_ = 0;     // not counting what threads have yet to report
  int64_t used_peak_ = 0;
  int64_t live_ = 0;
  int64_t window_peak_ = 0, last_window_peak_ = 0;  // of use, over some thousand calls
  uint32_t window_calls_ = 0;
  tn_memory_stats counts_{};  // but for what is used
};

// "4.0 GiB"
std::string format_bytes(uint64_t bytes);

}  // namespace tenon::core
