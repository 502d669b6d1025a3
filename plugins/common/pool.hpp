// Threads for loops of a plugin that computes on the host. Pieces of a loop are claimed one by one, so that nobody waits for a thread
// that has not woken yet, nor for the share of a late one.
#ifndef TENON_PLUGINS_COMMON_POOL_HPP
#define TENON_PLUGINS_COMMON_POOL_HPP

#include <pthread.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>

#include "tenon/ext/draft/threads.h"

namespace tenon {
namespace host __attribute__((visibility("hidden"))) {

  // body(context, begin, end) over [0, n) in `pieces` pieces of about equal length, each a multiple of `unit`, on at most `width`
  // threads.
  struct Loop {
    int64_t n = 0, pieces = 0, unit = 1;
    int width = 1;
    void* context = nullptr;
    void (*body)(void* context, int64_t begin, int64_t end) = nullptr;
  };

  class Pool {
   public:
    static constexpr int kMost = TN_THREADS_MOST;
    // For tests: runs on a worker that was woken, before it looks for work.
    using Hook = void (*)(int worker);

    explicit Pool(Hook hook = nullptr) : hook_(hook) {}
    ~Pool();
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    // One loop runs at a time: a caller who finds the pool taken computes alone rather than compete for the cores.
    bool take() { return !taken_.exchange(true, std::memory_order_acquire); }
    void give() { taken_.store(false, std::memory_order_release); }

    // Called by whoever took the pool. Returns when every piece is done, and throws the exception of the first piece that has one.
    void run(const Loop& loop);

    // Whether this thread is inside a loop of any pool of this library.
    static bool inside();
    // Called in a child of fork(), which has none of the threads.
    void forked();

   private:
    using Clock = std::chrono::steady_clock;

    // Pieces that one thread begins with, and that others help with once theirs are done.
    struct alignas(64) Share {
      std::atomic<int64_t> next{0};
      int64_t end = 0;
    };
    struct alignas(64) Worker {
      std::atomic<uint32_t> calls{0};
      std::atomic<bool> asleep{false};
      std::atomic<bool> confined{false};  // to the cores of `home` but the owner's, until it runs
      cpu_set_t home{};
      Pool* pool = nullptr;
      int number = 0;
      pthread_t thread{};
    };

    int hire(int wanted);
    void serve(Worker& me);
    static void await_call(Worker& me, uint32_t seen);
    static void keep_off(Worker& worker, int core);
    static void set_free(Worker& me);
    bool join();
    void leave();
    void open();
    void close(Clock::time_point begun);
    void stay_alone(Clock::duration lost);
    int64_t claim(int self);
    void piece(int64_t index);

    // Bit kOpen: workers may join the loop. The bits below count those in it.
    static constexpr uint32_t kOpen = 4096;
    alignas(64) std::atomic<uint32_t> gate_{0};
    alignas(64) std::atomic<uint32_t> emptied_{0};  // how often a closed gate became empty
    std::atomic<bool> taken_{false}, stop_{false};

    // Written by the owner while nobody is in the loop.
    Loop loop_;
    std::array<Share, kMost> shares_;
    std::atomic<int64_t> failed_at_{0};
    std::mutex failing_;
    std::exception_ptr error_;

    // Used by the owner only.
    std::array<Worker, kMost> workers_;  // the first is unused: the owner takes its place
    int hired_ = 0;
    Clock::time_point alone_until_{};
    Clock::duration shared_{};  // time in shared loops since then
    int64_t patience_ = 1;
    const Hook hook_;
  };

  // The plugin's own pool.
  Pool& pool();

}  // namespace host
}  // namespace tenon
#endif
