// A backend that owns memory and computes nothing: each op runs on the host, on copies. Replace the
// bodies below by calls to your device; then add kernels, and each one makes it faster.
// What a function here throws becomes an error of the op that was called; nothing crosses to the host.
#include <cstdlib>
#include <cstring>

#include "tenon/device_type.hpp"
#include "tenon/plugin.hpp"

using namespace tenon::sdk;

namespace {

// ---- The device: members are named like the slots of tenon/plugin.h; the core supplies defaults for those left out.

struct TemplateDevice {
  void info(uint32_t, tn_device_info* out) const {
    out->kind = TN_DEVICE_KIND_OTHER;
    out->name = str_of("Template device");
    out->memory_total = out->memory_free = uint64_t{1} << 30;
    out->compute_units = out->subgroup_size = 1;
    out->dtypes = TN_MASK_ALL;
  }

  // Raw blocks, which the core caches. The host never touches the address; kernels get it as view.data.
  void allocate(uint32_t, uint64_t bytes, void** buffer, void** address) const {
    *buffer = *address =
        bytes <= PTRDIFF_MAX ? std::aligned_alloc(64, (bytes + 63) / 64 * 64) : nullptr;
    if (*buffer == nullptr) fail(TN_OUT_OF_MEMORY, "the device has no ", bytes, " bytes left");
  }
  void free(uint32_t, void* buffer) const { std::free(buffer); }

  // Copies of bytes, ordered on the stream; this device has none.
  void copy_in(uint32_t, void*, const void* from, void* buffer, uint64_t offset,
               uint64_t bytes) const {
    std::memcpy(static_cast<char*>(buffer) + offset, from, bytes);
  }
  void copy_out(uint32_t, void*, void* buffer, uint64_t offset, void* to, uint64_t bytes) const {
    std::memcpy(to, static_cast<const char*>(buffer) + offset, bytes);
  }
  void copy_within(uint32_t, void*, void* from, uint64_t from_offset, void* to, uint64_t to_offset,
                   uint64_t bytes) const {
    std::memmove(static_cast<char*>(to) + to_offset, static_cast<const char*>(from) + from_offset,
                 bytes);
  }
};

// ---- Kernels: functions over typed spans. The lines that start with "//+" are your first one: remove the marks.

//+ void relu(std::span<const float> x, std::span<float> y) {
//+   for (size_t i = 0; i < y.size(); ++i) y[i] = x[i] < 0 ? 0 : x[i];
//+ }

// ---- Entry.

void start(Registry& registry) {
  static TemplateDevice device;
  register_devices(registry, "template", device);
  //+ registry.kernels("template", {kernel<relu>("relu(Tensor x) -> Tensor @1")});
}

}  // namespace

TENON_PLUGIN("org.example.template", "0.1.0", start)
