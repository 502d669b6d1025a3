// What the rooms below call in the loader, which is above them all: declared here, defined in plugin/.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "tenon/ext/draft/layer.h"

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

// The same for calls that need devices: also opens the plugins that bring only devices, whose drivers take long to load.
inline void ensure_devices() {
  ensure_discovered();
  if (plugins::g_waiting.load(std::memory_order_acquire)) [[unlikely]]
    plugins::load_waiting();
}

// The layer between the core and its plugins; NULL without one. Chosen at the first call, for good. [any thread]
const tn_layer* layer();
// An optional interface of the loaded plugin of that id; NULL when there is none. [any thread]
const void* plugin_interface(std::string_view id, tn_str name, uint32_t revision);
// "plugin PATH was refused: …" for a plugin of that id, which is usually the name of its devices; empty if none was. [any thread]
std::string why_refused(std::string_view id);
// As tn_host.log. [any thread]
void log_message(uint32_t level, std::string_view message);
// An environment variable; NULL in a privileged (setuid) process. [any thread]
const char* environment(const char* name);

}  // namespace tenon::core
