#include "block.hpp"

#include <algorithm>
#include <boost/context/fiber.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include "../portable.hpp"

namespace tenon::gpu::sim {
namespace {

namespace context = boost::context;

constexpr std::size_t kStackBytes = 64 << 10;
constexpr uint32_t kSlotBytes = 16;

enum class State : uint8_t { kNotStarted, kReady, kAtBlock, kAtWarp, kDone };

struct Fiber {
  context::fiber self;    // while it is switched away from
  context::fiber caller;  // the scheduler, while it runs
};

struct Thread {
  State state = State::kNotStarted;
  Fiber* fiber = nullptr;
  const char* file = nullptr;  // where it waits
  uint32_t line = 0;
};

struct Warp {
  uint32_t epoch = 0;
  uint32_t turn =
      0;  // which of the two boards the next exchange uses: lanes may be one exchange apart
  unsigned char boards[2][kMostLanes * kSlotBytes];
};

struct SharedArray {
  std::vector<unsigned char> data;
  std::vector<Cell> cells;
};

// One of a host thread: kernels do not launch kernels.
class Block {
 public:
  void run(const Launch& launch, const std::function<void()>& body);

  Geometry geometry{};
  uint32_t lanes = 32;
  uint32_t current = 0;
  uint32_t epoch = 1;
  uint32_t number = 0;  // of the block, through all launches
  uint32_t shared_bytes = 0;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::map<std::pair<const void*, uint64_t>, SharedArray> arrays;  // by declaration and bytes

  void wait(State how, const Site& site);
  SharedArray& array(const void* tag, uint64_t count, uint32_t element_bytes);

