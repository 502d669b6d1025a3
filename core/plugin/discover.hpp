// Finding plugins on first use.
#pragma once

#include <atomic>

namespace tenon::core {

namespace plugins {
extern std::atomic<bool> g_discovered;
void discover_now();
}  // namespace plugins

// Scans the plugin directories once per process. Afterwards it costs one load. Any thread may call it; others wait until the
// first is done. A call from within a plugin's start returns at once. Never throws: refusals are kept for tn_plugin_get_info.
inline void ensure_discovered() {
  if (!plugins::g_discovered.load(std::memory_order_acquire)) [[unlikely]]
    plugins::discover_now();
}

}  // namespace tenon::core
