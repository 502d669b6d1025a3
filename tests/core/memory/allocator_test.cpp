#include "memory/allocator.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>
#include <random>
#include <thread>

#include "fake_device.hpp"

namespace tenon::test {
namespace {

using namespace tenon::core;

constexpr uint64_t kMiB = 1 << 20;

// Under ASan, or with TENON_ALLOCATOR=plain, nothing is cached.
bool caching() {
  static const bool on = [] {
    FakeDevice fake("caching_probe");
    tn_device& device = fake.add();
    deallocate(device, allocate(device, 1000));
    const bool kept = stats_of(device).held != 0;
    fake.remove();
    return kept;
  }();
  return on;
}
#define NEEDS_CACHING() \
  if (!caching()) GTEST_SKIP() << "the allocator is plain here: nothing is cached"

TEST(SizeClass, HoldsTheRequestAndWastesAnEighthAtMost) {
  for (uint64_t bytes = 1; bytes < 4 * kMiB; bytes += bytes < 70000 ? 1 : 61) {
    const uint32_t index = size_class(bytes);
    const uint64_t size = class_bytes(index);
    ASSERT_GE(size, bytes);
    ASSERT_EQ(size % 64, 0u);
    if (bytes > 512) {
      ASSERT_LE(size - bytes, bytes / 8) << bytes;
    }
    if (index > 0) {
      ASSERT_LT(class_bytes(index - 1), bytes);
    }
  }
  EXPECT_LT(size_class(kLargestBlock), kClasses);
}

TEST(Allocator, BlocksAreAlignedAndLargeEnough) {
  for (uint64_t bytes :
       {uint64_t{0}, uint64_t{1}, uint64_t{64}, uint64_t{65}, uint64_t{5000}, kMiB, 5 * kMiB + 3}) {
    const Block block = allocate(host_device(), bytes);
    ASSERT_NE(block.data, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block.data) % 64, 0u);
    EXPECT_GE(block.bytes, bytes);
    std::memset(block.data, 1, block.bytes);
    deallocate(host_device(), block);
  }
}

TEST(Allocator, FreedBlocksAreReused) {
  NEEDS_CACHING();
  for (uint64_t bytes : {uint64_t{100}, 64 * uint64_t{1024}, 3 * kMiB}) {
    const Block first = allocate(host_device(), bytes);
    deallocate(host_device(), first);
    const uint64_t asked = stats_of(host_device()).device_allocations;
    const Block second = allocate(host_device(), bytes);
    EXPECT_EQ(first.data, second.data);
    EXPECT_EQ(stats_of(host_device()).device_allocations, asked);
    deallocate(host_device(), second);
  }
}

TEST(Allocator, ALargerBlockServesWhenItIsNotMuchLarger) {
  NEEDS_CACHING();
  FakeDevice fake("reuse");
  tn_device& device = fake.add();
  const Block block = allocate(device, 10 * kMiB);
  deallocate(device, block);
  const Block near = allocate(device, 9 * kMiB);
  EXPECT_EQ(near.buffer, block.buffer);
  const Block far = allocate(device, kMiB);
  EXPECT_EQ(fake.calls, 2u);
  deallocate(device, near);
  deallocate(device, far);
  fake.remove();
}

// ---- Large host blocks, which are cut and joined ------------------------------------------------

// A free block of the host that later requests are cut from.
Block free_block(uint64_t bytes) {
  core::check(tn_memory_trim(&host_device()));
  const Block block = allocate(host_device(), bytes);
  deallocate(host_device(), block);
  return block;
}

bool lies_in(const Block& piece, const Block& whole) {
  const char *at = static_cast<char*>(piece.data), *begin = static_cast<char*>(whole.data);
  return at >= begin && at + piece.bytes <= begin + whole.bytes;
}

TEST(Pieces, ARequestLeavesTheRestToOthers) {
  NEEDS_CACHING();
  const uint64_t used = stats_of(host_device()).used;
  const Block whole = free_block(8 * kMiB);
  const uint64_t asked = stats_of(host_device()).device_allocations;
  std::vector<Block> pieces;
  for (uint64_t bytes : {kMiB, 3 * kMiB + 1, 100 * uint64_t{1000}, 2 * kMiB}) {
    pieces.push_back(allocate(host_device(), bytes));
    const Block& piece = pieces.back();
    EXPECT_TRUE(lies_in(piece, whole)) << bytes;
    EXPECT_EQ(piece.bytes, class_bytes(size_class(bytes)));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(piece.data) % 64, 0u);
    EXPECT_EQ(piece.buffer, piece.data);
    std::memset(piece.data, static_cast<int>(pieces.size()), piece.bytes);
  }
  EXPECT_EQ(stats_of(host_device()).device_allocations, asked);
  uint64_t in_use = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const auto* bytes = static_cast<unsigned char*>(pieces[i].data);
    EXPECT_EQ(bytes[0], i + 1);
    EXPECT_EQ(bytes[pieces[i].bytes - 1], i + 1);
    in_use += pieces[i].bytes;
  }
  EXPECT_EQ(stats_of(host_device()).used, used + in_use);
  for (const Block& piece : pieces) deallocate(host_device(), piece);
  EXPECT_EQ(stats_of(host_device()).used, used);
}

