// Runs the threads of a block as fibers of the calling thread: one after another, switching where a kernel waits. An error is thrown as
// Fault from the launch, and the block stops.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "../dim.hpp"
#include "races.hpp"

namespace tenon::gpu::sim {

enum class FaultKind { kOutOfBounds, kMisaligned, kUninitialized, kRace, kDivergence, kLaunch };

struct Fault {
  FaultKind kind;
  std::string message;
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
// Throws a Fault that names the source line, block and thread.
[[noreturn]] void fault(FaultKind kind, const Site& site, std::string_view what);

void wait_for_block(const Site& site);
void wait_for_warp(const Site& site);
// Exchanges up to 16 bytes between the lanes of a warp: deposits them, waits, and returns all deposits, 16 bytes for each lane.
const unsigned char* exchange(const void* value, uint32_t bytes, const Site& site);

// ---- Shared memory ------------------------------------------------------------------------------------------------------

struct SharedMemory {
  void* data;
  Cell* cells;
  uint64_t count;
};
// The block's array of this name, the same for all its threads. `tag` is a unique address for each declaration.
SharedMemory shared_memory(const void* tag, uint64_t count, uint32_t element_bytes);
// Shared memory that the launch asked for, besides declared arrays.
SharedMemory dynamic_shared_memory(uint32_t element_bytes);

// ---- Checks -------------------------------------------------------------------------------------------------------------

// Check an access to `count` elements from `index` in an array of `size`. Each throws a Fault or records the access.
struct Elements {
  int64_t index, size;
  uint32_t count;
};
void check_shared(Cell* first, const Elements& elements, Access access, const Site& site);
void check_global(const void* first, uint32_t element_bytes, const Elements& elements,
                  Access access, const Site& site);

// ---- Launch -------------------------------------------------------------------------------------------------------------

struct Launch {
  Dim blocks, threads;
  uint32_t shared_bytes = 0;
  uint32_t lanes = 32;
  uint32_t most_threads = kMostThreads;  // in a block of this kernel
};
// Runs `body` for each thread. Throws Fault.
void run(const Launch& launch, const std::function<void()>& body);

}  // namespace tenon::gpu::sim
