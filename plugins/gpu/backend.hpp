// A GPU as a device type of the core, over the vendor's runtime (runtime.hpp). sdk/include/tenon/device_type.hpp makes the C tables from
// these members.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "dim.hpp"
#include "runtime.hpp"
#include "staging.hpp"
#include "tenon/plugin.hpp"

namespace tenon::gpu {

// Where a kernel reports an index out of range: host memory that the device can write. Only the first report stays.
struct IndexNote {
  uint32_t set;
  uint32_t dim;
  int64_t index;
  int64_t position;  // among the indices, row-major
  int64_t size;
  uint64_t op;  // address of a static name
};

// The core's handle for a stream. Its first use opens the device, so the machine's other devices stay closed.
class Stream {
 public:
  explicit Stream(uint32_t device) : device_(device) {}
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  rt::Stream handle() const { return opened().handle; }
  uint32_t device() const { return device_; }
  IndexNote* note() const { return opened().note; }
  // A word in device memory. The thread that sets it writes the note.
  uint32_t* claim() const { return opened().claim; }
  bool is_open() const { return is_open_.load(std::memory_order_acquire); }
  // Waits, then throws any error that occurred meanwhile.
  void synchronize();
  // Throws TN_OUT_OF_RANGE, once, if a kernel met an index out of range. Call it after a wait.
  void report();

 private:
  struct Opened {
    rt::Stream handle = nullptr;
    IndexNote* note = nullptr;
    uint32_t* claim = nullptr;
  };
  const Opened& opened() const {
    if (!is_open()) open();
    return opened_;
  }
  void open() const;

  uint32_t device_;
  mutable std::atomic<bool> is_open_ = false;
  mutable std::mutex opening_;
  mutable Opened opened_;
};

inline Stream& stream_of(const tn_call& call) { return *static_cast<Stream*>(call.stream); }

class Backend {
 public:
  void start();
  void quiesce();  // waits for every device
  void stop();
  const rt::Device& device(uint32_t index) const { return devices_[index]; }

  void count(uint32_t* count, tn_str* reason);
  void info(uint32_t index, tn_device_info* out);
  void synchronize(uint32_t index);

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
  void copy_peer(uint32_t from_index, void* from, uint64_t from_offset, uint32_t to_index, void* to,
                 uint64_t to_offset, uint64_t bytes, void* stream);
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
  template <class Fn>
  void on_stream(uint32_t index, void* stream, Fn&& enqueue);

  std::vector<rt::Device> devices_;
  std::string reason_;
  std::mutex mutex_;  // of own_
  std::vector<std::unique_ptr<Stream>> own_;
  std::vector<std::unique_ptr<Staging>> staging_;
};

Backend& backend();

}  // namespace tenon::gpu
