// The plugin's entry. A Vulkan loader is asked for when the plugin starts; without one it has no devices and says why.
#include "backend.hpp"
#include "kernels.hpp"
#include "profile.hpp"
#include "tenon/device_type.hpp"

namespace tenon::vulkan {
namespace {

tn_status* start(const tn_host* from, void* token, tn_str directory, void** state) {
  *state = nullptr;
  const tn_host* host = sdk::adopt_host(from);
  return sdk::guard(host, [&] {
    backend().start();
    sdk::Registry registry(host, token, sdk::view_of(directory));
    sdk::register_devices(registry, "vulkan", backend());
    registry.kernels("vulkan", all_kernels());
  });
}

tn_status* quiesce(void*) {
  return sdk::guard([] { backend().synchronize_all(); });
}

void stop(void*) { backend().stop(); }

const void* get_interface(void*, tn_str name, uint32_t revision) {
  const bool profiler = sdk::view_of(name) == TN_PROFILER_NAME && revision == TN_PROFILER_REVISION;
  return profiler ? &profiler_table() : nullptr;
}

}  // namespace
}  // namespace tenon::vulkan

extern "C" TN_EXPORT tn_status* tn_plugin_query(uint32_t, uint32_t, const tn_plugin** out) {
  using namespace tenon::vulkan;
  static const tn_plugin plugin = {sizeof(tn_plugin),
                                   TN_ABI_MAJOR,
                                   TN_ABI_MINOR,
                                   0,
                                   tenon::sdk::str_of("vulkan"),
                                   tenon::sdk::str_of(TN_VERSION_STRING),
                                   start,
                                   quiesce,
                                   stop,
                                   get_interface};
  *out = &plugin;
  return nullptr;
}
