// Loops over the plugin's threads (../common/pool.hpp). The caller says how many elements are worth
// a thread; below twice that, and inside another loop, the body runs on the calling thread.
#pragma once

#include <cstdint>
#include <type_traits>

namespace tenon::cpu {

// What pays for a second thread (1 to 3 us): elements for one thread of a loop that streams memory
// (12 us), of vector maths (4 to 12 us), and of scalar code of a few dozen ns an element.
constexpr int64_t kGrainCopy = 131072;
constexpr int64_t kGrainMath = 32768;
constexpr int64_t kGrainHeavy = 2048;

// How many threads a parallel loop may use at this moment.
int max_threads();

// When the plugin starts: asks the host for the number. A child of fork() has one thread.
void survive_fork();

namespace detail {
using RangeFn = void (*)(void* context, int64_t begin, int64_t end);
void parallel_ranges(int64_t n, int64_t grain, void* context, RangeFn body);
void parallel_items(int64_t n, void* context, RangeFn body);
}  // namespace detail

// body(begin, end) over [0, n) in some pieces a thread, each at least `grain` long, which threads
// take as they come free. Exceptions reach the caller.
template <class Body>
inline void parallel_for(int64_t n, int64_t grain, Body&& body) {
  if (n <= grain) {
    if (n > 0) body(int64_t{0}, n);
    return;
  }
  detail::parallel_ranges(n, grain, const_cast<void*>(static_cast<const void*>(&body)),
                          [](void* context, int64_t begin, int64_t end) {
                            (*static_cast<std::remove_reference_t<Body>*>(context))(begin, end);
                          });
}

// body(i) for each i in [0, n), handed out one by one as threads come free: for a few unequal
// pieces of work. Results must not depend on which thread does which.
template <class Body>
inline void parallel_each(int64_t n, Body&& body) {
  detail::parallel_items(n, const_cast<void*>(static_cast<const void*>(&body)),
                         [](void* context, int64_t i, int64_t) {
                           (*static_cast<std::remove_reference_t<Body>*>(context))(i);
                         });
}

}  // namespace tenon::cpu
