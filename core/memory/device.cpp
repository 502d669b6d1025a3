#include "memory/device.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "boundary.hpp"
#include "complete.hpp"
#include "loader.hpp"
#include "memory/allocator.hpp"
#include "memory/host.hpp"
#include "tenon/ext/draft/device.h"
#include "tenon/ext/draft/dispatch.h"

namespace tenon::core {

thread_local constinit Redirect t_redirect = {};

namespace {

constexpr uint32_t kMaxDevices = 256;  // of one type; more is taken for garbage

// Types and devices are never freed: handles stay valid for the life of the process.
struct Registry {
  Mutex mutex;
  std::vector<DeviceType*> types;
  std::vector<tn_device*> devices;
  tn_device* host = nullptr;
};

bool caching_allowed() {
  const char* choice = std::getenv("TENON_ALLOCATOR");
  if (layer() != nullptr) return false;
  if (choice != nullptr) return std::strcmp(choice, "plain") != 0;
#if defined(__SANITIZE_ADDRESS__)
  return false;
#else
  return true;
#endif
}

void destroy_streams(Registry& registry, DeviceType& type) noexcept {
  for (tn_device* device : registry.devices) {
    if (device->type != &type || device->stream == nullptr) continue;
    type.stream.destroy(type.self, device->stream);
    device->stream = nullptr;
  }
}

// Makes device `index` of the type, or reuses the one from an earlier load of the plugin.
void add_device(Registry& registry, DeviceType& type, uint32_t index) {
  static const bool caching = caching_allowed();
  tn_device* device = nullptr;
  for (tn_device* known : registry.devices)
    if (known->type == &type && known->index == index) device = known;
  if (device == nullptr) {
    auto made = std::make_unique<tn_device>();
    made->type = &type;
    made->index = index;
    made->id = fmt::format("{}:{}", type.name, index);
    made->allocator = std::make_unique<CachingAllocator>(*made, caching);
    registry.devices.push_back(made.get());
    device = made.release();
  }
  device->addressable = (type.memory.flags & TN_MEMORY_ADDRESSABLE) != 0;
  if (type.has_streams) check(type.stream.create(type.self, index, &device->stream));
}

void check_name(std::string_view name) {
  const bool plain =
      !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
      });
  if (!plain || name == "auto")
    fail(TN_INVALID_ARGUMENT,
         "device type \"{}\": a name has lower-case letters, digits, '_', '-' and '.'", name);
}

// The slot for a type: a retired one of the same plugin and name, or a new one.
DeviceType& claim_type(Registry& registry, std::string_view plugin_id, std::string_view name) {
  for (DeviceType* type : registry.types) {
    if (type->name != name) continue;
    if (!type->retired)
      fail(TN_ALREADY_EXISTS, "device type \"{}\" belongs to plugin \"{}\" already", name,
           type->plugin);
    if (type->plugin == plugin_id) return *type;
  }
  if (registry.types.size() == kMaxDeviceTypes)
    fail(TN_OUT_OF_RANGE, "device type \"{}\": there are {} types already", name, kMaxDeviceTypes);
  auto type = std::make_unique<DeviceType>();
  type->id = static_cast<uint32_t>(registry.types.size());
  type->name = name;
  type->plugin = plugin_id;
  type->retired = true;
  registry.types.push_back(type.get());
  return *type.release();
}

DeviceType& add_type(Registry& registry, std::string_view plugin_id, const tn_device_type& raw) {
  tn_device_type from = complete(&raw);
  if (layer() != nullptr && layer()->device_type != nullptr)
    layer()->device_type(to_str(plugin_id), &from);
  const std::string_view name = text_of(from.name);
  check_name(name);
  const std::lock_guard lock(registry.mutex);
  const tn_device_table device = complete(from.device);
  uint32_t count = 0;
  tn_str reason{"", 0};
  check(device.count(from.self, &count, &reason));
  if (count > kMaxDevices) fail(TN_OUT_OF_RANGE, "device type \"{}\": {} devices", name, count);
  DeviceType& type = claim_type(registry, plugin_id, name);
  type.self = from.self;
  type.device = device;
  type.memory = complete(from.memory);
  type.stream = complete(from.stream);
  type.has_streams = from.stream != nullptr;
  type.listed = (from.flags & TN_DEVICE_TYPE_UNLISTED) == 0;
  type.reason = text_of(reason);
  try {
    for (uint32_t i = 0; i < count; ++i) add_device(registry, type, i);
  } catch (...) {
    destroy_streams(registry, type);
    throw;
  }
  type.retired = false;
  return type;
}

