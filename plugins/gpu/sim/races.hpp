// Data races: two threads access the same memory, one of them writes, and nothing orders the two. They are found from what is ordered (by
// barriers and warp functions), not from what happens to occur. Each element that a kernel touches remembers its last writer and last
// readers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace tenon::gpu::sim {

// The default argument that records where a kernel's source calls something.
struct Site {
  const char* file;
  uint32_t line;
  static constexpr Site current(const char* file = __builtin_FILE(),
                                uint32_t line = __builtin_LINE()) {
    return {file, line};
  }
};

enum class Access : uint8_t { kRead, kWrite, kAtomic };

// A clock for each host thread, which every barrier advances, with the times of the running thread: accesses before its block's barrier, or
// its warp's, are ordered.
struct Order {
  uint32_t now = 1;
  uint32_t launch = 1, block = 1;          // when they began
  uint32_t barrier = 1, warp_barrier = 1;  // the last ones
  uint32_t thread = 0;
  uint32_t lane_bits = 5;  // of a thread's number
};

// An access, and the older accesses that it also represents:
struct Mark {
  uint32_t when = 0;
  uint32_t thread : 10 = 0;
  uint32_t line : 12 = 0;
  uint32_t file : 6 = 0;
  uint32_t atomic : 1 = 0;
  uint32_t lanes : 1 = 0;   // by other lanes of the warp, not ordered
  uint32_t warps : 1 = 0;   // by other warps since the block's barrier
  uint32_t blocks : 1 = 0;  // by other blocks of the launch
};
struct Cell {
  Mark writer, reader;
};

// Cells for device memory that kernels touch.
class Shadow {
 public:
  void begin_launch() {
    files_used_ = 0;
    last_name_ = nullptr;
  }
  // Beyond kMostCells, forgets what earlier blocks did.
  void begin_block();
  void clear();
  uint32_t file(const char* name) { return name == last_name_ ? last_file_ : find_file(name); }
  const char* file(uint32_t number) const { return number < files_used_ ? files_[number] : "?"; }
  // Calls fn(cell) for the cells of these bytes until it returns false. Cells are as small as the launch's smallest access.
  template <class Fn>
  bool for_cells(uintptr_t address, uint32_t bytes, uint32_t element_bytes, uint32_t launch,
                 const Fn& fn) {
    const uint32_t unit = unit_of(address, element_bytes);
    for (const uintptr_t end = address + bytes; address < end;) {
      Page& page = page_of(address, unit, launch);
      const uintptr_t stop = std::min(end, (address | (kPageBytes - 1)) + 1);
      for (; address < stop; address += uint64_t{1} << page.unit)
        if (!fn(page.cells[(address & (kPageBytes - 1)) >> page.unit])) return false;
    }
    return true;
  }

 private:
  static constexpr uint32_t kPageBits = 12, kPageBytes = 1 << kPageBits;
  static constexpr uint64_t kMostCells = 16 << 20;
  static constexpr uint32_t kRecent = 64, kFiles = 63;
  struct Page {
    uint32_t launch = 0;
    uint32_t unit = 0;  // bytes of a cell, as a power of two
    std::vector<Cell> cells;
  };
  struct Recent {
    uintptr_t number = ~uintptr_t{0};
    Page* page = nullptr;
  };

  static uint32_t unit_of(uintptr_t address, uint32_t element_bytes) {
    return static_cast<uint32_t>(__builtin_ctzll(address | element_bytes | 16));
  }
  Page& page_of(uintptr_t address, uint32_t unit, uint32_t launch) {
    const uintptr_t number = address >> kPageBits;
    Recent& recent = recent_[number % kRecent];
    if (recent.number != number) recent = {number, &find(number)};
    Page& page = *recent.page;
    if (page.launch != launch || page.unit > unit) split(page, unit, launch);
    return page;
  }
  uint32_t find_file(const char* name);
  Page& find(uintptr_t number);
  void split(Page& page, uint32_t unit, uint32_t launch);

  std::unordered_map<uintptr_t, std::unique_ptr<Page>> pages_;
  Recent recent_[kRecent];
  uint64_t cells_ = 0;
  const char* files_[kFiles];
  uint32_t files_used_ = 0, last_file_ = 0;
  const char* last_name_ = nullptr;
};

inline bool same_warp(const Mark& mark, const Order& order) {
  return (uint32_t{mark.thread} >> order.lane_bits) == (order.thread >> order.lane_bits);
}

// Whether everything that the mark represents is ordered before the running thread.
inline bool ordered(const Mark& mark, const Order& order, uint32_t since) {
  if (mark.when < since) return true;
  if (mark.blocks != 0 || mark.when < order.block) return false;
  if (mark.when < order.barrier) return true;
  if (mark.warps != 0) return false;
  if (same_warp(mark, order) && mark.when < order.warp_barrier) return true;
  return mark.thread == order.thread && mark.lanes == 0;
}

// Extends `mark`, the running thread's, to represent the older one as well.
inline Mark joined(const Mark& old, Mark mark, const Order& order, uint32_t since) {
  if (old.when < since) return mark;
  mark.blocks = old.blocks != 0 || old.when < order.block;
  if (old.when < order.block || old.when < order.barrier) return mark;
  const bool near = same_warp(old, order);
  mark.warps = old.warps != 0 || !near;
  mark.lanes =
      near && old.when >= order.warp_barrier && (old.lanes != 0 || old.thread != order.thread);
  return mark;
}

// The earlier access that this one conflicts with, or nothing.
struct Conflict {
  const Mark* with = nullptr;
  bool with_write = false;
};
// Records the access if there is no conflict. Marks before `since` belong to other memory.
inline Conflict note_access(Cell& cell, Access access, Mark mark, const Order& order,
                            uint32_t since) {
  Mark& writer = cell.writer;
  const bool both_atomic = access == Access::kAtomic && writer.atomic != 0;
  if (!both_atomic && !ordered(writer, order, since)) return {&writer, true};
  if (access == Access::kRead) {
    cell.reader = joined(cell.reader, mark, order, since);
    return {};
  }
  if (!ordered(cell.reader, order, since)) return {&cell.reader, false};
  if (access == Access::kAtomic) {
    mark.atomic = 1;
    writer = both_atomic ? joined(writer, mark, order, since) : mark;
    return {};
  }
  writer = mark;
  cell.reader = Mark{};
  return {};
}

}  // namespace tenon::gpu::sim
