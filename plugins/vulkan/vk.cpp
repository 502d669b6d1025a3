#include "vk.hpp"

namespace tenon::vulkan {

std::string result_name(VkResult result) {
  switch (result) {
#define CASE(name) \
  case name:       \
    return #name
    CASE(VK_ERROR_OUT_OF_HOST_MEMORY);
    CASE(VK_ERROR_OUT_OF_DEVICE_MEMORY);
    CASE(VK_ERROR_INITIALIZATION_FAILED);
    CASE(VK_ERROR_DEVICE_LOST);
    CASE(VK_ERROR_LAYER_NOT_PRESENT);
    CASE(VK_ERROR_EXTENSION_NOT_PRESENT);
    CASE(VK_ERROR_FEATURE_NOT_PRESENT);
    CASE(VK_ERROR_INCOMPATIBLE_DRIVER);
    CASE(VK_ERROR_TOO_MANY_OBJECTS);
    CASE(VK_ERROR_FRAGMENTED_POOL);
    CASE(VK_ERROR_OUT_OF_POOL_MEMORY);
    CASE(VK_ERROR_INVALID_EXTERNAL_HANDLE);
    CASE(VK_ERROR_INVALID_SHADER_NV);
#undef CASE
    default:
      return "VkResult " + std::to_string(static_cast<int>(result));
  }
}

void fail_vk(VkResult result, std::string_view what) {
  uint32_t code = TN_INTERNAL;
  if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY)
    code = TN_OUT_OF_MEMORY;
  if (result == VK_ERROR_DEVICE_LOST) code = TN_DEVICE_LOST;
  sdk::fail(code, "[vulkan] ", what, ": ", result_name(result));
}

}  // namespace tenon::vulkan
