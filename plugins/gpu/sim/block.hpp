// The threads of one block as fibers on the calling thread: they run one after another and change over where a kernel waits.
// What goes wrong is thrown as Fault from the launch: nothing of a block runs on after it.
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
// Throws a Fault that says where in the source, in which block and thread.
[[noreturn]] void fault(FaultKind kind, const Site& site, std::string_view what);

void wait_for_block(const Site& site);
void wait_for_warp(const Site& site);
// Gives each lane what the others have: deposits up to 16 bytes, waits, and returns the deposits of the warp, 16 bytes a lane.
const unsigned char* exchange(const void* value, uint32_t bytes, const Site& site);

// ---- Shared memory ------------------------------------------------------------------------------------------------------

struct SharedMemory {
  void* data;
  Cell* cells;
  uint64_t count;
};
// The block's array of this name; the same for all its threads. `tag` is one address for each declaration.
SharedMemory shared_memory(const void* tag, uint64_t count, uint32_t element_bytes);
// What the launch asked for beside the declared arrays.
SharedMemory dynamic_shared_memory(uint32_t element_bytes);

// ---- Checks -------------------------------------------------------------------------------------------------------------

// Of `count` elements from element `index` of an array of `size`, for messages. Each throws a Fault, or notes the access.
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
  uint32_t most_threads = kMostThreads;  // of a block of this kernel
};
// Runs `body` once for each thread. Throws Fault.
void run(const Launch& launch, const std::function<void()>& body);

}  // namespace tenon::gpu::sim
