// What profilers see of a call: a vendor's by ranges, tn.profiler by times of the device.
#pragma once

#include "backend.hpp"
#include "timeline.hpp"

namespace tenon::gpu {
namespace rt {

// What the profiler shows of the calling thread; ranges lie in each other. Defined beside the other functions of runtime.hpp.
void range_push(const char* name) noexcept;
void range_pop() noexcept;

}  // namespace rt

// While it lives, what the thread does belongs to `name`.
class Range {
 public:
  explicit Range(const char* name) { rt::range_push(name); }
  ~Range() { rt::range_pop(); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

// A kernel of an op while it runs, on its device. `what` says whose kernels these are: the family,
// or a vendor's library. Static storage.
class Running {
 public:
  Running(const tn_call& call, const char* op, const char* what)
      : range_(op),
        op_(op, call),
        timed_(call.device_index, static_cast<Stream*>(call.stream)->handle(), what) {
    rt::use(call.device_index);
  }

 private:
  Range range_;
  Labelled op_;
  Timed timed_;
};

}  // namespace tenon::gpu
