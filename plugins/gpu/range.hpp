// Ranges of calls for a vendor's profiler.
#pragma once

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

}  // namespace tenon::gpu
