// The fastest of a library's algorithms for a problem: measured when it is first met, then kept in a file for later processes, which so
// compute the same bits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "backend.hpp"

namespace tenon::gpu {

// An algorithm as the library's opaque bytes.
struct Tuned {
  std::string algorithm;
  uint64_t workspace = 0;
};

// Whether TENON_CUDA_TUNE (TENON_ROCM_TUNE) asks for it: 1, or the folder of the files.
bool is_tuning();
// What is known of a problem on a device with a version of a library, both named in `file`. [thread-safe]
std::optional<Tuned> find_tuned(const std::string& file, const std::string& problem);
void keep_tuned(const std::string& file, const std::string& problem, const Tuned& found);

// Seconds that the device takes for `work`, which enqueues it. Waits for it.
template <class Work>
double seconds_on(const Stream& stream, Work&& work) {
  struct Event {
    rt::Event handle = rt::event_create();
    ~Event() { rt::event_destroy(handle); }
  } begin, end;
  rt::record(begin.handle, stream.handle());
  work();
  rt::record(end.handle, stream.handle());
  rt::synchronize_event(end.handle);
  return rt::seconds_between(begin.handle, end.handle);
}

}  // namespace tenon::gpu
