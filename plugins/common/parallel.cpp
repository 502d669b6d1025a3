#include "parallel.hpp"

#include <algorithm>
#include <thread>

#include "pool.hpp"

namespace tenon {
namespace host __attribute__((visibility("hidden"))) {

  namespace {
  // Pieces for each thread: enough that others can take over the share of a late one in parts.
  constexpr int64_t kPieces = 8;

  // The default if the host does not say: all cores, and one in a child of fork().
  std::atomic<uint32_t> g_cores{1};
  std::atomic<uint32_t (*)()> g_limit{[] { return g_cores.load(std::memory_order_relaxed); }};

  int limit() {
    const uint32_t n = g_limit.load(std::memory_order_relaxed)();
    return static_cast<int>(std::clamp<uint32_t>(n, 1, Pool::kMost));
  }
  }  // namespace

  // Never destroyed: other threads may be computing until the process ends.
  Pool& pool() {
    static Pool* const own = new Pool;
    return *own;
  }

  void start_threads(const tn_host* host) {
    static const int once = [] {
      pool();
      g_cores = std::max(1u, std::thread::hardware_concurrency());
      return pthread_atfork(nullptr, nullptr, [] {
        g_cores = 1;
        pool().forked();
      });
    }();
    static_cast<void>(once);
    const auto* table = static_cast<const tn_threads*>(
        host->get_interface({TN_THREADS_NAME, sizeof TN_THREADS_NAME - 1}, TN_THREADS_REVISION));
    if (table != nullptr && table->limit != nullptr) g_limit = table->limit;
  }

  int max_threads() { return Pool::inside() ? 1 : limit(); }

  Team::Team(bool wanted) : owner_(wanted && max_threads() > 1 && pool().take()) {}
  Team::~Team() {
    if (owner_) pool().give();
  }

  namespace detail {
  void ranges(int64_t n, int64_t grain, void* context, RangeFn body) {
    const int64_t most = n / std::max<int64_t>(grain, 1),
                  width = std::min<int64_t>(max_threads(), most);
    const Team team(width > 1);
    if (!team) return body(context, 0, n);
    // Long ranges are cut at multiples of 64 elements, so that threads share no cache line and vectors stay whole.
    pool().run({n, width * std::min(most / width, kPieces), n >= 64 * 64 ? 64 : 1,
                static_cast<int>(width), context, body});
  }

  void items(int64_t n, void* context, RangeFn body) {
    const int64_t width = std::min<int64_t>(max_threads(), n);
    const Team team(width > 1);
    if (team) return pool().run({n, n, 1, static_cast<int>(width), context, body});
    for (int64_t i = 0; i < n; ++i) body(context, i, i + 1);
  }
  }  // namespace detail

}  // namespace host
}  // namespace tenon
