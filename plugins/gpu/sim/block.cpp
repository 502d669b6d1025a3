#include "block.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include "../portable.hpp"
#include "fiber.hpp"

namespace tenon::gpu::sim {
namespace {

constexpr std::size_t kStackBytes = 64 << 10;
constexpr uint32_t kSlotBytes = 16;

enum class State : uint8_t { kNotStarted, kReady, kAtBlock, kAtWarp, kDone };

struct Thread {
  State state = State::kNotStarted;
  Fiber* fiber = nullptr;
  const char* file = nullptr;  // where it waits
  uint32_t line = 0;
};

struct Warp {
  uint32_t barrier = 0;  // when its lanes last continued together
  // Which of the two boards the next exchange uses, because lanes may be one exchange apart.
  uint32_t turn = 0;
  unsigned char boards[2][kMostLanes * kSlotBytes];
};

struct SharedArray {
  std::vector<unsigned char> data;
  std::vector<Cell> cells;
};

// One for each host thread: kernels do not launch kernels.
class Block {
 public:
  void run(const Launch& launch, const std::function<void()>& body);

  Geometry geometry{};
  Order order;  // the running thread's
  Shadow shadow;
  uint32_t lanes = 32;
  uint32_t shared_bytes = 0;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::map<std::pair<const void*, uint64_t>, SharedArray> arrays;  // by declaration and bytes

  void wait(State how, const Site& site);
  SharedArray& array(const void* tag, uint64_t count, uint32_t element_bytes);

 private:
  void begin(const Launch& launch);
  void run_block();
  void let_run(uint32_t thread);
  void start_threads();
  bool release_warps();
  void release_block();
  void resume(uint32_t thread);
  Fiber& idle_fiber();
  void run_threads(Fiber& fiber);

  const std::function<void()>* body_ = nullptr;
  Fiber::Stacks stacks_{kStackBytes};
  std::vector<std::unique_ptr<Fiber>> fibers_;  // kept from launch to launch
  std::vector<Fiber*> idle_;
  uint32_t next_ = 0;  // the first thread that has not started
  std::optional<Fault> fault_;
};

thread_local std::unique_ptr<Block> own_block;
// Read at every access, so it must not need a call; a process keeps little room for such variables.
[[gnu::tls_model("initial-exec")]] constinit thread_local Block* running = nullptr;

// A kernel's line, for messages.
std::string place(const char* file, uint32_t line) {
  const std::string_view path(file);
  return std::string(path.substr(path.rfind('/') + 1)) + ":" + std::to_string(line);
}

std::string number(const char* what, uint32_t x, uint32_t y, uint32_t z) {
  return std::string(what) + " (" + std::to_string(x) + ", " + std::to_string(y) + ", " +
         std::to_string(z) + ")";
}

void Block::let_run(uint32_t thread) {
  order.thread = thread;
  order.warp_barrier = warps[thread >> order.lane_bits].barrier;
}

// Starts threads in turn until one waits; that one then gets its own fiber.
void Block::run_threads(Fiber& fiber) {
  while (next_ < threads.size() && !fault_) {
    const uint32_t mine = next_++;
    let_run(mine);
    threads[mine].fiber = &fiber;
    try {
      (*body_)();
    } catch (const Fault& fault) {
      fault_ = fault;
    }
    threads[mine].state = State::kDone;
    threads[mine].fiber = nullptr;
  }
}

Fiber& Block::idle_fiber() {
  if (idle_.empty()) {
    const auto at = fibers_.size();
    fibers_.push_back(std::make_unique<Fiber>(stacks_, [this, at] {
      Fiber& mine = *fibers_[at];
      run_threads(mine);
      idle_.push_back(&mine);
      mine.wait();
    }));
    return *fibers_.back();
  }
  Fiber& fiber = *idle_.back();
  idle_.pop_back();
  return fiber;
}

void Block::resume(uint32_t thread) {
  let_run(thread);
  threads[thread].state = State::kReady;
  Fiber& fiber = *threads[thread].fiber;
  fiber.run();
}

void Block::wait(State how, const Site& site) {
  const uint32_t mine = order.thread;
  Thread& me = threads[mine];
  me.state = how;
  me.file = site.file;
  me.line = site.line;
  me.fiber->wait();
  let_run(mine);
}

void Block::start_threads() {
  while (next_ < threads.size() && !fault_) {
    Fiber& fiber = idle_fiber();
    fiber.run();
  }
}

// Resumes the warps whose threads have all reached the same point. Returns whether there were any.
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
    warps[w].barrier = ++order.now;
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
    order.thread = t;
    const std::string there = thread.state == State::kDone
                                  ? std::string("has ended")
                                  : "waits at " + place(thread.file, thread.line);
    fault_ = Fault{FaultKind::kDivergence, "threads diverge: thread " + std::to_string(t) + " " +
                                               there + " while others wait at " +
                                               place(waiting->file, waiting->line)};
    return;
  }
  order.barrier = ++order.now;
  for (uint32_t t = 0; t < threads.size() && !fault_; ++t) resume(t);
}

void Block::run_block() {
  next_ = 0;
  order.block = order.barrier = ++order.now;
  shadow.begin_block();
  for (Thread& thread : threads) thread = Thread{};
  start_threads();
  while (!fault_) {
    if (release_warps()) continue;
    if (std::all_of(threads.begin(), threads.end(),
                    [](const Thread& thread) { return thread.state == State::kDone; }))
      return;
    release_block();
  }
}

