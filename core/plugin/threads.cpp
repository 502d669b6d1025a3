#include "plugin/threads.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "loader.hpp"
#include "memory/host.hpp"
#include "status.hpp"

namespace tenon::core {
namespace {

// OpenMP's variable may be a list, whose first number is that of loops outside of others.
[[gnu::cold]] uint32_t first_limit() {
  for (const char* name : {"TENON_NUM_THREADS", "OMP_NUM_THREADS"}) {
    const char* value = std::getenv(name);
    if (value == nullptr) continue;
    const std::string_view text =
        std::string_view(value).substr(0, std::string_view(value).find(','));
    uint32_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error == std::errc() && end == text.data() + text.size() && n >= 1)
      return std::min(n, TN_THREADS_MOST);
    log_message(2, fmt::format("{}={} is no number of threads and is ignored", name, value));
  }
  return std::min<uint32_t>(usable_cores(), TN_THREADS_MOST);
}

std::atomic<uint32_t>& limit() {
  static std::atomic<uint32_t> number = [] {
    // A child has only the thread that forked, and its parent uses the cores.
    pthread_atfork(nullptr, nullptr, [] { limit().store(1, std::memory_order_relaxed); });
    return first_limit();
  }();
  return number;
}

}  // namespace

const tn_threads g_threads_table = {sizeof(tn_threads), 0, tn_num_threads};

}  // namespace tenon::core

using namespace tenon::core;

uint32_t tn_num_threads(void) { return limit().load(std::memory_order_relaxed); }

tn_status* tn_set_num_threads(int64_t n) {
  return guarded([&] {
    if (n < 1 || n > TN_THREADS_MOST)
      fail(TN_INVALID_ARGUMENT, "[set_num_threads] n is {}; it must be from 1 to {}", n,
           TN_THREADS_MOST);
    limit().store(static_cast<uint32_t>(n), std::memory_order_relaxed);
  });
}
