// Loops over OpenMP threads for plugins that add ops to the host's device. They share libgomp's pool with the CPU plugin.
#ifndef TENON_PLUGINS_COMMON_PARALLEL_HPP
#define TENON_PLUGINS_COMMON_PARALLEL_HPP

#include <algorithm>
#include <cstdint>
#include <exception>
#include <limits>
#include <mutex>
#include <type_traits>

#include "team.hpp"

namespace tenon {
namespace host __attribute__((visibility("hidden"))) {

  // piece(t, count) on each thread of a team.
  class Pieces {
   public:
    virtual void run(int64_t t, int64_t count) noexcept = 0;

   protected:
    ~Pieces() = default;
  };

  TENON_HAS_LOOP inline void run_team(Pieces & pieces, int count) {
    [[maybe_unused]] char begun = 0, ended = 0;
    TENON_RELEASE(&begun);
#pragma omp parallel num_threads(count)
    {
      TENON_ACQUIRE(&begun);
      pieces.run(omp_get_thread_num(), omp_get_num_threads());
      TENON_RELEASE(&ended);
    }
    TENON_ACQUIRE(&ended);
  }

  template <class Body>
  class Ranges final : public Pieces {
   public:
    Ranges(int64_t n, Body& body) : n_(n), body_(body) {}
    void run(int64_t t, int64_t count) noexcept override {
      const int64_t begin = n_ * t / count, end = n_ * (t + 1) / count;
      try {
        if (begin < end) body_(begin, end);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (begin < failed_) failed_ = begin, error_ = std::current_exception();
      }
    }
    void rethrow() {
      if (error_) std::rethrow_exception(error_);
    }

   private:
    const int64_t n_;
    Body& body_;
    std::mutex mutex_;
    std::exception_ptr error_;
    int64_t failed_ = std::numeric_limits<int64_t>::max();
  };

  // body(begin, end) over [0, n), in pieces of at least `grain`, one a thread. The exception of the first
  // piece that has one reaches the caller, so that it does not depend on who was quicker.
  template <class Body>
  void parallel_ranges(int64_t n, int64_t grain, Body && body) {
    const int64_t pieces = std::min<int64_t>(max_threads(), n / std::max<int64_t>(grain, 1));
    const Team team(pieces > 1);
    if (!team) {
      if (n > 0) body(int64_t{0}, n);
      return;
    }
    Ranges<std::remove_reference_t<Body>> ranges(n, body);
    run_team(ranges, static_cast<int>(pieces));
    ranges.rethrow();
  }

}  // namespace host
}  // namespace tenon
#endif
