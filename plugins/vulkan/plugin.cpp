// The plugin's entry point. On start it looks for a Vulkan loader; without one it has no devices and says why.
#include "../common/profile.hpp"
#include "backend.hpp"
#include "kernels.hpp"
#include "tenon/device_type.hpp"

namespace tenon::vulkan {
namespace {

tn_status* start(const tn_host* from, void* token, tn_str directory, void** state) {
  *state = nullptr;
  const tn_host* host = sdk::adopt_host(from);
  return sdk::guard(host, [&] {
    backend().start();
    sdk::Registry registry(host, token, sdk::view_of(directory));
    sdk::register_devices(registry, "vulkan", backend(), sdk::InChild::Fails);
    registry.kernels("vulkan", all_kernels());
  });
}

tn_status* quiesce(void*) {
  return sdk::guard([] {
    if (!sdk::lost_by_fork()) backend().synchronize_all();
  });
}

void stop(void*) {
  if (!sdk::lost_by_fork()) backend().stop();
}

const void* get_interface(void*, tn_str name, uint32_t revision) {
  return profiler_interface(name, revision);
}

}  // namespace
}  // namespace tenon::vulkan

// A batch is timed as a whole or not at all, so recorded work is submitted before a profile begins.
const tenon::Profiled tenon::kProfiled = {"vulkan", [] { vulkan::backend().flush_all(); },
                                          [] { vulkan::backend().synchronize_all(); }};

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