TEST(Pieces, FreeNeighboursBecomeOneInAnyOrder) {
  NEEDS_CACHING();
  std::vector<size_t> order = {0, 1, 2, 3};
  do {
    const Block whole = free_block(8 * kMiB);
    std::vector<Block> quarters;
    for (int i = 0; i < 4; ++i) quarters.push_back(allocate(host_device(), 2 * kMiB));
    for (size_t i : order) deallocate(host_device(), quarters[i]);
    const uint64_t asked = stats_of(host_device()).device_allocations;
    const Block again = allocate(host_device(), 8 * kMiB);
    EXPECT_EQ(again.data, whole.data);
    EXPECT_EQ(stats_of(host_device()).device_allocations, asked);
    deallocate(host_device(), again);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Pieces, TakesTheSmallestThatFits) {
  NEEDS_CACHING();
  const Block large = free_block(16 * kMiB);
  const Block first = allocate(host_device(), 4 * kMiB);
  const Block between = allocate(host_device(), kMiB);  // a gap of 11 MiB follows it
  deallocate(host_device(), first);
  const Block near = allocate(host_device(), 3 * kMiB);
  EXPECT_EQ(near.data, first.data);
  const Block far = allocate(host_device(), 5 * kMiB);
  EXPECT_TRUE(lies_in(far, large));
  for (const Block& block : {near, between, far}) deallocate(host_device(), block);
}

TEST(Pieces, RestsOfACutBlockStayUntilAllIsFree) {
  NEEDS_CACHING();
  const uint64_t before =
      (core::check(tn_memory_trim(&host_device())), stats_of(host_device()).held);
  free_block(8 * kMiB);
  const Block piece = allocate(host_device(), kMiB);
  core::check(tn_memory_trim(&host_device()));
  EXPECT_EQ(stats_of(host_device()).held, before + 8 * kMiB);
  std::memset(piece.data, 1, piece.bytes);
  deallocate(host_device(), piece);
  core::check(tn_memory_trim(&host_device()));
  EXPECT_EQ(stats_of(host_device()).held, before);
}

// Of a stretch of memory, the bytes that the system keeps.
uint64_t resident(char* data, uint64_t bytes) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages(bytes / page);
  EXPECT_EQ(mincore(data - reinterpret_cast<uintptr_t>(data) % page, bytes, pages.data()), 0);
  return page * static_cast<uint64_t>(std::ranges::count_if(pages, [](auto p) { return p & 1; }));
}

