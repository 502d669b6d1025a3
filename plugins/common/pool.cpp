#include "pool.hpp"

#include <sched.h>

#include <algorithm>
#include <csignal>
#include <limits>
#include <new>
#include <utility>

namespace tenon {
namespace host __attribute__((visibility("hidden"))) {

  namespace {
  using std::chrono::microseconds;

  // How long a worker spins for the next loop before it sleeps, and an owner for the last piece: waking takes 5 to 50 us.
  constexpr int kPauses = 300;
  constexpr microseconds kLookOut{300}, kWaitAwake{50};
  // A yield that takes longer than this gave the core to another program.
  constexpr microseconds kShared{100};
  // A worker that delays the owner for longer than this, and for twice as long as the loop itself took, has lost its core: a piece that it
  // began last may take as long as all that the owner did. Then loops stay on one thread for a while, except those that take longer than
  // kLong.
  constexpr microseconds kLate{200}, kLong{2000}, kMostAlone{200'000};
  constexpr int64_t kMostPatience = 64;

  thread_local bool t_inside = false;

  inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  // Marks the calling thread as computing part of a loop.
  class Inside {
   public:
    Inside() : before_(std::exchange(t_inside, true)) {}
    ~Inside() { t_inside = before_; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    const bool before_;
  };
  }  // namespace

  bool Pool::inside() { return t_inside; }

  Pool::~Pool() {
    stop_ = true;
    for (int i = 1; i <= hired_; ++i) {
      workers_[static_cast<size_t>(i)].calls.fetch_add(1);
      workers_[static_cast<size_t>(i)].calls.notify_one();
      pthread_join(workers_[static_cast<size_t>(i)].thread, nullptr);
    }
  }

  void Pool::forked() {
    const Hook hook = hook_;
    ::new (static_cast<void*>(this)) Pool(hook);
  }

  // Starts up to `wanted` workers, fewer if the system gives no more. They leave signals to the program's own threads.
  int Pool::hire(int wanted) {
    if (hired_ >= wanted) return wanted;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (hired_ < wanted) {
      Worker& next = workers_[static_cast<size_t>(hired_) + 1];
      next.pool = this;
      next.number = hired_ + 1;
      const auto enter = [](void* self) -> void* {
        static_cast<Worker*>(self)->pool->serve(*static_cast<Worker*>(self));
        return nullptr;
      };
      if (pthread_create(&next.thread, nullptr, enter, &next) != 0) break;
      ++hired_;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return std::min(hired_, wanted);
  }

  void Pool::serve(Worker & me) {
    const Inside inside;
    for (uint32_t seen = 0;;) {
      await_call(me, seen);
      seen = me.calls.load();
      if (me.confined) set_free(me);
      if (stop_) return;
      if (hook_ != nullptr) hook_(me.number);
      if (!join()) continue;
      if (me.number < loop_.width)
        for (int64_t i; (i = claim(me.number)) >= 0;) piece(i);
      leave();
    }
  }

  // Yields while it spins, so that a program that wants the core gets it. After losing the core once it sleeps, and wakes quickly when
  // called.
  void Pool::await_call(Worker & me, uint32_t seen) {
    for (int i = 0; i < kPauses; ++i, relax())
      if (me.calls.load() != seen) return;
    const Clock::time_point begun = Clock::now();
    for (Clock::time_point last = begun;;) {
      sched_yield();
      if (me.calls.load() != seen) return;
      const Clock::time_point now = Clock::now();
      if (now - last > kShared || now - begun > kLookOut) break;
      last = now;
    }
    me.asleep = true;
    me.calls.wait(seen);
    me.asleep = false;
  }

  // In a virtual machine the kernel takes a core that rests for one that is taken away: it would wake the worker behind its owner. The
  // worker is free again once it runs.
  void Pool::keep_off(Worker & worker, int core) {
    if (core < 0 || core >= CPU_SETSIZE || worker.confined) return;
    if (pthread_getaffinity_np(worker.thread, sizeof worker.home, &worker.home) != 0) return;
    cpu_set_t others = worker.home;
    CPU_CLR(static_cast<size_t>(core), &others);
    if (CPU_COUNT(&others) > 0)
      worker.confined = pthread_setaffinity_np(worker.thread, sizeof others, &others) == 0;
  }

  void Pool::set_free(Worker & me) {
    pthread_setaffinity_np(me.thread, sizeof me.home, &me.home);
    me.confined = false;
  }

  bool Pool::join() {
    uint32_t now = gate_.load();
    while ((now & kOpen) != 0)
      if (gate_.compare_exchange_weak(now, now + 1)) return true;
    return false;
  }

  void Pool::leave() {
    if (gate_.fetch_sub(1) != 1) return;
    emptied_.fetch_add(1);
    emptied_.notify_one();
  }

  void Pool::open() {
    gate_.fetch_or(kOpen);
    const int core = sched_getcpu();
    for (int i = 1; i < loop_.width; ++i) {
      Worker& worker = workers_[static_cast<size_t>(i)];
      if (worker.asleep) keep_off(worker, core);
      worker.calls.fetch_add(1);
      if (worker.asleep) worker.calls.notify_one();
    }
  }

  // Closes the gate to new workers and waits for those still in a piece.
  void Pool::close(Clock::time_point begun) {
    const Clock::time_point finished = Clock::now();
    shared_ += finished - begun;
    if (gate_.fetch_and(~kOpen) == kOpen) return;
    for (Clock::time_point now = finished; now - finished < kWaitAwake; now = Clock::now())
      for (int i = 0; i < 32; ++i, relax())
        if (gate_.load() == 0) return;
    for (;;) {
      const uint32_t seen = emptied_.load();
      if (gate_.load() == 0) break;
      emptied_.wait(seen);
    }
    const Clock::duration waited = Clock::now() - finished;
    if (waited > std::max<Clock::duration>(kLate, 2 * (finished - begun))) stay_alone(waited);
  }

  // Grows each time that sharing since the last pause gained less than the latest loss.
  void Pool::stay_alone(Clock::duration lost) {
    patience_ = 4 * lost > shared_ ? std::min(2 * patience_, kMostPatience) : 1;
    shared_ = {};
    alone_until_ = Clock::now() + std::min<Clock::duration>(patience_ * lost, kMostAlone);
  }

  // The number of a piece that the caller now owns, or -1. Its own share comes first, because it lies in its caches.
  int64_t Pool::claim(int self) {
    for (int i = 0; i < loop_.width; ++i) {
      Share& share = shares_[static_cast<size_t>((self + i) % loop_.width)];
      if (share.next.load(std::memory_order_relaxed) >= share.end) continue;
      const int64_t mine = share.next.fetch_add(1, std::memory_order_relaxed);
      if (mine < share.end) return mine;
    }
    return -1;
  }

  // Even if a piece fails, those before it still run, so that the exception does not depend on timing.
  void Pool::piece(int64_t index) {
    const int64_t units = (loop_.n + loop_.unit - 1) / loop_.unit;
    const int64_t begin = std::min(loop_.n, units * index / loop_.pieces * loop_.unit);
    const int64_t end = std::min(loop_.n, units * (index + 1) / loop_.pieces * loop_.unit);
    if (begin >= end || begin > failed_at_.load()) return;
    try {
      loop_.body(loop_.context, begin, end);
    } catch (...) {
      const std::lock_guard lock(failing_);
      if (begin >= failed_at_.load()) return;
      failed_at_ = begin;
      error_ = std::current_exception();
    }
  }

  void Pool::run(const Loop& loop) {
    const Inside inside;
    loop_ = loop;
    loop_.width = 1 + hire(std::min(loop.width, kMost) - 1);
    failed_at_ = std::numeric_limits<int64_t>::max();
    for (int i = 0; i < loop_.width; ++i) {
      Share& share = shares_[static_cast<size_t>(i)];
      share.next.store(loop.pieces * i / loop_.width, std::memory_order_relaxed);
      share.end = loop.pieces * (i + 1) / loop_.width;
    }
    const Clock::time_point begun = Clock::now();
    bool alone = begun < alone_until_;
    if (!alone) open();
    for (int64_t i; (i = claim(0)) >= 0;) {
      piece(i);
      if (alone && Clock::now() - begun > kLong) alone = false, open();
    }
    if (!alone) close(begun);
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

}  // namespace host
}  // namespace tenon
