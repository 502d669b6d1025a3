// One scan for plugins in a fresh process: what loader.py times.
#include <chrono>
#include <cstdio>

#include "tenon/tenon.h"

int main() {
  const auto start = std::chrono::steady_clock::now();
  tn_status* status = tn_plugins_discover();
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
  if (status != nullptr) {
    const tn_str message = tn_status_message(status);
    std::fprintf(stderr, "%.*s\n", static_cast<int>(message.size), message.data);
    return 1;
  }
  uint32_t states[3] = {};
  for (uint32_t i = 0; i < tn_plugin_count(); ++i) {
    tn_plugin_info info{};
    info.struct_size = sizeof info;
    tn_status_release(tn_plugin_get_info(i, &info));
    ++states[info.state];
  }
  std::printf("{\"ms\": %.3f, \"loaded\": %u, \"refused\": %u}\n", taken.count(),
              states[TN_PLUGIN_LOADED], states[TN_PLUGIN_REFUSED]);
  return 0;
}
