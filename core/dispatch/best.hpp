// Which of several devices is the best to compute on.
#pragma once

#include <span>
#include <string>

#include "tenon/device.h"

namespace tenon::core {

struct Candidate {
  tn_device* device = nullptr;
  std::string_view id;
  tn_device_info info{};
  uint64_t held = 0;  // bytes that this process's allocator has of it: no sign that it is busy
  // Its plugin has kernels; without any, each op would be copied to the host and back.
  bool computes = false;
};

// Sorts the best first, comparing in this order: own kernels, kind, half of the memory taken by others, declared f32 rate, free
// memory, compute units. Returns in a few words why the first was chosen.
std::string rank(std::span<Candidate> candidates);

}  // namespace tenon::core
