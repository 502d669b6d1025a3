#include "threads.hpp"

#include <algorithm>
#include <atomic>
#include <exception>

#include "../common/team.hpp"

namespace tenon::cpu {

namespace {
// What the compiler makes of a loop reads the caller's frame before it can tell ThreadSanitizer, and stays unseen.

// A team's work: what its start and end order, and its first exception, for the thread that called.
class Loop {
 public:
  Loop() { TENON_RELEASE(&begin_); }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  // On each thread, around all it does.
  void enter() { TENON_ACQUIRE(&begin_); }
  void leave() { TENON_RELEASE(&end_); }
  template <class Body>
  void guard(Body&& body) noexcept {
    try {
      body();
    } catch (...) {
      if (!failed_.exchange(true)) error_ = std::current_exception();
    }
  }
  void finish() {
    TENON_ACQUIRE(&end_);
    if (failed_.load()) std::rethrow_exception(error_);
  }

 private:
  std::atomic<bool> failed_{false};
  std::exception_ptr error_;
  [[maybe_unused]] char begin_ = 0, end_ = 0;
};
}  // namespace

int max_threads() { return host::max_threads(); }
void survive_fork() { host::survive_fork(); }

namespace detail {

TENON_HAS_LOOP void parallel_ranges(int64_t n, int64_t grain, void* context, RangeFn body) {
  const host::Team team;
  if (!team) return body(context, 0, n);
  const int64_t pieces =
      std::min<int64_t>(omp_get_max_threads(), (n + grain - 1) / std::max<int64_t>(grain, 1));
  Loop loop;
#pragma omp parallel num_threads(static_cast <int>(pieces))
  {
    loop.enter();
    const int64_t count = omp_get_num_threads();
    const int64_t i = omp_get_thread_num();
    // Multiples of 64 elements, so that threads share no cache line and vectors stay whole; long
    // ranges only.
    const int64_t unit = n >= 64 * 64 ? 64 : 1;
    const int64_t units = (n + unit - 1) / unit;
    const int64_t begin = std::min(n, units * i / count * unit);
    const int64_t end = std::min(n, units * (i + 1) / count * unit);
    if (begin < end) loop.guard([&] { body(context, begin, end); });
    loop.leave();
  }
  loop.finish();
}

TENON_HAS_LOOP void parallel_items(int64_t n, void* context, RangeFn body) {
  const host::Team team;
  if (!team || n < 2) {
    for (int64_t i = 0; i < n; ++i) body(context, i, i + 1);
    return;
  }
  Loop loop;
  const int64_t threads = std::min<int64_t>(omp_get_max_threads(), n);
#pragma omp parallel num_threads(static_cast <int>(threads))
  {
    loop.enter();
#pragma omp for schedule(dynamic, 1) nowait
    for (int64_t i = 0; i < n; ++i) loop.guard([&] { body(context, i, i + 1); });
    loop.leave();
  }
  loop.finish();
}

}  // namespace detail
}  // namespace tenon::cpu
