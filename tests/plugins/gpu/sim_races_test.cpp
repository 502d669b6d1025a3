// Races through the device's memory: the simulator finds each of them, and reports nothing if accesses are ordered or touch different
// bytes.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "launch_sim.hpp"

namespace tenon::gpu {
namespace {

using Words = Ptr<uint32_t>;

uint32_t me() { return thread_index().x; }

// ---- Races --------------------------------------------------------------------------------------------------------------

GPU_KERNEL all_write_one(Words x) { x[3] = 1; }  // a race even though all write the same value
GPU_KERNEL read_next(Words x) {
  x[me()] = me();
  const uint32_t next = x[(me() + 1) % 64];
  sync_threads();
  x[me()] = next;
}
GPU_KERNEL write_what_others_read(Words x) {
  const uint32_t value = x[0];
  if (me() == 63) x[0] = value + 1;
}
// The recorded reader is the writer itself.
GPU_KERNEL write_what_many_read(Words x) {
  const uint32_t value = x[0];
  if (value == 0 && me() == 63) x[0] = x[0] + 1;
}
GPU_KERNEL barrier_too_early(Words x) {
  sync_threads();
  x[me()] = x[me() ^ 1] + 1;
}
// Only the lanes of a warp wait for each other.
GPU_KERNEL other_warp(Words x) {
  x[me()] = me();
  sync_warp();
  if (me() < 64) x[128 + me()] = x[127 - me()];
}
GPU_KERNEL read_beside_atomic(Words x) {
  if (me() == 0) x[1] = x[0];
  atomic_add(x, 1);
}
GPU_KERNEL read_after_atomics(Words x) {
  atomic_add(x, 1);
  if (me() == 63) x[1] = x[0];
}
GPU_KERNEL write_beside_atomic(Words x) { me() == 5 ? void(x[0] = 0) : void(atomic_add(x, 1)); }
GPU_KERNEL blocks_write_one(Words x) {
  if (me() == 0) x[0] = block_index().x;
}
GPU_KERNEL block_reads_another(Words x) {
  if (me() == 0) x[block_index().x] = 1;
  sync_threads();
  if (me() == 1 && block_index().x == 1) x[2] = x[0];
}
GPU_KERNEL block_writes_what_another_read(Words x) {
  if (me() == 0 && block_index().x == 0) x[1] = x[0];
  if (me() == 0 && block_index().x == 1) x[0] = 1;
}
GPU_KERNEL vectors_overlap(Words x) {
  if (me() < 2) store_vec<4>(x + 4 * me(), Vec<uint32_t, 4>{});
  if (me() == 2) x[6] = 1;
}
GPU_KERNEL byte_of_a_word(Words x) {
  x[me()] = me();
  if (me() == 8) ptr_cast<uint8_t>(x)[5] = 1;
}
GPU_KERNEL word_over_bytes(Words x) {
  ptr_cast<uint8_t>(x)[me()] = 1;
  if (me() == 63) x[2] = 1;
}

// ---- None ---------------------------------------------------------------------------------------------------------------

GPU_KERNEL barriers_between(Words x) {
  x[me()] = me();
  sync_threads();
  const uint32_t next = x[(me() + 1) % block_size().x];
  sync_threads();
  x[me()] = next;
}
GPU_KERNEL warp_barriers_between(Words x) {
  x[me()] = me();
  sync_warp();
  const uint32_t other = x[me() ^ 1];
  sync_warp();
  x[me()] = other;
}
// The last reader may write once the others have been waited for.
GPU_KERNEL read_all_then_write(Words x) {
  uint32_t value = x[warp()];
  sync_warp();
  if (lane() != 0) return;
  value += x[warp()];
  x[warp()] = value;
}
GPU_KERNEL shuffle_between(Words x) {
  const uint32_t sum = x[me()] + shuffle_xor(x[me() ^ 1] + 0, 1);
  x[me()] = sum;
}
GPU_KERNEL bytes_side_by_side(Words x) {
  ptr_cast<uint8_t>(x)[me()] = static_cast<uint8_t>(me());
  ptr_cast<uint16_t>(x + 64)[me()] = static_cast<uint16_t>(me());
}
// A row accessed by vectors, its tail by elements, and then by bytes: the simulator's cells become smaller on demand.
GPU_KERNEL vectors_and_a_tail(Words x) {
  if (me() < 7)
    store_vec<4>(x + 4 * me(), Vec<uint32_t, 4>{});
  else if (me() < 11)
    x[28 + me() - 7] = me();
  else if (me() < 15)
    ptr_cast<uint8_t>(x + 32)[me() - 11] = 1;
}
GPU_KERNEL atomics_only(Words x) {
  atomic_add(x, 1);
  atomic_set(x + 1, me());
  sync_threads();
  if (block_index().x == 0) x[2 + me()] = 1;
}
GPU_KERNEL atomics_then_barrier(Words x) {
  Words mine = x + 64 * block_index().x;
  if (me() == 0) mine[0] = 0;
  sync_threads();
  atomic_add(mine, 1);
  sync_threads();
  mine[1 + me() % 32] == 0 ? void() : void(mine[0] + 0);
}
GPU_KERNEL many_readers(Words x) {
  const uint32_t value = x[200];
  x[64 * block_index().x + me()] = value;
}

struct Case {
  const char* name;
  void (*kernel)(Words);
  uint32_t blocks = 1, threads = 64;
  const char* words = nullptr;
};
std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }
std::string name_of(const testing::TestParamInfo<Case>& info) { return info.param.name; }

class SimRaces : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(
    Global, SimRaces,
    testing::Values(
        Case{"AllWriteOne", all_write_one, 1, 64,
             "element 3 of an array of 256 is written while it is written by thread 0, at"},
        Case{"ReadNext", read_next, 1, 64, "written while it is read by thread 0"},
        Case{"WriteWhatOthersRead", write_what_others_read, 1, 64, "written while it is read by"},
        Case{"WriteWhatManyRead", write_what_many_read, 1, 64, "read by other threads"},
        Case{"BarrierTooEarly", barrier_too_early, 1, 64, "read while it is written by thread 0"},
        Case{"OtherWarp", other_warp, 1, 128, "read while it is written by"},
        Case{"ReadBesideAtomic", read_beside_atomic, 1, 64, "changed while it is read by thread 0"},
        Case{"ReadAfterAtomics", read_after_atomics, 1, 64,
             "read while it is written by other threads"},
        Case{"WriteBesideAtomic", write_beside_atomic, 1, 64,
             "written while it is written by thread 4"},
        Case{"BlocksWriteOne", blocks_write_one, 2, 64, "thread 0 of another block"},
        Case{"BlockReadsAnother", block_reads_another, 2, 64, "blocks are not ordered"},
        Case{"BlockWritesWhatAnotherRead", block_writes_what_another_read, 2, 64,
             "read by thread 0 of another block"},
        Case{"VectorsOverlap", vectors_overlap, 1, 64,
             "element 6 of an array of 256 is written while it is written by thread 1"},
        Case{"ByteOfAWord", byte_of_a_word, 1, 64, "element 5 of an array of 1024"},
        Case{"WordOverBytes", word_over_bytes, 1, 64, "written while it is written by thread 8"}),
    name_of);

TEST_P(SimRaces, AreFoundAtBothWidthsWithBothPlaces) {
  for (const uint32_t lanes : {32u, 64u}) {
    std::vector<uint32_t> x(256);
    try {
      run(lanes, GetParam().blocks, GetParam().threads, [&] { GetParam().kernel(all_of(x)); });
      ADD_FAILURE() << "nothing was found with warps of " << lanes;
    } catch (const sim::Fault& fault) {
      EXPECT_EQ(fault.kind, sim::FaultKind::kRace) << fault.message;
      EXPECT_NE(fault.message.find(GetParam().words), std::string::npos) << fault.message;
      EXPECT_EQ(fault.message.rfind("sim_races_test.cpp:", 0), 0u) << fault.message;
      EXPECT_NE(fault.message.find("at sim_races_test.cpp:"), std::string::npos) << fault.message;
    }
  }
}

class SimOrder : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Global, SimOrder,
                         testing::Values(Case{"BarriersBetween", barriers_between},
                                         Case{"WarpBarriersBetween", warp_barriers_between},
                                         Case{"ReadAllThenWrite", read_all_then_write, 1, 128},
                                         Case{"ShuffleBetween", shuffle_between},
                                         Case{"BytesSideBySide", bytes_side_by_side},
                                         Case{"VectorsAndATail", vectors_and_a_tail},
                                         Case{"AtomicsOnly", atomics_only, 3},
                                         Case{"AtomicsThenBarrier", atomics_then_barrier, 3},
                                         Case{"ManyReaders", many_readers, 3}),
                         name_of);

