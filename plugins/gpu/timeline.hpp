// Device times for a profiler (plugins/common/profile.hpp), by events around what is enqueued, and waits for a device. Events are
// read once they are reached; nothing waits for them but the end of a profile. While nobody listens a scope costs a look at one number.
#pragma once

#include <memory>
#include <optional>

#include "../common/profile.hpp"
#include "runtime.hpp"

namespace tenon::gpu {

// An event that was recorded; reused when nobody needs it.
using Mark = std::shared_ptr<void>;

// What the thread enqueues on a stream while it lives: a span for each launch of a kernel, from the one before to its own end, or one
// for all of it where none is launched. What an inner scope encloses is told by that one. `what` has static storage.
class Timed {
 public:
  Timed(uint32_t device, rt::Stream stream, const char* what)
      : device_(device), stream_(stream), what_(what) {
    if (profile().on()) begin();
  }
  // Of a copy, which moves so many bytes in all.
  Timed(uint32_t device, rt::Stream stream, const char* what, uint64_t bytes)
      : Timed(device, stream, what) {
    if (last_ != nullptr) Profile::label().bytes = bytes;
  }
  ~Timed() {
    if (last_ != nullptr) end();
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

  // Behind every launch.
  static void launched() noexcept {
    if (innermost_ != nullptr) innermost_->stamp();
  }

 private:
  // A profiler makes no call fail: where events cannot be had, a span is missing.
  void begin() noexcept;
  void stamp() noexcept;
  void end() noexcept;

  static thread_local constinit Timed* innermost_;
  uint32_t device_;
  rt::Stream stream_;
  const char* what_;
  Timed* outer_ = nullptr;
  Mark last_;
  bool is_told_ = false;
};

// While it lives the thread waits for all of a stream. Told unless an earlier wait left nothing to wait for.
class StreamWait {
 public:
  StreamWait(uint32_t device, rt::Stream stream);
  ~StreamWait();
  StreamWait(const StreamWait&) = delete;
  StreamWait& operator=(const StreamWait&) = delete;

 private:
  uint32_t device_;
  rt::Stream stream_;
  bool on_;
  std::optional<Waited> told_;
};
// Each waits, and tells it. Throws sdk::Error.
void wait_for(uint32_t device, rt::Stream stream);
void wait_for_device(uint32_t device);
void wait_for_event(uint32_t device, rt::Event event);

// A call of the runtime that may wait for the device, as some do by the driver's leave: told where the device was at work before it
// and has nothing left to do behind it.
class MaybeWait {
 public:
  explicit MaybeWait(uint32_t device) : device_(device) {
    if (profile().on()) look();
  }
  ~MaybeWait() {
    if (begin_ != 0) tell();
  }
  MaybeWait(const MaybeWait&) = delete;
  MaybeWait& operator=(const MaybeWait&) = delete;

 private:
  void look() noexcept;
  void tell() noexcept;

  uint32_t device_;
  double begin_ = 0;
};

// Has every span told that is enqueued so far, which the devices have run. Throws sdk::Error where events cannot be read.
void read_timelines();
// Gives the events back, before the runtime goes.
void clear_timelines();

}  // namespace tenon::gpu
