// Vulkan through volk, and its errors as the plugin's.
#pragma once

#include <volk.h>

#include <vector>

#include "tenon/barrier.hpp"

namespace tenon::vulkan {

// "VK_ERROR_DEVICE_LOST"; the number where the name is not known.
std::string result_name(VkResult result);
// Out of memory, a lost device or an internal error, saying what was tried. Throws sdk::Error.
[[noreturn]] void fail_vk(VkResult result, std::string_view what);
inline void check_vk(VkResult result, std::string_view what) {
  if (result < 0) fail_vk(result, what);
}

// Lists that Vulkan gives in two calls: how many, then which.
template <class T, class Fn>
std::vector<T> list_of(Fn&& ask) {
  uint32_t count = 0;
  ask(&count, nullptr);
  std::vector<T> found(count);
  ask(&count, found.data());
  found.resize(count);
  return found;
}

}  // namespace tenon::vulkan