TEST_P(SimOrder, IsNoRaceAtEitherWidth) {
  for (const uint32_t lanes : {32u, 64u}) {
    std::vector<uint32_t> x(256);
    EXPECT_NO_THROW(
        run(lanes, GetParam().blocks, GetParam().threads, [&] { GetParam().kernel(all_of(x)); }))
        << "warps of " << lanes;
  }
}

TEST(SimLaunches, AreOrdered) {
  std::vector<uint32_t> x(256);
  for (int turn = 0; turn < 3; ++turn) {
    run(32, 2, 64, [&] { many_readers(all_of(x)); });
    run(32, 1, 256, [&] { x.size() == 256 ? barriers_between(all_of(x)) : void(); });
    EXPECT_EQ(x[255], 0u);
    EXPECT_THROW(run(32, 2, 64, [&] { blocks_write_one(all_of(x)); }), sim::Fault);
  }
}

// Blocks that touch more memory than is tracked at once: the accesses of one block are still all found.
TEST(SimLaunches, MayTouchMuchMemory) {
  constexpr uint32_t kBlocks = 40, kEach = 1 << 19;
  std::vector<uint8_t> x(uint64_t{kBlocks} * kEach);
  const auto fill = [&] {
    const auto out = all_of(x);
    for (uint32_t i = me(); i < kEach; i += 2) out[uint64_t{kEach} * block_index().x + i] = 1;
  };
  EXPECT_NO_THROW(run(32, kBlocks, 2, fill));
  EXPECT_THROW(run(32, kBlocks, 2,
                   [&] {
                     fill();
                     if (block_index().x == kBlocks - 1) all_of(x)[x.size() - 1] = 2;
                   }),
               sim::Fault);
}

}  // namespace
}  // namespace tenon::gpu
