// Plugins from the host's side.
#ifndef TENON_PLUGINS_HPP
#define TENON_PLUGINS_HPP

#include <vector>

#include "tenon/error.hpp"
#include "tenon/plugins.h"

namespace tenon {

// One plugin, loaded or refused. Text lives as long as the process.
struct PluginInfo {
  enum class State : uint32_t {
    Loaded = TN_PLUGIN_LOADED,
    Refused = TN_PLUGIN_REFUSED,
    Quiesced = TN_PLUGIN_QUIESCED
  };
  State state;
  std::string_view id, version, path;
  std::string_view reason;  // why refused, or why it offers no device
  uint32_t kernels, devices;
};

// Scans the usual places once per process; ops and devices() do it on first use.
inline void discover_plugins() { detail::check(tn_plugins_discover()); }
// Loads a library, or the library of a card; throws the reason of a refusal.
inline void load_plugin(std::string_view path) {
  detail::check(tn_plugin_load(detail::to_str(path)));
}
// Takes its kernels and devices out; throws while tensors live on its devices.
inline void quiesce_plugin(std::string_view id) {
  detail::check(tn_plugin_quiesce(detail::to_str(id)));
}
// Every plugin seen so far, refused ones included.
inline std::vector<PluginInfo> plugins() {
  std::vector<PluginInfo> found;
  for (uint32_t i = 0, n = tn_plugin_count(); i < n; ++i) {
    tn_plugin_info info{};
    info.struct_size = sizeof(info);
    detail::check(tn_plugin_get_info(i, &info));
    found.push_back({static_cast<PluginInfo::State>(info.state), detail::to_view(info.id),
                     detail::to_view(info.version), detail::to_view(info.path),
                     detail::to_view(info.reason), info.kernel_count, info.device_count});
  }
  return found;
}

}  // namespace tenon
#endif
