// Who ran what, counted on request.
#include <map>

#include "dispatch/fallback.hpp"
#include "forever.hpp"
#include "memory/forking.hpp"

namespace tenon::core {

std::atomic<bool> g_count_placement{false};

namespace {
struct Placement {
  Mutex mutex;
  std::map<std::pair<std::string, std::string>, uint64_t> calls;
};
}  // namespace

void count_placement(const tn_op& op, std::string_view provider) {
  auto& p = forever<Placement>();
  std::lock_guard lock(p.mutex);
  ++p.calls[{op.schema.name, std::string(provider)}];
}

}  // namespace tenon::core

using namespace tenon::core;

void tn_placement_enable(uint32_t on) {
  if (on != 0) {
    auto& p = forever<Placement>();
    std::lock_guard lock(p.mutex);
    p.calls.clear();
  }
  g_count_placement.store(on != 0, std::memory_order_relaxed);
}

void tn_placement_report(tn_write_fn write, void* ctx) {
  if (write == nullptr) return;
  auto& p = forever<Placement>();
  std::lock_guard lock(p.mutex);
  for (const auto& [key, count] : p.calls)
    write(ctx, to_str(fmt::format("{} {} {}\n", key.first, key.second, count)));
}
