// One user of OpenMP's threads at a time, in a plugin that computes on the host. Plugins share libgomp's pool, not this.
#ifndef TENON_PLUGINS_COMMON_TEAM_HPP
#define TENON_PLUGINS_COMMON_TEAM_HPP

#include <omp.h>
#include <pthread.h>

#include <atomic>

// ThreadSanitizer does not see into libgomp: it is told what the start and the end of a team order.
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#define TENON_HAS_LOOP __attribute__((no_sanitize("thread")))
#define TENON_RELEASE(address) __tsan_release(address)
#define TENON_ACQUIRE(address) __tsan_acquire(address)
#else
#define TENON_HAS_LOOP
#define TENON_RELEASE(address)
#define TENON_ACQUIRE(address)
#endif

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

}  // namespace host
}  // namespace tenon
#endif