TEST(Pieces, TheirMemoryGoesBackWhileTheBlockIsInUse) {
  NEEDS_CACHING();
  const Block whole = free_block(32 * kMiB);
  const Block piece = allocate(host_device(), 4 * kMiB);
  char* const behind = static_cast<char*>(whole.data) + 4 * kMiB;
  std::memset(piece.data, 7, piece.bytes);
  std::memset(behind, 1, 28 * kMiB);
  EXPECT_EQ(resident(behind, 28 * kMiB), 28 * kMiB);
  core::check(tn_memory_trim(&host_device()));
  EXPECT_EQ(resident(behind, 28 * kMiB), 0u);
  EXPECT_EQ(static_cast<char*>(piece.data)[piece.bytes - 1], 7);

  const Block again = allocate(host_device(), 16 * kMiB);  // of what went back
  EXPECT_EQ(again.data, behind);
  std::memset(again.data, 2, again.bytes);
  deallocate(host_device(), again);
  core::check(tn_memory_trim(&host_device()));
  EXPECT_EQ(resident(behind, 28 * kMiB), 0u);
  deallocate(host_device(), piece);
  const Block all = allocate(host_device(), 32 * kMiB);
  EXPECT_EQ(all.data, whole.data);
  deallocate(host_device(), all);
}

// In the C library's heap, below a block that stays.
TEST(Allocator, WhatGoesBackIsNoLongerResident) {
  NEEDS_CACHING();
  free_block(30 * kMiB);
  core::check(
      tn_memory_trim(&host_device()));  // from here on the library takes such sizes for small ones
  std::vector<Block> blocks;
  for (int i = 0; i < 65; ++i) blocks.push_back(allocate(host_device(), kMiB));
  for (const Block& block : blocks) std::memset(block.data, 1, block.bytes);
  const Block last = blocks.back();
  blocks.pop_back();
  const auto pages = [] {
    uint64_t all = 0, now = 0;
    std::ifstream("/proc/self/statm") >> all >> now;
    return now;
  };
  const uint64_t before = pages();
  for (const Block& block : blocks) deallocate(host_device(), block);
  core::check(tn_memory_trim(&host_device()));
  EXPECT_LE((pages() + 60 * kMiB / static_cast<uint64_t>(sysconf(_SC_PAGESIZE))), before);
  deallocate(host_device(), last);
}

TEST(Pieces, WholeBlocksGoBackWhenMemoryIsShort) {
  NEEDS_CACHING();
  free_block(12 * kMiB);
  const Block piece = allocate(host_device(), kMiB);
  tn_memory_set_limit(&host_device(), stats_of(host_device()).held + 2 * kMiB);
  EXPECT_NE(error_of([&] { allocate(host_device(), 13 * kMiB); }, TN_OUT_OF_MEMORY).find("limit"),
            std::string::npos);
  const Block rest =
      allocate(host_device(), 10 * kMiB);  // the free part of the cut block still serves
  deallocate(host_device(), piece);
  deallocate(host_device(), rest);
  const Block large =
      allocate(host_device(), 13 * kMiB);  // only now the 12 MiB are returned, to make room
  EXPECT_LE(stats_of(host_device()).held, stats_of(host_device()).limit);
  tn_memory_set_limit(&host_device(), 0);
  deallocate(host_device(), large);
}

// Sizes that grow leave blocks behind that are too small for what follows. An allocator of its own has no peak of earlier tests; its
// lock lives for good, as forking asks.
TEST(Pieces, FreeBlocksMakeWayForLargerOnes) {
  static auto& own = *new CachingAllocator(host_device(), true);
  const auto stats = [&] {
    Roomy<tn_memory_stats> filled;
    own.stats(filled.value);
    return filled.value;
  };
  const auto step = [&] {
    Block last = own.allocate(kMiB);
    for (uint64_t size = 2 * kMiB; size <= 8 * kMiB; size += kMiB) {
      const Block next = own.allocate(size);
      own.deallocate(last);
      last = next;
    }
    own.deallocate(last);
  };
  step();
  EXPECT_LE(stats().held_peak, 16 * kMiB);  // 15 are in use at most, 36 came
  step();
  const uint64_t asked = stats().device_allocations;
  for (int i = 0; i < 5; ++i) step();
  EXPECT_EQ(stats().device_allocations, asked);  // it has settled
  EXPECT_LE(stats().held_peak, 16 * kMiB);
  own.trim();
  EXPECT_EQ(stats().held, 0u);
}

