#include "threads.hpp"

#include "../common/parallel.hpp"
#include "tenon/plugin.hpp"

namespace tenon::cpu {

void survive_fork() { host::start_threads(sdk::host()); }
int max_threads() { return host::max_threads(); }

namespace detail {
void parallel_ranges(int64_t n, int64_t grain, void* context, RangeFn body) {
  host::detail::ranges(n, grain, context, body);
}
void parallel_items(int64_t n, void* context, RangeFn body) {
  host::detail::items(n, context, body);
}
}  // namespace detail

}  // namespace tenon::cpu
