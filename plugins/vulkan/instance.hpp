// The Vulkan loader, opened when first needed, and its devices.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "options.hpp"
#include "vk.hpp"

namespace tenon::vulkan {

// The properties of a physical device that this plugin uses.
struct Physical {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  uint32_t index = 0;  // among the devices of the plugin
  VkPhysicalDeviceProperties properties{};
  VkPhysicalDeviceMemoryProperties memory{};
  uint8_t pipeline_cache_id[VK_UUID_SIZE]{};
  uint32_t subgroup_size = 1;
  bool subgroups = false;  // they add up values in shaders that compute
  uint32_t queue_family = 0;
  uint32_t queues = 1;
  uint64_t timestamp_mask = 0;     // 0: the queue has no clock
  VkDeviceSize largest_block = 0;  // bytes of one allocation
  bool addresses = false;          // buffers have device addresses
  bool cooperative = false;        // multiplies 16 × 16 matrices of f16, sums in f32
  bool int64 = false, float64 = false, robust = false, budget = false;
  std::string pci_id;
  uint64_t dtypes = 0;
};

// If the validation layer is on and has complained, throws its first message, so that no call continues silently.
void check_validation();

class Instance {
 public:
  // Does not throw if there is no driver: devices() is then empty, and reason() says why.
  explicit Instance(const Options& options);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  const std::vector<Physical>& devices() const { return devices_; }
  const std::string& reason() const { return reason_; }

 private:
  bool create(const Options& options);
  void enumerate();

  VkInstance handle_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  std::vector<Physical> devices_;
  std::string reason_;
};

}  // namespace tenon::vulkan
