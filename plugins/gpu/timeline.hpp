// Device times for a profiler (plugins/common/profile.hpp), from events around enqueued work, and waits for a device. Finished events are
// read as they come; only the end of a profile waits for them. If nobody listens, a scope costs one check.
#pragma once

#include <memory>
#include <optional>

#include "../common/profile.hpp"
#include "runtime.hpp"

namespace tenon::gpu {

// A recorded event, reused when nobody needs it.
using Mark = std::shared_ptr<void>;

// The thread's work on a stream while this lives: a span for each kernel launch, from the end of the previous one to its own; or a single
// span if no kernel is launched. An inner scope reports its own part. `what` has static storage.
class Timed {
 public:
  Timed(uint32_t device, rt::Stream stream, const char* what)
      : device_(device), stream_(stream), what_(what) {
    if (profile().on()) begin();
  }
  // For a copy of this many bytes in all.
  Timed(uint32_t device, rt::Stream stream, const char* what, uint64_t bytes)
      : Timed(device, stream, what) {
    if (last_ != nullptr) Profile::label().bytes = bytes;
  }
  ~Timed() {
    if (last_ != nullptr) end();
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

  // Called after every launch.
  static void launched() noexcept {
    if (innermost_ != nullptr) innermost_->stamp();
  }

 private:
  // A profiler never makes a call fail: if there are no events, the span is missing.
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

// While this lives, the thread waits for a stream. Reported unless an earlier wait left nothing to wait for.
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
// Each waits, and reports that. Throws sdk::Error.
void wait_for(uint32_t device, rt::Stream stream);
void wait_for_device(uint32_t device);
void wait_for_event(uint32_t device, rt::Event event);

// A runtime call that may wait for the device, as drivers are free to do. Reported if the device was busy before it and idle after it.
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

// Reports all spans enqueued so far; the devices must have run them. Throws sdk::Error if events cannot be read.
void read_timelines();
// Frees the events before the runtime ends.
void clear_timelines();

}  // namespace tenon::gpu