// Compares with a model: the blocks in use, and their contents.
TEST(Pieces, BlocksNeverOverlapAndKeepWhatIsWritten) {
  const tn_memory_stats before = stats_of(host_device());
  std::mt19937 random(11);
  std::map<char*, std::pair<Block, unsigned char>> live;  // by address
  uint64_t in_use = 0;
  for (int step = 0; step < 20000; ++step) {
    if (live.size() < 40 && random() % 5 < 3) {
      const uint64_t bytes = 1 + random() % (uint64_t{1} << (12 + random() % 11));
      const Block block = allocate(host_device(), bytes);
      char* const at = static_cast<char*>(block.data);
      ASSERT_GE(block.bytes, bytes);
      ASSERT_EQ(reinterpret_cast<uintptr_t>(at) % 64, 0u);
      const auto next = live.lower_bound(at);
      ASSERT_TRUE(next == live.end() || at + block.bytes <= next->first);
      if (next != live.begin()) {
        const auto& [begin, prior] = *std::prev(next);
        ASSERT_LE(begin + prior.first.bytes, at);
      }
      const auto mark = static_cast<unsigned char>(random());
      at[0] = at[block.bytes / 2] = at[block.bytes - 1] = static_cast<char>(mark);
      live[at] = {block, mark};
      in_use += block.bytes;
    } else if (!live.empty()) {
      const auto picked = std::next(live.begin(), random() % live.size());
      const auto [block, mark] = picked->second;
      const auto* at = static_cast<unsigned char*>(block.data);
      ASSERT_TRUE(at[0] == mark && at[block.bytes / 2] == mark && at[block.bytes - 1] == mark);
      deallocate(host_device(), block);
      in_use -= block.bytes;
      live.erase(picked);
    }
    if (step % 1000 == 999) core::check(tn_memory_trim(&host_device()));
    ASSERT_EQ(stats_of(host_device()).used, before.used + in_use);
    ASSERT_GE(stats_of(host_device()).held, stats_of(host_device()).used);
  }
  for (const auto& [at, entry] : live) deallocate(host_device(), entry.first);
  core::check(tn_memory_trim(&host_device()));
  EXPECT_EQ(stats_of(host_device()).held, stats_of(host_device()).used);
}

TEST(Pieces, OtherDevicesKeepTheirBlocksWhole) {
  NEEDS_CACHING();
  FakeDevice fake("whole");
  tn_device& device = fake.add();
  deallocate(device, allocate(device, 8 * kMiB));
  const Block other = allocate(device, kMiB);
  EXPECT_EQ(fake.calls, 2u);
  EXPECT_EQ(fake.blocks.at(other.buffer), kMiB);
  deallocate(device, other);
  fake.remove();
}

TEST(Allocator, StatisticsAddUp) {
  FakeDevice fake("stats");
  tn_device& device = fake.add();
  const Block a = allocate(device, kMiB);
  const Block b = allocate(device, 2 * kMiB);
  tn_memory_stats stats = stats_of(device);
  EXPECT_EQ(stats.used, 3 * kMiB);
  EXPECT_EQ(stats.held, 3 * kMiB);
  EXPECT_EQ(stats.allocations, 2u);
  EXPECT_EQ(stats.device_allocations, 2u);
  deallocate(device, b);
  stats = stats_of(device);
  EXPECT_EQ(stats.used, kMiB);
  EXPECT_EQ(stats.used_peak, 3 * kMiB);
  tn_memory_reset_peak(&device);
  EXPECT_EQ(stats_of(device).used_peak, kMiB);
  deallocate(device, a);
  core::check(tn_memory_trim(&device));
  EXPECT_EQ(stats_of(device).held, 0u);
  EXPECT_EQ(stats_of(device).used, 0u);
  EXPECT_TRUE(fake.blocks.empty());
  fake.remove();
}

