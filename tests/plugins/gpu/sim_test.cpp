// The host simulator: kernels compute what a GPU would, and each mistake is found, with its place in the source.
#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>
#include <vector>

#include "launch_sim.hpp"

namespace tenon::gpu {
namespace {

using sim::FaultKind;

class Sim : public testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Warps, Sim, testing::Values(32u, 64u));

// ---- Correct kernels ----------------------------------------------------------------------------------------------------

GPU_KERNEL block_sums(Ptr<const int64_t> x, Ptr<int64_t> sums) {
  GPU_SHARED(int64_t, parts, kMostWarps);
  int64_t sum = x[first_thread()];
  for (uint32_t step = warp_width() / 2; step > 0; step /= 2) sum += shuffle_xor(sum, step);
  if (lane() == 0) parts[warp()] = sum;
  sync_threads();
  if (thread_index().x != 0) return;
  sum = 0;
  for (uint32_t w = 0; w < block_size().x / warp_width(); ++w) sum += parts[w];
  sums[block_index().x] = sum;
}

TEST_P(Sim, ShufflesAndBarriersGiveSums) {
  std::vector<int64_t> x(512), sums(2);
  std::iota(x.begin(), x.end(), 0);
  run(GetParam(), 2, 256, [&] { block_sums(all_of(std::as_const(x)), all_of(sums)); });
  EXPECT_EQ(sums[0], 255 * 256 / 2);
  EXPECT_EQ(sums[1], 511 * 512 / 2 - 255 * 256 / 2);
}

GPU_KERNEL votes(Ptr<uint64_t> odd, Ptr<uint32_t> before) {
  odd[thread_index().x] = ballot(lane() % 2 == 1);
  before[thread_index().x] =
      shuffle_up(lane(), 1) + 100 * shuffle_down(lane(), 1) + 10000 * shuffle(lane(), 3);
}

TEST_P(Sim, LanesVoteAndLookAround) {
  std::vector<uint64_t> odd(64);
  std::vector<uint32_t> seen(64);
  run(GetParam(), 1, 64, [&] { votes(all_of(odd), all_of(seen)); });
  EXPECT_EQ(odd[0], GetParam() == 32 ? 0xaaaaaaaau : 0xaaaaaaaaaaaaaaaau);
  EXPECT_EQ(seen[0], 0u + 100 * 1 + 10000 * 3);
  EXPECT_EQ(seen[5], 4u + 100 * 6 + 10000 * 3);
  const uint32_t last = GetParam() - 1;  // the ends keep their own values
  EXPECT_EQ(seen[last], last - 1 + 100 * last + 10000 * 3);
}

GPU_KERNEL count_up(Ptr<uint32_t> counter, Ptr<float> total) {
  GPU_SHARED(uint32_t, mine, 1);
  if (thread_index().x == 0) mine[0] = 0;
  sync_threads();
  atomic_add(mine, 1);
  atomic_add(total, 0.5f);
  sync_threads();
  if (thread_index().x == 0) atomic_add(counter, mine[0]);
}

TEST_P(Sim, AtomicsCountEveryThread) {
  std::vector<uint32_t> counter(1);
  std::vector<float> total(1);
  run(GetParam(), 3, 128, [&] { count_up(all_of(counter), all_of(total)); });
  EXPECT_EQ(counter[0], 3u * 128);
  EXPECT_EQ(total[0], 1.5f * 128);
}

// A barrier makes what others wrote before it visible, repeatedly, in one array.
GPU_KERNEL rotate(Ptr<uint32_t> out) {
  GPU_SHARED(uint32_t, ring, 96);
  const uint32_t me = thread_index().x, next = (me + 1) % block_size().x;
  ring[me] = me;
  for (int turn = 0; turn < 3; ++turn) {
    sync_threads();
    const uint32_t value = ring[next];
    sync_threads();
    ring[me] = value;
  }
  out[me] = ring[me];
}

TEST(SimBlocks, BarriersOrderReadsAndWrites) {
  std::vector<uint32_t> out(96);
  run(32, 1, 96, [&] { rotate(all_of(out)); });
  for (uint32_t i = 0; i < 96; ++i) EXPECT_EQ(out[i], (i + 3) % 96);
}

// ---- Mistakes, each of which is found -------------------------------------------------------------------------------------

GPU_KERNEL missing_barrier(Ptr<uint32_t> out) {
  GPU_SHARED(uint32_t, tile, 64);
  tile[thread_index().x] = thread_index().x;
  out[thread_index().x] = tile[(thread_index().x + 63) % 64];
}
// The same within a warp, whose threads may run one after the other.
GPU_KERNEL missing_warp_barrier(Ptr<uint32_t> out) {
  GPU_SHARED(uint32_t, tile, 64);
  tile[thread_index().x] = thread_index().x;
  const uint32_t neighbour = thread_index().x == 0 ? 0 : thread_index().x - 1;
  out[thread_index().x] = tile[neighbour];
}
// Ordered: the warp waits in between.
GPU_KERNEL warp_barrier(Ptr<uint32_t> out) {
  GPU_SHARED(uint32_t, tile, 64);
  tile[thread_index().x] = thread_index().x;
  sync_warp();
  out[thread_index().x] = tile[thread_index().x ^ 1];
}
GPU_KERNEL write_write_race(Ptr<uint32_t> out) {
  GPU_SHARED(uint32_t, cell, 1);
  cell[0] = thread_index().x;
  sync_threads();
  out[0] = cell[0];
}
// One thread reads, then another writes without a barrier.
GPU_KERNEL read_write_race(Ptr<uint32_t> out) {
  GPU_SHARED(uint32_t, cell, 1);
  if (thread_index().x == 0) cell[0] = 7;
  sync_threads();
  out[thread_index().x] = cell[0];
  if (thread_index().x == 63) cell[0] = 8;
}
GPU_KERNEL plain_write_beside_atomic(Ptr<uint32_t> out) {
  GPU_SHARED(uint32_t, cell, 1);
  if (thread_index().x == 0) cell[0] = 0;
  sync_threads();
  if (thread_index().x < 32)
    atomic_add(cell, 1);
  else
    cell[0] = 5;
  sync_threads();
  out[0] = cell[0];
}
GPU_KERNEL uninitialized_shared(Ptr<uint32_t> out) {
  GPU_SHARED(uint32_t, tile, 64);
  if (thread_index().x < 63) tile[thread_index().x] = 1;
  sync_threads();
  out[thread_index().x] = tile[thread_index().x];
}
GPU_KERNEL beyond_the_end(Ptr<uint32_t> out) { out[thread_index().x + 1] = 0; }
GPU_KERNEL before_the_begin(Ptr<uint32_t> out) {
  out[static_cast<int64_t>(thread_index().x) - 1] = 0;
}
GPU_KERNEL beyond_shared(Ptr<uint32_t> out) {
  GPU_SHARED(uint32_t, tile, 63);
  tile[thread_index().x] = 0;
  out[thread_index().x] = 0;
}
GPU_KERNEL misaligned_vector(Ptr<uint32_t> out) {
  if (thread_index().x < 8) store_vec<4>(out + 1 + 4 * thread_index().x, Vec<uint32_t, 4>{});
}
GPU_KERNEL divergent_barrier(Ptr<uint32_t> out) {
  if (thread_index().x < 32) sync_threads();
  out[thread_index().x] = 1;
}
GPU_KERNEL two_barriers(Ptr<uint32_t> out) {
  if (thread_index().x < 32)
    sync_threads();
  else {
    sync_threads();
  }
  out[thread_index().x] = 1;
}
GPU_KERNEL divergent_shuffle(Ptr<uint32_t> out) {
  if (lane() < 16) out[thread_index().x] = shuffle_xor(lane(), 1);
  sync_threads();
}

struct Planted {
  const char* name;
  void (*kernel)(Ptr<uint32_t>);
  FaultKind kind;
  const char* words;
};
std::ostream& operator<<(std::ostream& out, const Planted& planted) { return out << planted.name; }

class SimFinds : public testing::TestWithParam<Planted> {};
INSTANTIATE_TEST_SUITE_P(
    Bugs, SimFinds,
    testing::Values(
        Planted{"MissingBarrier", missing_barrier, FaultKind::kUninitialized,
                "no thread has written"},
        Planted{"MissingWarpBarrier", missing_warp_barrier, FaultKind::kRace, "without a barrier"},
        Planted{"WriteWriteRace", write_write_race, FaultKind::kRace,
                "written while it is written by"},
        Planted{"ReadWriteRace", read_write_race, FaultKind::kRace, "written while it is read by"},
        Planted{"PlainWriteBesideAtomic", plain_write_beside_atomic, FaultKind::kRace,
                "written while"},
        Planted{"UninitializedShared", uninitialized_shared, FaultKind::kUninitialized,
                "no thread has written"},
        Planted{"BeyondTheEnd", beyond_the_end, FaultKind::kOutOfBounds,
                "element 64 of an array of 64"},
        Planted{"BeforeTheBegin", before_the_begin, FaultKind::kOutOfBounds,
                "element -1 of an array of 64"},
        Planted{"BeyondShared", beyond_shared, FaultKind::kOutOfBounds,
                "element 63 of an array of 63"},
        Planted{"MisalignedVector", misaligned_vector, FaultKind::kMisaligned, "not aligned"},
        Planted{"DivergentBarrier", divergent_barrier, FaultKind::kDivergence, "has ended while"},
        Planted{"TwoBarriers", two_barriers, FaultKind::kDivergence, "diverge"},
        Planted{"DivergentShuffle", divergent_shuffle, FaultKind::kDivergence, "diverge"}),
    [](const auto& info) { return info.param.name; });

TEST_P(SimFinds, AtBothWidthsWithItsPlace) {
  for (const uint32_t lanes : {32u, 64u}) {
    std::vector<uint32_t> out(64);
    try {
      run(lanes, 1, 64, [&] { GetParam().kernel(all_of(out)); });
      ADD_FAILURE() << "nothing was found with warps of " << lanes;
    } catch (const sim::Fault& fault) {
      EXPECT_EQ(fault.kind, GetParam().kind) << fault.message;
      EXPECT_NE(fault.message.find(GetParam().words), std::string::npos) << fault.message;
      EXPECT_NE(fault.message.find("sim_test.cpp:"), std::string::npos) << fault.message;
    }
  }
}

template <class T>
GPU_KERNEL number_threads(Ptr<T> out) {
  out[thread_index().x] = static_cast<T>(thread_index().x);
}
template <class T, uint32_t kMost>
GPU_SIZED_KERNEL(kMost, number_sized, Ptr<T> out, T first) {
  out[thread_index().x] = first + static_cast<T>(thread_index().x);
}

// A launch with the most threads that the kernel allows is accepted; one warp more is refused.
template <class... P, class... A>
void expect_bound(uint32_t most, void (*kernel)(P...), const A&... args) {
  for (const uint32_t lanes : {32u, 64u}) {
    EXPECT_NO_THROW(run_kernel(lanes, most, kernel, args...));
    try {
      run_kernel(lanes, most + 64, kernel, args...);
      ADD_FAILURE() << "a launch with more than " << most << " threads ran";
    } catch (const sim::Fault& fault) {
      EXPECT_EQ(fault.kind, FaultKind::kLaunch) << fault.message;
      EXPECT_NE(fault.message.find("at most " + std::to_string(most)), std::string::npos)
          << fault.message;
    }
  }
}

TEST(SimLaunches, HaveNoMoreThreadsThanTheKernelIsFor) {
  std::vector<uint32_t> out(2048);
  expect_bound(kBlockThreads, number_threads<uint32_t>, all_of(out));
  EXPECT_EQ(out[kBlockThreads - 1], kBlockThreads - 1);
  EXPECT_EQ(out[kBlockThreads], 0u);
  expect_bound(128, number_sized<uint32_t, 128>, all_of(out), 5u);
  EXPECT_EQ(out[127], 132u);
  expect_bound(kMostThreads, number_sized<uint32_t, kMostThreads>, all_of(out), 5u);
  EXPECT_EQ(out[1023], 1028u);
}

TEST(SimBlocks, AWarpBarrierOrdersItsThreads) {
  for (const uint32_t lanes : {32u, 64u}) {
    std::vector<uint32_t> out(64);
    run(lanes, 1, 64, [&] { warp_barrier(all_of(out)); });
    for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], i ^ 1);
  }
}

TEST(SimBlocks, GoOnAfterAFault) {
  std::vector<uint32_t> out(64);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(run(32, 4, 64, [&] { divergent_barrier(all_of(out)); }), sim::Fault);
    run(32, 1, 64, [&] { warp_barrier(all_of(out)); });
    EXPECT_EQ(out[4], 5u);
  }
}

// If AddressSanitizer keeps frames apart from the stack, an exception makes it look for frames that have ended.
TEST(SimBlocks, OutliveAnExceptionOfTheirHost) {
  std::vector<uint32_t> out(64);
  for (int i = 0; i < 3; ++i) {
    run(32, 1, 64, [&] { warp_barrier(all_of(out)); });
    EXPECT_THROW(throw std::runtime_error("of the host"), std::runtime_error);
    EXPECT_THROW(run(32, 4, 64, [&] { divergent_barrier(all_of(out)); }), sim::Fault);
  }
}

}  // namespace
}  // namespace tenon::gpu
