// The threads of one block as fibers on the calling thread: they run one after another and change over where a kernel waits.
// What goes wrong is thrown as Fault from the launch: nothing of a block runs on after it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "../dim.hpp"

namespace tenon::gpu::sim {

// Where a kernel's source calls what is given this by default.
struct Site {
  const char* file;
  uint32_t line;
  static constexpr Site current(const char* file = __builtin_FILE(),
                                uint32_t line = __builtin_LINE()) {
    return {file, line};
  }
};

enum class FaultKind { kOutOfBounds, kMisaligned, kUninitialized, kRace, kDivergence };

struct Fault {
  FaultKind kind;
  std::string message;
};

// Where a thread of the running block stands in the order of things: what happened before a barrier is done after it.
struct Moment {
  uint32_t thread = 0;
  uint32_t warp = 0;
  uint32_t block_epoch = 0;  // counts barriers of the block, through all blocks
  uint32_t warp_epoch = 0;   // counts those of the warp
};

struct Geometry {
  Dim block;   // threads of a block
  Dim index;   // which block
  Dim blocks;  // of the grid
};
const Geometry& geometry();

// Of the running thread.
uint32_t thread_number();
uint32_t warp_lanes();  // how wide warps are
Moment now();
// Throws a Fault that says where in the source, in which block and thread.
[[noreturn]] void fault(FaultKind kind, const Site& site, std::string_view what);

void wait_for_block(const Site& site);
void wait_for_warp(const Site& site);
// Gives each lane what the others have: deposits up to 16 bytes, waits, and returns the deposits of the warp, 16 bytes a lane.
const unsigned char* exchange(const void* value, uint32_t bytes, const Site& site);

// ---- Shared memory ------------------------------------------------------------------------------------------------------

// What is known of one element: who wrote and read it last, and when.
struct Cell {
  Moment writer, reader;
  uint32_t block = 0;  // the number of the block that wrote it; an older one: not initialised
  bool read = false, read_by_many = false, read_by_warps = false, atomic = false;
};
void check_read(Cell& cell, const Site& site);
void check_write(Cell& cell, const Site& site);
void check_atomic(Cell& cell, const Site& site);

struct SharedMemory {
  void* data;
  Cell* cells;
  uint64_t count;
};
// The block's array of this name; the same for all its threads. `tag` is one address for each declaration.
SharedMemory shared_memory(const void* tag, uint64_t count, uint32_t element_bytes);
// What the launch asked for beside the declared arrays.
SharedMemory dynamic_shared_memory(uint32_t element_bytes);

// ---- Launch -------------------------------------------------------------------------------------------------------------

struct Launch {
  Dim blocks, threads;
  uint32_t shared_bytes = 0;
  uint32_t lanes = 32;
};
// Runs `body` once for each thread. Throws Fault.
void run(const Launch& launch, const std::function<void()>& body);

}  // namespace tenon::gpu::sim