TEST(Allocator, SmallHostBlocksAreCounted) {
  const tn_memory_stats before = stats_of(host_device());
  std::vector<Block> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(allocate(host_device(), 100));
  const tn_memory_stats during = stats_of(host_device());
  EXPECT_EQ(during.used - before.used, 1000u * 128);
  EXPECT_EQ(during.allocations - before.allocations, 1000u);
  for (const Block& block : blocks) deallocate(host_device(), block);
  EXPECT_EQ(stats_of(host_device()).used, before.used);
}

TEST(Allocator, CachedBlocksAreGivenUpBeforeItFails) {
  FakeDevice fake("retry");
  fake.capacity = 10 * kMiB;
  tn_device& device = fake.add();
  const Block kept = allocate(device, kMiB);
  deallocate(device, allocate(device, 8 * kMiB));
  const Block large = allocate(device, 9 * kMiB);  // fits only without the cached 8 MiB
  EXPECT_EQ(stats_of(device).retries, caching() ? 1u : 0u);
  EXPECT_EQ(stats_of(device).held, 10 * kMiB);
  deallocate(device, large);
  deallocate(device, kept);
  fake.remove();
}

TEST(Allocator, SuccessWithoutMemoryIsNoSuccess) {
  FakeDevice fake("forgetful");
  fake.memory.allocate = [](void*, uint32_t, uint64_t, void** buffer,
                            void** address) -> tn_status* {
    *buffer = *address = nullptr;
    return nullptr;
  };
  tn_device& device = fake.add();
  const std::string message = error_of([&] { allocate(device, kMiB); }, TN_OUT_OF_MEMORY);
  EXPECT_TRUE(message.ends_with("the plugin gave no memory")) << message;
  EXPECT_EQ(stats_of(device).held, 0u);
  fake.remove();
}

TEST(Allocator, TheErrorTellsSizeFreeAndHeld) {
  FakeDevice fake("full");
  fake.capacity = 10 * kMiB;
  tn_device& device = fake.add();
  const Block kept = allocate(device, 4 * kMiB);
  const std::string message = error_of([&] { allocate(device, 7 * kMiB); }, TN_OUT_OF_MEMORY);
  EXPECT_EQ(message,
            "out of memory on full:0: 7.0 MiB requested (7340032 bytes), 6.0 MiB free (6291456 "
            "bytes), 4.0 MiB held by Tenon "
            "(4194304 bytes; 0 bytes cached): the fake is full");
  deallocate(device, allocate(device, 6 * kMiB));  // the device goes on working
  deallocate(device, kept);
  fake.remove();
}

TEST(Allocator, AbsurdSizesAreAnError) {
  for (uint64_t bytes : {~uint64_t{0}, uint64_t{1} << 60, uint64_t{1} << 45})
    EXPECT_NE(error_of([&] { allocate(host_device(), bytes); }, TN_OUT_OF_MEMORY)
                  .find("out of memory on cpu:0"),
              std::string::npos);
}

TEST(Allocator, TheLimitHolds) {
  FakeDevice fake("limit");
  tn_device& device = fake.add();
  tn_memory_set_limit(&device, 8 * kMiB);
  deallocate(device, allocate(device, 6 * kMiB));
  const Block block = allocate(device, 3 * kMiB);  // the cached 6 MiB make room
  EXPECT_LE(stats_of(device).held, 8 * kMiB);
  const std::string message = error_of([&] { allocate(device, 6 * kMiB); }, TN_OUT_OF_MEMORY);
  EXPECT_NE(message.find("the limit is 8.0 MiB (8388608 bytes)"), std::string::npos) << message;
  EXPECT_EQ(stats_of(device).limit, 8 * kMiB);
  tn_memory_set_limit(&device, 0);
  deallocate(device, allocate(device, 6 * kMiB));
  deallocate(device, block);
  fake.remove();
}

