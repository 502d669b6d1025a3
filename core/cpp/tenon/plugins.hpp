// Plugins, from the host program's side.
#ifndef TENON_PLUGINS_HPP
#define TENON_PLUGINS_HPP

#include <vector>

#include "tenon/error.hpp"
#include "tenon/plugins.h"

namespace tenon {

// A plugin, loaded or refused. Texts live as long as the process.
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

// Scans the usual directories, once per process. The first use of ops or devices() does this anyway.
inline void discover_plugins() { detail::check(tn_plugins_discover()); }
// Loads a library, by its path or that of its card. Throws the reason if it is refused.
inline void load_plugin(std::string_view path) {
  detail::check(tn_plugin_load(detail::to_str(path)));
}
// Removes its kernels and devices. Throws while tensors live on its devices.
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
