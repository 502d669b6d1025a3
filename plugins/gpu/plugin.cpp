// The entry point of a plugin built from plugins/gpu. On start it looks for the driver; without one it has no devices and says why.
#include "capture.hpp"
#include "dlpack.hpp"
#include "kernels.hpp"
#include "library.hpp"
#include "tenon/device_type.hpp"
#include "timeline.hpp"

namespace tenon::gpu {
namespace {

tn_status* start(const tn_host* from, void* token, tn_str directory, void** state) {
  *state = nullptr;
  const tn_host* host = sdk::adopt_host(from);
  return sdk::guard(host, [&] {
    backend().start();
    sdk::Registry registry(host, token, sdk::view_of(directory));
    sdk::register_devices(registry, rt::kName, backend(), sdk::InChild::Fails);
    registry.kernels(rt::kName, all_kernels());
    registry.kernels(rt::kName, vendor_kernels());
  });
}

tn_status* quiesce(void*) {
  return sdk::guard([] {
    if (!sdk::lost_by_fork()) backend().quiesce();
  });
}

void stop(void*) {
  if (!sdk::lost_by_fork()) backend().stop();
}

const void* get_interface(void*, tn_str name, uint32_t revision) {
  for (const auto interface : {profiler_interface, capture_interface, dlpack_interface})
    if (const void* const table = interface(name, revision); table != nullptr) return table;
  return libraries_interface(sdk::view_of(name), revision);
}

// Waits, then reports the times, whether or not a device failed.
void settle() {
  tn_status* const failed = sdk::guard([] { backend().quiesce(); });
  try {
    read_timelines();
  } catch (const sdk::Error&) {
    if (failed == nullptr) throw;
  }
  sdk::check(sdk::host(), failed);
}

}  // namespace

}  // namespace tenon::gpu

const tenon::Profiled tenon::kProfiled = {tenon::gpu::rt::kName, [] {}, tenon::gpu::settle};

extern "C" TN_EXPORT tn_status* tn_plugin_query(uint32_t, uint32_t, const tn_plugin** out) {
  using namespace tenon::gpu;
  static const tn_plugin plugin = {sizeof(tn_plugin),
                                   TN_ABI_MAJOR,
                                   TN_ABI_MINOR,
                                   0,
                                   tenon::sdk::str_of(rt::kName),
                                   tenon::sdk::str_of(TN_VERSION_STRING),
                                   start,
                                   quiesce,
                                   stop,
                                   get_interface};
  *out = &plugin;
  return nullptr;
}