TEST(Allocator, VaryingSizesDoNotGrowWithoutEnd) {
  FakeDevice fake("varying");
  tn_device& device = fake.add();
  std::mt19937 random(7);
  uint64_t peak = 0;
  for (int step = 0; step < 300; ++step) {
    std::vector<Block> blocks;
    for (int i = 0; i < 20; ++i) blocks.push_back(allocate(device, kMiB + random() % (16 * kMiB)));
    peak = std::max(peak, stats_of(device).used);
    for (const Block& block : blocks) deallocate(device, block);
  }
  EXPECT_LE(stats_of(device).held, peak + peak / 4 + 16 * kMiB);
  EXPECT_LE(stats_of(device).held_peak, peak + peak / 4 + 16 * kMiB + 20 * kMiB);
  fake.remove();
  EXPECT_EQ(fake.taken, 0u);
}

TEST(Allocator, TheStreamIsDrainedBeforeBlocksGoBack) {
  FakeDevice fake("streams", true);
  tn_device& device = fake.add();
  deallocate(device, allocate(device, kMiB));
  core::check(tn_memory_trim(&device));
  EXPECT_GE(fake.synchronized_before_free, 1u);
  fake.remove();
}

TEST(Allocator, ThreadsShareAndHandOver) {
  const uint64_t used = stats_of(host_device()).used;
  constexpr int kThreads = 4;
  std::mutex mutex;
  std::vector<std::pair<Block, unsigned char>> handed;
  std::atomic<int> wrong{0};
  const auto work = [&](int id) {
    std::mt19937 random(static_cast<unsigned>(id));
    for (int i = 0; i < 4000; ++i) {
      const uint64_t bytes = uint64_t{1} << (random() % 20);
      const Block block = allocate(host_device(), bytes);
      const auto mark = static_cast<unsigned char>(random());
      std::memset(block.data, mark, bytes);
      std::pair<Block, unsigned char> other{};
      {
        const std::lock_guard lock(mutex);
        handed.emplace_back(block, mark);
        if (handed.size() > 64) {
          const size_t pick = random() % handed.size();
          other = handed[pick];
          handed[pick] = handed.back();
          handed.pop_back();
        }
      }
      if (other.first.data == nullptr) continue;
      if (*static_cast<unsigned char*>(other.first.data) != other.second) ++wrong;
      deallocate(host_device(), other.first);
    }
  };
  std::vector<std::thread> threads;
  for (int id = 0; id < kThreads; ++id) threads.emplace_back(work, id);
  for (std::thread& thread : threads) thread.join();
  for (const auto& [block, mark] : handed) deallocate(host_device(), block);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(stats_of(host_device()).used, used);
}

TEST(Allocator, TrimReachesBlocksOfEndedThreads) {
  std::thread([] {
    for (int i = 0; i < 100; ++i) deallocate(host_device(), allocate(host_device(), 512));
  }).join();
  core::check(tn_memory_trim(&host_device()));
  const tn_memory_stats stats = stats_of(host_device());
  EXPECT_EQ(stats.held, stats.used);
}

TEST(Allocator, NullDevicesAreErrors) {
  tn_status* status = tn_memory_trim(nullptr);
  EXPECT_EQ(tn_status_code(status), TN_INVALID_ARGUMENT);
  tn_status_release(status);
  status = tn_memory_get_stats(nullptr, nullptr);
  EXPECT_EQ(tn_status_code(status), TN_INVALID_ARGUMENT);
  tn_status_release(status);
  tn_memory_set_limit(nullptr, 1);
  tn_memory_reset_peak(nullptr);
}

}  // namespace
}  // namespace tenon::test
