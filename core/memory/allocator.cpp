#include "memory/allocator.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "loader.hpp"
#include "memory/host.hpp"
#include "memory/thread_lists.hpp"
#include "status.hpp"

namespace tenon::core {

constexpr uint64_t kSlack = 16 << 20;  // cached bytes that are only given back on request
constexpr uint32_t kWindow = 4096;     // central calls over which a peak of use is remembered
constexpr uint32_t kSpareClasses = 2;  // a request may take a block two classes larger: 25 %

CachingAllocator::CachingAllocator(tn_device& device, bool caching)
    : device_(device), caching_(caching) {
  heads_.fill(kNone);
}

// The largest class whose requests a block of so many bytes serves.
static uint32_t class_within(uint64_t bytes) { return size_class(bytes + 1) - 1; }
static uint64_t at_least_none(int64_t count) {
  return static_cast<uint64_t>(std::max<int64_t>(count, 0));
}

// ---- The central bins; the lock is held ---------------------------------------------------------

uint32_t CachingAllocator::make_node(const Block& block) {
  uint32_t index = free_nodes_;
  if (index == kNone) {
    index = static_cast<uint32_t>(nodes_.size());
    nodes_.emplace_back();
  } else {
    free_nodes_ = nodes_[index].class_next;
  }
  nodes_[index] = {block};
  if (block.bytes > kSmallBytes) nodes_[index].block.bin = kNodes + index;
  return index;
}

void CachingAllocator::drop_node(uint32_t index) noexcept {
  nodes_[index].class_next = free_nodes_;
  free_nodes_ = index;
}

void CachingAllocator::link(uint32_t index) noexcept {
  Node& node = nodes_[index];
  uint32_t& head = heads_[class_within(node.block.bytes)];
  node.class_prev = kNone;
  node.class_next = head;
  if (head != kNone) nodes_[head].class_prev = index;
  head = index;
  node.free = true;
  if (!node.empty) cached_ += node.block.bytes;
  if (!node.whole()) return;
  node.newer = kNone;
  node.older = newest_;
  (newest_ == kNone ? oldest_ : nodes_[newest_].newer) = index;
  newest_ = index;
}

void CachingAllocator::unlink(uint32_t index) noexcept {
  Node& node = nodes_[index];
  (node.class_prev == kNone ? heads_[class_within(node.block.bytes)]
                            : nodes_[node.class_prev].class_next) = node.class_next;
  if (node.class_next != kNone) nodes_[node.class_next].class_prev = node.class_prev;
  node.free = false;
  if (!node.empty) cached_ -= node.block.bytes;
  if (!node.whole()) return;
  (node.older == kNone ? oldest_ : nodes_[node.older].newer) = node.newer;
  (node.newer == kNone ? newest_ : nodes_[node.newer].older) = node.older;
}

// Takes a free block out of its list, but for the part behind `bytes` where that is large enough for others.
void CachingAllocator::cut(uint32_t index, uint64_t bytes) {
  const Block whole = nodes_[index].block;
  uint32_t rest = kNone;
  if (device_.is_host() && whole.bytes - bytes > kSmallBytes) {
    char* const at = static_cast<char*>(whole.data) + bytes;
    rest = make_node({at, at, whole.bytes - bytes});
  }
  unlink(index);
  const bool empty = std::exchange(nodes_[index].empty, false);
  if (rest == kNone) return;
  Node &node = nodes_[index], &behind = nodes_[rest];
  node.block.bytes = bytes;
  behind.empty = empty;
  behind.before = index;
  behind.after = std::exchange(node.after, rest);
  if (behind.after != kNone) nodes_[behind.after].before = rest;
  link(rest);
}

// Makes one of two pieces that lie side by side, both out of their lists.
void CachingAllocator::join(uint32_t index, uint32_t behind) noexcept {
  Node& node = nodes_[index];
  node.empty = false;
  node.block.bytes += nodes_[behind].block.bytes;
  node.after = nodes_[behind].after;
  if (node.after != kNone) nodes_[node.after].before = index;
  drop_node(behind);
}

void CachingAllocator::keep(const Block& block) {
  uint32_t index = block.bin < kNodes ? make_node(block) : block.bin - kNodes;
  if (const uint32_t before = nodes_[index].before; before != kNone && nodes_[before].free) {
    unlink(before);
    join(before, index);
    index = before;
  }
  if (const uint32_t after = nodes_[index].after; after != kNone && nodes_[after].free) {
    unlink(after);
    join(index, after);
  }
  link(index);
}

Block CachingAllocator::take_cached(uint32_t index) {
  // Thread lists hold blocks of exactly their class, so small host blocks are never taken for another.
  const uint32_t larger = index < kSmallClasses ? 0 : device_.is_host() ? kClasses : kSpareClasses;
  const uint32_t end = std::min(index + larger + 1, kClasses);
  uint32_t from = index;
  while (from < end && heads_[from] == kNone) ++from;
  if (from == end) return {};
  const uint32_t node = heads_[from];
  cut(node, class_bytes(index));
  const Block block = nodes_[node].block;
  if (block.bin < kNodes) drop_node(node);
  return block;
}

void CachingAllocator::to_device(const Block& block) noexcept {
  device_.type->memory.free(device_.type->self, device_.index, block.buffer);
  counts_.held -= block.bytes;
}

void CachingAllocator::synchronize_stream() noexcept { defer(device_, synchronize(device_)); }

void CachingAllocator::evict_down_to(uint64_t cached) {
  if (cached_ <= cached) return;
  synchronize_stream();
  while (cached_ > cached && oldest_ != kNone) {
    const uint32_t index = oldest_;
    const Block block = nodes_[index].block;
    unlink(index);
    drop_node(index);
    to_device(block);
  }
  // What is left are pieces of blocks in use, whose place stays.
  for (Node& node : nodes_) {
    if (cached_ <= cached) return;
    if (!node.free || node.empty) continue;
    drop_pages(node.block.data, node.block.bytes);
    node.empty = true;
    cached_ -= node.block.bytes;
  }
}

void CachingAllocator::evict(uint64_t bytes) { evict_down_to(cached_ - std::min(cached_, bytes)); }

uint64_t CachingAllocator::recent_peak() const {
  return at_least_none(std::max(window_peak_, last_window_peak_));
}

void CachingAllocator::shrink_if_large() {
  const uint64_t bound = recent_peak() / 4 * 5 + kSlack;
  evict_down_to(bound - std::min(bound, at_least_none(used_)));
}

// Before the host gives a block of so many bytes, free ones that are too small for it go back as far as the recent peak asks.
void CachingAllocator::make_way(uint64_t bytes) {
  const uint64_t used = at_least_none(used_) + bytes;
  evict_down_to(std::max(recent_peak(), used) - used);
}

void CachingAllocator::count_use(int64_t bytes) {
  used_ += bytes;
  used_peak_ = std::max(used_peak_, used_);
  counts_.held_peak = std::max(counts_.held_peak, counts_.held);
  window_peak_ = std::max(window_peak_, used_);
  if (++window_calls_ >= kWindow) {
    window_calls_ = 0;
    last_window_peak_ = window_peak_;
    window_peak_ = std::max<int64_t>(used_, 0);
  }
}

void CachingAllocator::out_of_memory(uint64_t wanted, const std::string& reason) {
  Roomy<tn_device_info> filled;
  const tn_device_info& info = filled.value;
  tn_status_release(device_.type->device.info(device_.type->self, device_.index, &filled.value));
  const uint64_t cached = counts_.held - std::min(counts_.held, at_least_none(used_));
  fail(TN_OUT_OF_MEMORY,
       "out of memory on {}: {} requested ({} bytes), {} free ({} bytes), {} held by Tenon "
       "({} bytes; {} cached){}{}",
       device_.id, format_bytes(wanted), wanted, format_bytes(info.memory_free), info.memory_free,
       format_bytes(counts_.held), counts_.held, format_bytes(cached), reason.empty() ? "" : ": ",
       reason);
}

Block CachingAllocator::from_device(uint32_t index, uint64_t wanted) {
  const uint64_t bytes = caching_             ? class_bytes(index)
                         : layer() != nullptr ? std::max<uint64_t>(wanted, 1)
                                              : std::max<uint64_t>((wanted + 63) / 64 * 64, 64);
  if (counts_.limit != 0 && counts_.held + bytes > counts_.limit) {
    evict(counts_.held + bytes - counts_.limit);
    if (counts_.held + bytes > counts_.limit) {
      ++counts_.retries;
      out_of_memory(wanted, fmt::format("the limit is {} ({} bytes)", format_bytes(counts_.limit),
                                        counts_.limit));
    }
  }
  Block block{nullptr, nullptr, bytes, index};
  const auto ask = [&] {
    ++counts_.device_allocations;
    tn_status* status = device_.type->memory.allocate(device_.type->self, device_.index, bytes,
                                                      &block.buffer, &block.data);
    // So says a plugin that does not look at what its own allocator gave.
    const bool none = block.buffer == nullptr || (device_.addressable && block.data == nullptr);
    return status != nullptr || !none ? status
                                      : make_status(TN_OUT_OF_MEMORY, "the plugin gave no memory");
  };
  tn_status* status = ask();
  if (tn_status_code(status) == TN_OUT_OF_MEMORY) {
    ++counts_.retries;
    if (cached_ > 0) {
      tn_status_release(status);
      evict_down_to(0);
      status = ask();
    }
  }
  try {
    check(status);
  } catch (const Error& error) {
    if (error.code() == TN_OUT_OF_MEMORY) out_of_memory(wanted, error.what());
    fail(error.code(), "{}: allocating {}: {}", device_.id, format_bytes(bytes), error.what());
  }
  counts_.held += bytes;
  if (device_.redirected()) block.bin = kUncached;
  if (!caching_ || device_.redirected() || index < kSmallClasses) return block;
  try {
    return nodes_[make_node(block)].block;
  } catch (...) {
    to_device(block);
    throw;
  }
}

// ---- Thread lists -------------------------------------------------------------------------------

thread_local constinit ThreadLists* t_lists = nullptr;

namespace {
thread_local constinit bool t_ended = false;
std::atomic<uint64_t> g_trims{0};  // tells threads to empty their lists at their next slow call
ThreadLists* g_threads = nullptr;  // under the lock of the host's allocator
}  // namespace

void CachingAllocator::report(ThreadLists& lists) {
  count_use(lists.used.exchange(0, std::memory_order_relaxed));
  counts_.allocations += lists.allocations.exchange(0, std::memory_order_relaxed);
}

void CachingAllocator::spill(ThreadLists& lists, uint32_t index, uint32_t down_to) {
  ThreadLists::List& list = lists.lists[index];
  while (list.count > down_to) {
    void* block = ThreadLists::pop(list);
    keep({block, block, class_bytes(index), index});
  }
}

void CachingAllocator::spill_all(ThreadLists& lists) {
  for (uint32_t i = 0; i < kSmallClasses; ++i) spill(lists, i, 0);
}

// Takes some blocks of the class out of the bins, so that the next calls need no lock.
void CachingAllocator::refill(ThreadLists& lists, uint32_t index) {
  ThreadLists::List& list = lists.lists[index];
  while (list.count < list.capacity / 2 && heads_[index] != kNone)
    ThreadLists::push(list, take_cached(index).data);
}

void CachingAllocator::obey_trim(ThreadLists& lists) {
  const uint64_t trims = g_trims.load(std::memory_order_relaxed);
  if (lists.trims_seen == trims) return;
  lists.trims_seen = trims;
  spill_all(lists);
  evict_down_to(0);
}

// Lives from a thread's first slow call to its end, when its blocks go to the central bins.
struct ListsOwner {
  CachingAllocator& central;
  std::unique_ptr<ThreadLists> lists = std::make_unique<ThreadLists>();
  ~ListsOwner() {
    t_ended = true;
    t_lists = nullptr;
    const std::lock_guard lock(central.mutex_);
    try {
      central.report(*lists);
      central.spill_all(*lists);
    } catch (...) {  // no memory for the bins' nodes: the blocks are lost with the thread
    }
    (lists->previous != nullptr ? lists->previous->next : g_threads) = lists->next;
    if (lists->next != nullptr) lists->next->previous = lists->previous;
  }
};

// The calling thread's; made at the first call.
ThreadLists* CachingAllocator::lists_here() {
  if (t_lists != nullptr || t_ended) return t_lists;
  static thread_local ListsOwner owner{*this};
  owner.lists->trims_seen = g_trims.load(std::memory_order_relaxed);
  owner.lists->next = g_threads;
  if (g_threads != nullptr) g_threads->previous = owner.lists.get();
  g_threads = owner.lists.get();
  return t_lists = owner.lists.get();
}

// ---- The calls ----------------------------------------------------------------------------------

Block CachingAllocator::allocate(uint64_t bytes) {
  if (!device_.type->live)
    fail(TN_FAILED_PRECONDITION, "{} is gone: its plugin was quiesced", device_.id);
  const std::lock_guard lock(mutex_);
  if (bytes > kLargestBlock) out_of_memory(bytes, "no block can be that large");
  const uint32_t index = size_class(bytes);
  ThreadLists* lists =
      caching_ && device_.is_host() && index < kSmallClasses ? lists_here() : nullptr;
  if (lists != nullptr) {
    report(*lists);
    obey_trim(*lists);
  }
  Block block = device_.redirected() ? Block{} : take_cached(index);
  if (block.buffer == nullptr) {
    if (device_.is_host() && index >= kSmallClasses) make_way(class_bytes(index));
    try {
      block = from_device(index, bytes);
    } catch (const Error& error) {
      // The missing memory may be in this thread's own lists.
      if (t_lists == nullptr || !device_.is_host() || error.code() != TN_OUT_OF_MEMORY) throw;
      spill_all(*t_lists);
      evict_down_to(0);
      block = from_device(index, bytes);
    }
  }
  if (lists != nullptr) refill(*lists, index);
  ++counts_.allocations;
  ++live_;
  count_use(static_cast<int64_t>(block.bytes));
  shrink_if_large();
  return block;
}

void CachingAllocator::deallocate(const Block& block) noexcept {
  const std::lock_guard lock(mutex_);
  --live_;
  count_use(-static_cast<int64_t>(block.bytes));
  if (!caching_ || block.bin == kUncached) {
    synchronize_stream();
    return to_device(block);
  }
  try {
    if (device_.is_host() && block.bin < kSmallClasses) {
      if (ThreadLists* lists = lists_here()) {
        report(*lists);
        obey_trim(*lists);
        spill(*lists, block.bin, lists->lists[block.bin].capacity / 2);
      }
    }
    keep(block);
  } catch (...) {  // no memory for the bookkeeping
    return to_device(block);
  }
  shrink_if_large();
}

void CachingAllocator::stats(tn_memory_stats& out) {
  const std::lock_guard lock(mutex_);
  out = counts_;
  int64_t used = used_;
  if (device_.is_host()) {
    for (const ThreadLists* lists = g_threads; lists != nullptr; lists = lists->next) {
      used += lists->used.load(std::memory_order_relaxed);
      out.allocations += lists->allocations.load(std::memory_order_relaxed);
    }
  }
  used_peak_ = std::max(used_peak_, used);
  out.used = at_least_none(used);
  out.used_peak = static_cast<uint64_t>(used_peak_);
}

void CachingAllocator::reset_peak() {
  tn_memory_stats now{};
  stats(now);
  const std::lock_guard lock(mutex_);
  used_peak_ = static_cast<int64_t>(now.used);
  counts_.held_peak = counts_.held;
}

void CachingAllocator::set_limit(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  counts_.limit = bytes;
  if (counts_.limit != 0 && counts_.held > counts_.limit) evict(counts_.held - counts_.limit);
}

void CachingAllocator::trim() noexcept {
  const std::lock_guard lock(mutex_);
  try {
    if (device_.is_host()) {
      const uint64_t trims = g_trims.fetch_add(1, std::memory_order_relaxed) + 1;
      if (t_lists != nullptr) {
        t_lists->trims_seen = trims;
        spill_all(*t_lists);
      }
    }
  } catch (...) {  // no memory for the bins' nodes: what could be moved, was
  }
  evict_down_to(0);
}

uint64_t CachingAllocator::live_blocks() {
  const std::lock_guard lock(mutex_);
  return at_least_none(live_);
}

// ---- What the core calls ------------------------------------------------------------------------

Block allocate(tn_device& device, uint64_t bytes) {
  ThreadLists* lists = t_lists;
  if (lists != nullptr && bytes <= kSmallBytes && device.is_host()) [[likely]] {
    const uint32_t index = size_class(bytes);
    const uint64_t size = class_bytes(index);
    if (void* block = lists->take(index, size)) [[likely]]
      return {block, block, size, index};
  }
  return device.allocator->allocate(bytes);
}

void deallocate(tn_device& device, const Block& block) noexcept {
  ThreadLists* lists = t_lists;
  if (lists != nullptr && block.bin < kSmallClasses && device.is_host()) [[likely]] {
    if (lists->give(block.bin, block.data, block.bytes)) [[likely]]
      return;
  }
  device.allocator->deallocate(block);
}

}  // namespace tenon::core
