// Finding plugins on first use.
#pragma once

#include <atomic>

namespace tenon::core {

namespace plugins {
extern std::atomic<bool> g_discovered;
extern std::atomic<bool> g_waiting;  // some are put off until a device is asked for
bool discover_now();
void load_waiting();
}  // namespace plugins

// Scans the plugin directories once per process. Afterwards it costs one load. Any thread may call it; others wait until the
// first is done. A call from within a plugin's start returns at once. Never throws: refusals are kept for tn_plugin_get_info.
inline void ensure_discovered() {
  if (!plugins::g_discovered.load(std::memory_order_acquire)) [[unlikely]]
    plugins::discover_now();
}

// The same; true when this call has just done it.
inline bool discover_if_new() {
  return !plugins::g_discovered.load(std::memory_order_acquire) && plugins::discover_now();
}

// The same, for those who ask for devices: opens also the plugins that bring nothing else, as their drivers take long to load.
inline void ensure_devices() {
  ensure_discovered();
  if (plugins::g_waiting.load(std::memory_order_acquire)) [[unlikely]]
    plugins::load_waiting();
}

}  // namespace tenon::core
