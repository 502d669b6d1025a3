// Device types, devices, and the allocation interface the rest of the core uses.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tenon/op.h"
#include "tenon/plugin.h"

namespace tenon::core {

constexpr uint32_t kMaxDeviceTypes = 32;
constexpr uint32_t kHostType = 0;  // the host's memory is the core's own device type

class CachingAllocator;

// A kind of device ("cpu", "vulkan"), with the tables its plugin registered, completed with thunks.
struct DeviceType {
  uint32_t id = 0;  // index in the registry; kernels are looked up by it
  std::string name;
  std::string plugin;  // id of the owner; "core" for the host
  void* self = nullptr;
  tn_device_table device{};
  tn_memory_table memory{};
  tn_stream_table stream{};
  bool has_streams = false;
  bool listed = true;             // else found by its name alone
  bool retired = false;           // its plugin was quiesced, or failed to start
  std::atomic<bool> live{false};  // seen by programs: its plugin has started
  std::string reason;             // why it offers no device
};

// Host tensors of at most so many bytes are stored in their header's block; none under a layer, which must see all blocks.
extern uint64_t g_inline_bytes;

// A block of device memory; `buffer` and `data` as tn_view has them.
struct Block {
  void* buffer = nullptr;
  void* data = nullptr;
  uint64_t bytes = 0;  // rounded up to the size class
  uint32_t bin = 0;    // the allocator's own
};

// Where the calling thread's work for a device goes instead of to the default stream.
struct Redirect {
  tn_device* device;
  void* stream;
};
extern thread_local constinit Redirect t_redirect __attribute__((tls_model("initial-exec")));

}  // namespace tenon::core

// One device. Never freed.
struct tn_device {
  tenon::core::DeviceType* type = nullptr;
  uint32_t index = 0;                  // within the type
  std::string id;                      // "cpu:0"
  void* stream = nullptr;              // default stream; NULL on the host
  bool addressable = false;            // the host may touch its memory
  std::recursive_mutex order;          // what enqueues on its stream
  std::atomic<const tn_op*> latest{};  // enqueued since somebody waited; NULL where none was
  // An error that a wait met while memory was given back; the next synchronise reports it.
  std::atomic<tn_status*> deferred{};
  std::unique_ptr<tenon::core::CachingAllocator> allocator;
  std::atomic<int64_t> live_storages{0};  // quiesce refuses while tensors live
  bool is_host() const { return type->id == tenon::core::kHostType; }
  // Whether the calling thread's work goes elsewhere, and where it goes.
  bool redirected() const { return tenon::core::t_redirect.device == this; }
  void* queue() const { return redirected() ? tenon::core::t_redirect.stream : stream; }
};

namespace tenon::core {

// A struct that a plugin fills. Built for a later minor version, it may fill fields beyond those that this core knows.
template <class Struct>
struct Roomy {
  Struct value{};
  char beyond[256]{};
  Roomy() { value.struct_size = sizeof(Struct); }
};

// Held around calls that enqueue on a device's stream, which come from one thread at a time.
class InOrder {
 public:
  explicit InOrder(tn_device& device) : lock_(device.order, std::defer_lock) {
    if (device.stream != nullptr) lock_.lock();
  }

 private:
  std::unique_lock<std::recursive_mutex> lock_;
};

// Waits for a device's stream. The error, when there is one, is of work enqueued before.
tn_status* synchronize(tn_device& device);

// Keeps an error, if it is one, that nobody can be told of now.
inline void defer(tn_device& device, tn_status* status) noexcept {
  if (status != nullptr) tn_status_release(device.deferred.exchange(status));
}

// The host device: always there, first of all devices.
tn_device& host_device();
// All devices, after discovery. The vector only grows.
std::vector<tn_device*> devices();
// A device by "cpu", "cpu:0" or "auto"; throws Error with what there is.
tn_device& find_device(std::string_view name);
// The type of that name (NULL when there is none), also while its plugin starts.
DeviceType* find_device_type(std::string_view name);

// For the loader. Adds a type and its devices, hidden until they are published; completes the tables. Throws Error.
DeviceType& add_device_type(std::string_view plugin_id, const tn_device_type& type);
void publish_device_types(std::string_view plugin_id) noexcept;
// Takes the types out again. Throws Error(TN_FAILED_PRECONDITION) while tensors live on their devices, then nothing changes.
void retire_device_types(std::string_view plugin_id);
uint32_t count_devices(std::string_view plugin_id);
// The reason that the plugin's types gave for having no devices; empty if they have some.
std::string why_no_device(std::string_view plugin_id);

// Memory from the caching allocator of a device, at least 64-byte aligned. Throws Error(TN_OUT_OF_MEMORY) with size, free and held
// bytes, after having returned cached blocks and tried again. bytes may be 0.
Block allocate(tn_device& device, uint64_t bytes);
void deallocate(tn_device& device, const Block& block) noexcept;

// Copies bytes between any two devices, through host memory when there is no direct way. Synchronous with respect to the host
// unless both ends are on one device.
void copy_bytes(tn_device& dst_device, void* dst_buffer, uint64_t dst_offset, tn_device& src_device,
                void* src_buffer, uint64_t src_offset, uint64_t bytes);

}  // namespace tenon::core
