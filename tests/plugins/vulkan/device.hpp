// The device under test, and tensors on it. to_vector() copies to the host. TENON_TEST_DEVICE selects another device for tests that need
// nothing specific to Vulkan.
#pragma once

#include <cstdlib>
#include <string_view>
#include <vector>

#include "tenon/tenon.hpp"

namespace test_vulkan {

using tenon::Tensor;

inline const tenon::Device& gpu() {
  const char* const named = std::getenv("TENON_TEST_DEVICE");
  static const tenon::Device device(named != nullptr ? named : "vulkan:0");
  return device;
}
// The simulator's threads take turns, and it checks each access: what takes a GPU a moment takes the simulator minutes.
inline bool is_simulated() {
  const char* const named = std::getenv("TENON_TEST_DEVICE");
  return named != nullptr && std::string_view(named).starts_with("gpusim");
}
template <class T>
Tensor from(const std::vector<T>& values, tenon::IntList shape) {
  return tenon::tensor(values, shape);
}
inline Tensor to_gpu(const Tensor& x) { return tenon::to(x, gpu()); }

// Numbers without a pattern.
inline uint32_t hash(uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

}  // namespace test_vulkan
