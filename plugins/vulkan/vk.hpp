// Vulkan through volk; its errors become the plugin's.
#pragma once

#include <volk.h>

#include <vector>

#include "tenon/barrier.hpp"

namespace tenon::vulkan {

// "VK_ERROR_DEVICE_LOST", or the number if the name is unknown.
std::string result_name(VkResult result);
// Reports out of memory, a lost device or an internal error, with what was tried. Throws sdk::Error.
[[noreturn]] void fail_vk(VkResult result, std::string_view what);
inline void check_vk(VkResult result, std::string_view what) {
  if (result < 0) fail_vk(result, what);
}

// For lists that Vulkan returns in two calls: the count, then the elements.
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