void Block::begin(const Launch& launch) {
  const Dim n = launch.threads;
  const uint64_t count = uint64_t{n.x} * n.y * n.z;
  if (count > launch.most_threads)
    throw Fault{FaultKind::kLaunch, "blocks of " + std::to_string(count) +
                                        " threads of a kernel whose blocks have at most " +
                                        std::to_string(launch.most_threads) +
                                        ": GPU_SIZED_KERNEL says how many"};
  lanes = launch.lanes;
  shared_bytes = launch.shared_bytes;
  threads.assign(count, Thread{});
  warps.resize((threads.size() + lanes - 1) / lanes);
  geometry = {n, {0, 0, 0}, launch.blocks};
  if (order.now >> 31 != 0) {  // restart long before the clock overflows
    shadow.clear();
    arrays.clear();
    for (Warp& warp : warps) warp.barrier = 0;
    order.now = 0;
  }
  order.launch = ++order.now;
  order.lane_bits = static_cast<uint32_t>(__builtin_ctz(lanes));
  shadow.begin_launch();
}

void Block::run(const Launch& launch, const std::function<void()>& body) {
  begin(launch);
  body_ = &body;
  for (uint32_t z = 0; z < launch.blocks.z && !fault_; ++z)
    for (uint32_t y = 0; y < launch.blocks.y && !fault_; ++y)
      for (uint32_t x = 0; x < launch.blocks.x && !fault_; ++x) {
        geometry.index = {x, y, z};
        run_block();
      }
  body_ = nullptr;
  if (fault_) {  // waiting threads are unwound
    for (Thread& thread : threads) thread.fiber = nullptr;
    idle_.clear();
    fibers_.clear();
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

Mark mark_of(const Site& site) {
  constexpr uint32_t kMostLines = 4095;
  Mark mark;
  mark.when = running->order.now;
  mark.thread = running->order.thread;
  mark.line = std::min(site.line, kMostLines);
  mark.file = running->shadow.file(site.file);
  return mark;
}

// `shared`: of the block's memory.
[[noreturn]] void race(const Site& site, const Elements& elements, Access access, bool shared,
                       const Conflict& conflict) {
  const char* const done[] = {"read", "written", "changed"};
  const Mark& with = *conflict.with;
  const bool other_block = with.when < running->order.block;
  std::string who = "thread " + std::to_string(with.thread);
  if (other_block)
    who += " of another block";
  else if (with.thread == running->order.thread)
    who = "other threads";
  fault(FaultKind::kRace, site,
        (shared ? "an element of shared memory is "
                : "element " + std::to_string(elements.index) + " of an array of " +
                      std::to_string(elements.size) + " is ") +
            done[static_cast<int>(access)] + " while it is " +
            (conflict.with_write ? "written by " : "read by ") + who + ", at " +
            place(running->shadow.file(with.file), with.line) +
            (other_block ? ": blocks are not ordered" : ", without a barrier between them"));
}

}  // namespace

const Geometry& geometry() { return running->geometry; }
uint32_t thread_number() { return running->order.thread; }
uint32_t warp_lanes() { return running->lanes; }

void fault(FaultKind kind, const Site& site, std::string_view what) {
  const Dim t = thread_index(), b = block_index();
  throw Fault{kind, place(site.file, site.line) + ", " + number("block", b.x, b.y, b.z) + ", " +
                        number("thread", t.x, t.y, t.z) + ": " + std::string(what)};
}

void wait_for_block(const Site& site) { running->wait(State::kAtBlock, site); }
void wait_for_warp(const Site& site) { running->wait(State::kAtWarp, site); }

const unsigned char* exchange(const void* value, uint32_t bytes, const Site& site) {
  const uint32_t me = running->order.thread;
  Warp& mine = running->warps[me / running->lanes];
  unsigned char* const board = mine.boards[mine.turn];
  std::memcpy(board + uint64_t{kSlotBytes} * (me % running->lanes), value, bytes);
  running->wait(State::kAtWarp, site);
  return board;
}

void check_shared(Cell* first, const Elements& elements, Access access, const Site& site) {
  const Order& order = running->order;
  const Mark mark = mark_of(site);
  for (uint32_t k = 0; k < elements.count; ++k) {
    if (access != Access::kWrite && first[k].writer.when < order.block)
      fault(FaultKind::kUninitialized, site,
            "an element of shared memory is used that no thread has written");
    const Conflict conflict = note_access(first[k], access, mark, order, order.block);
    if (conflict.with != nullptr) race(site, elements, access, true, conflict);
  }
}

void check_global(const void* first, uint32_t element_bytes, const Elements& elements,
                  Access access, const Site& site) {
  const Order& order = running->order;
  const Mark mark = mark_of(site);
  Conflict conflict;
  running->shadow.for_cells(reinterpret_cast<uintptr_t>(first), element_bytes * elements.count,
                            element_bytes, order.launch, [&](Cell& cell) {
                              conflict = note_access(cell, access, mark, order, order.launch);
                              return conflict.with == nullptr;
                            });
  if (conflict.with != nullptr) race(site, elements, access, false, conflict);
}

SharedMemory shared_memory(const void* tag, uint64_t count, uint32_t element_bytes) {
  SharedArray& array = running->array(tag, count, element_bytes);
  return {array.data.data(), array.cells.data(), count};
}

SharedMemory dynamic_shared_memory(uint32_t element_bytes) {
  static const char tag = 0;
  return shared_memory(&tag, running->shared_bytes / element_bytes, element_bytes);
}

void run(const Launch& launch, const std::function<void()>& body) {
  if (own_block == nullptr) own_block = std::make_unique<Block>();
  running = own_block.get();
  running->run(launch, body);
}

}  // namespace tenon::gpu::sim