 private:
  void run_block(const std::function<void()>& body);
  void start_threads(const std::function<void()>& body);
  bool release_warps();
  void release_block();
  void resume(uint32_t thread);
  Fiber& idle_fiber(const std::function<void()>& body);
  void run_threads(Fiber& fiber, const std::function<void()>& body);

  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  uint32_t next_ = 0;  // the first thread that has not started
  std::optional<Fault> fault_;
  context::pooled_fixedsize_stack stacks_{kStackBytes};
};

thread_local Block block;

// A kernel's line, for messages.
std::string place(const char* file, uint32_t line) {
  const std::string_view path(file);
  return std::string(path.substr(path.rfind('/') + 1)) + ":" + std::to_string(line);
}

std::string number(const char* what, uint32_t x, uint32_t y, uint32_t z) {
  return std::string(what) + " (" + std::to_string(x) + ", " + std::to_string(y) + ", " +
         std::to_string(z) + ")";
}

// Starts threads one after another until one of them waits; then it carries that thread alone.
void Block::run_threads(Fiber& fiber, const std::function<void()>& body) {
  while (next_ < threads.size() && !fault_) {
    const uint32_t mine = next_++;
    current = mine;
    threads[mine].fiber = &fiber;
    try {
      body();
    } catch (const Fault& fault) {
      fault_ = fault;
    }
    threads[mine].state = State::kDone;
    threads[mine].fiber = nullptr;
  }
}

Fiber& Block::idle_fiber(const std::function<void()>& body) {
  if (idle_.empty()) {
    fibers_.push_back(std::make_unique<Fiber>());
    Fiber& made = *fibers_.back();
    made.self =
        context::fiber(std::allocator_arg, stacks_, [this, &made, &body](context::fiber&& caller) {
          made.caller = std::move(caller);
          while (true) {
            run_threads(made, body);
            idle_.push_back(&made);
            made.caller = std::move(made.caller).resume();
          }
          return std::move(made.caller);
        });
    return made;
  }
  Fiber& fiber = *idle_.back();
  idle_.pop_back();
  return fiber;
}

void Block::resume(uint32_t thread) {
  current = thread;
  threads[thread].state = State::kReady;
  Fiber& fiber = *threads[thread].fiber;
  fiber.self = std::move(fiber.self).resume();
}

void Block::wait(State how, const Site& site) {
  Thread& me = threads[current];
  const uint32_t mine = current;
  me.state = how;
  me.file = site.file;
  me.line = site.line;
  me.fiber->caller = std::move(me.fiber->caller).resume();
  current = mine;
}

void Block::start_threads(const std::function<void()>& body) {
  while (next_ < threads.size() && !fault_) {
    Fiber& fiber = idle_fiber(body);
    fiber.self = std::move(fiber.self).resume();
  }
}

// Lets the warps go on whose threads have all come to the same place. Whether there were any.
bool Block::release_warps() {
  bool released = false;
  for (uint32_t w = 0; w < warps.size() && !fault_; ++w) {
    const uint32_t first = w * lanes,
                   end = std::min<uint32_t>(first + lanes, static_cast<uint32_t>(threads.size()));
    bool all = true;
    for (uint32_t t = first; t < end && all; ++t)
      all = threads[t].state == State::kAtWarp && threads[t].line == threads[first].line &&
            threads[t].file == threads[first].file;
    if (!all) continue;
    released = true;
    ++warps[w].epoch;
    warps[w].turn ^= 1;
    for (uint32_t t = first; t < end && !fault_; ++t) resume(t);
  }
  return released;
}

void Block::release_block() {
  const Thread* waiting = nullptr;
  for (const Thread& thread : threads)
    if (thread.state != State::kDone) waiting = &thread;
  if (waiting == nullptr) return;
  for (uint32_t t = 0; t < threads.size(); ++t) {
    const Thread& thread = threads[t];
    if (thread.state == State::kAtBlock && waiting->state == State::kAtBlock &&
        thread.line == waiting->line && thread.file == waiting->file)
      continue;
    current = t;
    const std::string there = thread.state == State::kDone
                                  ? std::string("has ended")
                                  : "waits at " + place(thread.file, thread.line);
    fault_ = Fault{FaultKind::kDivergence, "threads diverge: thread " + std::to_string(t) + " " +
                                               there + " while others wait at " +
                                               place(waiting->file, waiting->line)};
    return;
  }
  ++epoch;
  for (uint32_t t = 0; t < threads.size() && !fault_; ++t) resume(t);
}

void Block::run_block(const std::function<void()>& body) {
  next_ = 0;
  ++epoch;
  ++number;
  for (Thread& thread : threads) thread = Thread{};
  start_threads(body);
  while (!fault_) {
    if (release_warps()) continue;
    if (std::all_of(threads.begin(), threads.end(),
                    [](const Thread& thread) { return thread.state == State::kDone; }))
      return;
    release_block();
  }
}

void Block::run(const Launch& launch, const std::function<void()>& body) {
  const Dim n = launch.threads;
  lanes = launch.lanes;
  shared_bytes = launch.shared_bytes;
  threads.assign(uint64_t{n.x} * n.y * n.z, Thread{});
  warps.resize((threads.size() + lanes - 1) / lanes);
  geometry = {n, {0, 0, 0}, launch.blocks};
  for (uint32_t z = 0; z < launch.blocks.z && !fault_; ++z)
    for (uint32_t y = 0; y < launch.blocks.y && !fault_; ++y)
      for (uint32_t x = 0; x < launch.blocks.x && !fault_; ++x) {
        geometry.index = {x, y, z};
        run_block(body);
      }
  // Fibers hold on to the body of this launch; those that still wait are unwound.
  for (Thread& thread : threads) thread.fiber = nullptr;
  idle_.clear();
  fibers_.clear();
  if (fault_) {
    const Fault fault = *std::exchange(fault_, std::nullopt);
    throw fault;
  }
}

SharedArray& Block::array(const void* tag, uint64_t count, uint32_t element_bytes) {
  SharedArray& array = arrays[{tag, count * element_bytes}];
  if (array.cells.empty()) {
    array.data.resize(count * element_bytes);
    array.cells.resize(count);
  }
  return array;
}

bool ordered(const Moment& before, const Moment& after) {
  if (before.thread == after.thread || before.block_epoch != after.block_epoch) return true;
  return before.warp == after.warp && before.warp_epoch != after.warp_epoch;
}

[[noreturn]] void race(const Site& site, const char* how, const Moment& other) {
  fault(FaultKind::kRace, site,
        std::string("an element of shared memory is ") + how + " thread " +
            std::to_string(other.thread) + " without a barrier between them");
}

}  // namespace

const Geometry& geometry() { return block.geometry; }
uint32_t thread_number() { return block.current; }
uint32_t warp_lanes() { return block.lanes; }

Moment now() {
  const uint32_t warp = block.current / block.lanes;
  return {block.current, warp, block.epoch, block.warps[warp].epoch};
}

void fault(FaultKind kind, const Site& site, std::string_view what) {
  const Dim t = thread_index(), b = block_index();
  throw Fault{kind, place(site.file, site.line) + ", " + number("block", b.x, b.y, b.z) + ", " +
                        number("thread", t.x, t.y, t.z) + ": " + std::string(what)};
}

void wait_for_block(const Site& site) { block.wait(State::kAtBlock, site); }
void wait_for_warp(const Site& site) { block.wait(State::kAtWarp, site); }

const unsigned char* exchange(const void* value, uint32_t bytes, const Site& site) {
  Warp& mine = block.warps[block.current / block.lanes];
  unsigned char* const board = mine.boards[mine.turn];
  std::memcpy(board + uint64_t{kSlotBytes} * (block.current % block.lanes), value, bytes);
  block.wait(State::kAtWarp, site);
  return board;
}

void check_read(Cell& cell, const Site& site) {
  const Moment me = now();
  if (cell.block != block.number)
    fault(FaultKind::kUninitialized, site,
          "an element of shared memory is read that no thread has written");
  if (!ordered(cell.writer, me)) race(site, "read while it is written by", cell.writer);
  const bool same_epoch = cell.read && cell.reader.block_epoch == me.block_epoch;
  cell.read_by_many = same_epoch && (cell.read_by_many || cell.reader.thread != me.thread);
  cell.read_by_warps = same_epoch && (cell.read_by_warps || cell.reader.warp != me.warp);
  cell.read = true;
  cell.reader = me;
}

void check_write(Cell& cell, const Site& site) {
  const Moment me = now();
  const bool fresh = cell.block != block.number;
  if (!fresh && !ordered(cell.writer, me))
    race(site, "written while it is written by", cell.writer);
  if (!fresh && cell.read) {
    Moment reader = cell.reader;
    // One of several readers is kept; any other stands for all that are not ordered.
    if (cell.read_by_many && reader.thread == me.thread) reader.thread = ~me.thread;
    if (cell.read_by_warps && reader.warp == me.warp) reader.warp = ~me.warp;
    if (!ordered(reader, me)) race(site, "written while it is read by", cell.reader);
  }
  cell = Cell{};
  cell.block = block.number;
  cell.writer = me;
}

void check_atomic(Cell& cell, const Site& site) {
  const Moment me = now();
  if (cell.block != block.number)
    fault(FaultKind::kUninitialized, site,
          "an element of shared memory is changed that no thread has written");
  if (!cell.atomic && !ordered(cell.writer, me))
    race(site, "changed while it is written by", cell.writer);
  cell.atomic = true;
  cell.writer = me;
}

SharedMemory shared_memory(const void* tag, uint64_t count, uint32_t element_bytes) {
  SharedArray& array = block.array(tag, count, element_bytes);
  return {array.data.data(), array.cells.data(), count};
}

SharedMemory dynamic_shared_memory(uint32_t element_bytes) {
  static const char tag = 0;
  return shared_memory(&tag, block.shared_bytes / element_bytes, element_bytes);
}

void run(const Launch& launch, const std::function<void()>& body) { block.run(launch, body); }

}  // namespace tenon::gpu::sim
