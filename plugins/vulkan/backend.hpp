// The device type "vulkan" as the core sees it: sdk/include/tenon/device_type.hpp makes tables of these members.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "device.hpp"
#include "stream.hpp"
#include "tenon/plugin.hpp"

namespace tenon::vulkan {

// A point on a timeline.
struct Event {
  Device* device = nullptr;
  std::mutex mutex;
  std::shared_ptr<Stream> stream;  // the stream that recorded it last; empty: never recorded
  uint64_t value = 0;
  std::shared_ptr<Stream> twin;  // of two streams, the one whose turn it was not
  uint64_t twin_value = 0;
  VkQueryPool clock = VK_NULL_HANDLE;
};

// The core's handle for a stream. The stream itself may outlive the handle while events refer to it.
struct StreamPair {
  std::shared_ptr<Stream> streams[2];  // the second one only with TENON_VULKAN_STREAMS=2
  std::atomic<uint32_t> turn{0};
  Stream& now() const { return *streams[turn]; }
  // What follows goes to the other stream, after everything recorded so far. [stream-ordered]
  void take_turns();
};
inline Stream& stream_of(void* handle) { return static_cast<StreamPair*>(handle)->now(); }

class Backend {
 public:
  // Opens the loader once and keeps it open: drivers do not survive being unloaded.
  void start();
  void stop();

  // The device for a call; its first use opens it. Throws sdk::Error.
  Device& device(uint32_t index);
  const Physical& physical(uint32_t index) const { return instance_->devices()[index]; }

  void count(uint32_t* count, tn_str* reason);
  void info(uint32_t index, tn_device_info* out);
  void synchronize(uint32_t index);
  void synchronize_all();
  void flush_all();

  void allocate(uint32_t index, uint64_t bytes, void** buffer, void** address);
  void free(uint32_t index, void* buffer);
  void host_allocate(uint32_t index, uint64_t bytes, void** address);
  void host_free(uint32_t index, void* address);
  void copy_in(uint32_t index, void* stream, const void* from, void* buffer, uint64_t offset,
               uint64_t bytes);
  void copy_out(uint32_t index, void* stream, void* buffer, uint64_t offset, void* to,
                uint64_t bytes);
  void copy_within(uint32_t index, void* stream, void* from, uint64_t from_offset, void* to,
                   uint64_t to_offset, uint64_t bytes);
  void fill(uint32_t index, void* stream, void* buffer, uint64_t offset, uint64_t bytes,
            const void* pattern, uint32_t pattern_size);

  void stream_create(uint32_t index, void** stream);
  void stream_destroy(void* stream);
  void stream_synchronize(void* stream);
  void event_create(uint32_t index, void** event);
  void event_destroy(void* event);
  void event_record(void* event, void* stream);
  void event_wait(void* event, void* stream);
  void event_query(void* event, uint32_t* done);
  void event_synchronize(void* event);
  void event_elapsed(void* start, void* end, double* seconds);

 private:
  Device* opened(uint32_t index);  // NULL if it was never used
  // For calls without a stream, which finish before they return.
  Stream& own_stream(uint32_t index);
  template <class Fn>
  void on_stream(uint32_t index, void* stream, Fn&& record);

  Options options_;
  std::unique_ptr<Instance> instance_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::shared_ptr<Stream>> own_;
};

Backend& backend();

}  // namespace tenon::vulkan
