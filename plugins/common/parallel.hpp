// Loops over the threads of a plugin that computes on the host: plugins/common/pool.hpp.
#ifndef TENON_PLUGINS_COMMON_PARALLEL_HPP
#define TENON_PLUGINS_COMMON_PARALLEL_HPP

#include <cstdint>
#include <type_traits>

#include "tenon/plugin.h"

namespace tenon {
namespace host __attribute__((visibility("hidden"))) {

  // Called when the plugin starts: where to ask how many threads it may use.
  void start_threads(const tn_host* host);
  // How many threads a loop may use here and now: 1 inside another loop.
  int max_threads();

  // Whether this is the only user of several threads.
  class Team {
   public:
    explicit Team(bool wanted = true);
    ~Team();
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;
    explicit operator bool() const { return owner_; }

   private:
    const bool owner_;
  };

  namespace detail {
  using RangeFn = void (*)(void* context, int64_t begin, int64_t end);
  void ranges(int64_t n, int64_t grain, void* context, RangeFn body);
  // body(context, i, i + 1) for each i in [0, n).
  void items(int64_t n, void* context, RangeFn body);
  template <class Body>
  void call(void* body, int64_t begin, int64_t end) {
    (*static_cast<Body*>(body))(begin, end);
  }
  }  // namespace detail

  // body(begin, end) over [0, n), in pieces of at least `grain`, several for each thread. If pieces throw, the exception of the first one
  // reaches the caller, so that it does not depend on timing.
  template <class Body>
  inline void parallel_ranges(int64_t n, int64_t grain, Body && body) {
    if (n <= 0) return;
    if (n / 2 < grain) return body(int64_t{0}, n);
    detail::ranges(n, grain, const_cast<void*>(static_cast<const void*>(&body)),
                   detail::call<std::remove_reference_t<Body>>);
  }

}  // namespace host
}  // namespace tenon
#endif
