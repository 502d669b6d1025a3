// Loops over OpenMP threads for plugins that add ops to the host's device. They share libgomp's pool with the CPU plugin.
#ifndef TENON_PLUGINS_COMMON_PARALLEL_HPP
#define TENON_PLUGINS_COMMON_PARALLEL_HPP

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <limits>
#include <mutex>

namespace tenon {
namespace host __attribute__((visibility("hidden"))) {

  inline int max_threads() { return omp_in_parallel() ? 1 : omp_get_max_threads(); }

  // One user of several threads at a time: host threads that compute at once run serially rather than
  // fight for the cores.
  inline std::atomic<bool> g_busy{false};
  class Team {
   public:
    explicit Team(bool wanted = true)
        : owner_(wanted && max_threads() > 1 && !g_busy.exchange(true, std::memory_order_acquire)) {
    }
    ~Team() {
      if (owner_) g_busy.store(false, std::memory_order_release);
    }
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;
    explicit operator bool() const { return owner_; }

   private:
    bool owner_;
  };

  // A child of fork() has none of the threads: libgomp would wait for them for ever.
  inline void survive_fork() {
    static const int once = ::pthread_atfork(nullptr, nullptr, [] {
      omp_set_num_threads(1);
      g_busy.store(false);
    });
    static_cast<void>(once);
  }

  // body(begin, end) over [0, n), in pieces of at least `grain`, one a thread. The exception of the first piece that has one
  // reaches the caller, so that it does not depend on who was quicker.
  template <class Body>
  void parallel_ranges(int64_t n, int64_t grain, Body && body) {
    const int64_t pieces = std::min<int64_t>(max_threads(), n / std::max<int64_t>(grain, 1));
    const Team team(pieces > 1);
    if (!team) {
      if (n > 0) body(int64_t{0}, n);
      return;
    }
    std::mutex mutex;
    std::exception_ptr error;
    int64_t failed = std::numeric_limits<int64_t>::max();
#pragma omp parallel num_threads(static_cast <int>(pieces))
    {
      const int64_t count = omp_get_num_threads(), t = omp_get_thread_num();
      const int64_t begin = n * t / count, end = n * (t + 1) / count;
      try {
        if (begin < end) body(begin, end);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (begin < failed) failed = begin, error = std::current_exception();
      }
    }
    if (error) std::rethrow_exception(error);
  }

}  // namespace host
}  // namespace tenon
#endif