Registry& registry() {
  static Registry& made = [&]() -> Registry& {
    auto* fresh = new Registry;
    if (layer() != nullptr) g_inline_bytes = 0;
    DeviceType& host = add_type(*fresh, "core", host_device_type());
    host.live = true;
    fresh->host = fresh->devices.front();
    return *fresh;
  }();
  return made;
}

tn_device_info info_of(tn_device& device) {
  Roomy<tn_device_info> filled;
  tn_device_info& info = filled.value;
  info.name = info.pci_id = {"", 0};
  check(device.type->device.info(device.type->self, device.index, &info));
  if (info.name.data == nullptr) info.name = {"", 0};
  if (info.pci_id.data == nullptr) info.pci_id = {"", 0};
  return info;
}

// A device that is still usable.
tn_device& live(tn_device* device) {
  if (!device->type->live)
    fail(TN_FAILED_PRECONDITION, "{} is gone: its plugin was quiesced", device->id);
  return *device;
}

[[noreturn]] void no_such_device(std::string_view name) {
  std::string there, reasons;
  for (const tn_device* device : devices()) there += (there.empty() ? "" : ", ") + device->id;
  const std::string_view kind = name.substr(0, name.find(':'));
  const std::string refused = why_refused(kind);
  bool offered = false;
  const std::lock_guard lock(registry().mutex);
  for (const DeviceType* type : registry().types) {
    if (!type->live) continue;
    offered = offered || type->name == kind;
    if (!type->reason.empty())
      reasons +=
          fmt::format("; plugin \"{}\" offers no {}: {}", type->plugin, type->name, type->reason);
  }
  if (!offered)
    reasons += refused.empty() ? fmt::format("; no plugin with devices \"{}\" is loaded", kind)
                               : "; " + refused;
  fail(TN_NOT_FOUND, "no device \"{}\"; there are {}{}", name, there, reasons);
}

tn_device* find_exact(std::string_view name) {
  const size_t colon = name.find(':');
  const std::string_view type = name.substr(0, colon);
  uint32_t index = 0;
  if (colon != name.npos) {
    const char* end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + colon + 1, end, index);
    if (error != std::errc() || stop != end) return nullptr;
  }
  const std::lock_guard lock(registry().mutex);
  for (tn_device* device : registry().devices)
    if (device->type->live && device->index == index && device->type->name == type) return device;
  return nullptr;
}

// A stream's error does not say which op failed, so the core adds the one enqueued last.
tn_status* named(tn_status* status, const tn_op* latest) {
  const std::string_view text = to_view(tn_status_message(status));
  if (status == nullptr || latest == nullptr || names_op(text)) return status;
  const std::string name(to_view(tn_op_name(latest)));
  tn_status* full = make_status(tn_status_code(status),
                                fmt::format("[{}] or an op enqueued before it: {}", name, text));
  tn_status_release(status);
  return full;
}

}  // namespace

tn_status* synchronize(tn_device& device) {
  if (device.stream == nullptr) return nullptr;
  const tn_op* latest = device.latest.exchange(nullptr);
  tn_status* status =
      named(device.type->stream.synchronize(device.type->self, device.stream), latest);
  tn_status* earlier = device.deferred.exchange(nullptr);
  if (earlier == nullptr) return status;
  tn_status_release(status);
  return earlier;
}

tn_device& host_device() { return *registry().host; }

std::vector<tn_device*> devices() {
  ensure_devices();
  std::vector<tn_device*> live;
  const std::lock_guard lock(registry().mutex);
  for (tn_device* device : registry().devices)
    if (device->type->live && device->type->listed) live.push_back(device);
  return live;
}

tn_device& find_device(std::string_view name) {
  if (name == "auto") return *tn_device_best(nullptr, nullptr);
  tn_device* found = find_exact(name);
  if (found == nullptr) {  // the host is found without looking for plugins
    ensure_devices();
    found = find_exact(name);
  }
  if (found == nullptr) no_such_device(name);
  return *found;
}

DeviceType* find_device_type(std::string_view name) {
  const std::lock_guard lock(registry().mutex);
  for (DeviceType* type : registry().types)
    if (!type->retired && type->name == name) return type;
  return nullptr;
}

DeviceType& add_device_type(std::string_view plugin_id, const tn_device_type& type) {
  return add_type(registry(), plugin_id, type);
}

