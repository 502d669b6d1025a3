// What profilers see of a call: ranges for a vendor's profiler, device times for tn.profiler.
#pragma once

#include "backend.hpp"
#include "timeline.hpp"

namespace tenon::gpu {
namespace rt {

// Ranges of the calling thread in the vendor's profiler; they nest. Defined with the other functions of runtime.hpp.
void range_push(const char* name) noexcept;
void range_pop() noexcept;

}  // namespace rt

// While it lives, the thread's work belongs to `name`.
class Range {
 public:
  explicit Range(const char* name) { rt::range_push(name); }
  ~Range() { rt::range_pop(); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

// An op's kernel while it runs on its device. `what` says whose kernels these are: the family, or a vendor's library. Static storage.
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