void publish_device_types(std::string_view plugin_id) noexcept {
  const std::lock_guard lock(registry().mutex);
  for (DeviceType* type : registry().types)
    if (!type->retired && type->plugin == plugin_id) type->live = true;
}

void retire_device_types(std::string_view plugin_id) {
  const std::lock_guard lock(registry().mutex);
  const auto owned = [&](const tn_device* device) {
    return !device->type->retired && device->type->plugin == plugin_id;
  };
  for (const tn_device* device : registry().devices) {
    if (!owned(device)) continue;
    const uint64_t blocks = device->allocator->live_blocks();
    if (blocks != 0 || device->live_storages.load() > 0)
      fail(TN_FAILED_PRECONDITION, "plugin \"{}\" cannot go: {} blocks of memory live on {}",
           plugin_id,
           std::max<uint64_t>(blocks, static_cast<uint64_t>(device->live_storages.load())),
           device->id);
  }
  for (tn_device* device : registry().devices) {
    if (!owned(device)) continue;
    device->type->live = false;
    device->allocator->trim();
  }
  for (DeviceType* type : registry().types) {
    if (type->retired || type->plugin != plugin_id) continue;
    type->live = false;
    destroy_streams(registry(), *type);
    type->retired = true;
  }
}

std::string why_no_device(std::string_view plugin_id) {
  const std::lock_guard lock(registry().mutex);
  std::string reasons;
  for (const DeviceType* type : registry().types)
    if (type->live && type->plugin == plugin_id && !type->reason.empty())
      reasons += (reasons.empty() ? "" : "; ") + type->reason;
  return reasons;
}

uint32_t count_devices(std::string_view plugin_id) {
  const std::lock_guard lock(registry().mutex);
  return static_cast<uint32_t>(std::count_if(
      registry().devices.begin(), registry().devices.end(),
      [&](tn_device* device) { return device->type->live && device->type->plugin == plugin_id; }));
}

}  // namespace tenon::core

using namespace tenon::core;

uint32_t tn_device_count(void) {
  return answer(0u, [] { return static_cast<uint32_t>(devices().size()); });
}

tn_device* tn_device_at(uint32_t index) {
  return answer<tn_device*>(nullptr, [&] {
    const std::vector<tn_device*> all = devices();
    return index < all.size() ? all[index] : nullptr;
  });
}

tn_status* tn_device_find(tn_str name, tn_device** out) {
  TN_REQUIRE(name.data, out);
  return guarded([&] { *out = &find_device(to_view(name)); });
}

tn_str tn_device_id(const tn_device* device) {
  return device == nullptr ? tn_str{"", 0} : to_str(device->id);
}
tn_str tn_device_plugin(const tn_device* device) {
  return device == nullptr ? tn_str{"", 0} : to_str(device->type->plugin);
}

tn_status* tn_device_get_info(tn_device* device, tn_device_info* out) {
  TN_REQUIRE(device, out);
  return guarded([&] { give(info_of(live(device)), out); });
}

tn_status* tn_device_synchronize(tn_device* device) {
  TN_REQUIRE(device);
  return guarded([&] {
    const tn_op* latest = device->latest;
    check(synchronize(live(device)));
    check(named(device->type->device.synchronize(device->type->self, device->index), latest));
  });
}

tn_status* tn_device_extend(tn_device* device, tn_str name, uint32_t revision, tn_extend_fn use,
                            void* ctx) {
  TN_REQUIRE(device, name.data, use);
  return guarded([&] {
    const DeviceType& type = *live(device).type;
    const InOrder order(*device);
    const tn_extension given = {
        sizeof given, device->index, plugin_interface(type.plugin, name, revision),
        type.self,    &type.stream,  device->stream};
    check(use(ctx, &given));
  });
}

void tn_device_redirect(tn_device* device, void* stream) { t_redirect = {device, stream}; }
tn_device* tn_device_redirected(void) { return t_redirect.device; }

tn_status* tn_memory_get_stats(tn_device* device, tn_memory_stats* out) {
  TN_REQUIRE(device, out);
  return guarded([&] {
    tn_memory_stats stats{};
    device->allocator->stats(stats);
    give(stats, out);
  });
}

void tn_memory_reset_peak(tn_device* device) {
  if (device != nullptr) device->allocator->reset_peak();
}

void tn_memory_set_limit(tn_device* device, uint64_t bytes) {
  if (device != nullptr) device->allocator->set_limit(bytes);
}

tn_status* tn_memory_trim(tn_device* device) {
  TN_REQUIRE(device);
  return guarded([&] { device->allocator->trim(); });
}
