#include "instance.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string_view>

#include "tenon/plugin.h"

namespace tenon::vulkan {
namespace {

std::atomic<bool> g_complained{false};
std::mutex g_complaint_mutex;
std::string g_complaint;

VKAPI_ATTR VkBool32 VKAPI_CALL report(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                      VkDebugUtilsMessageTypeFlagsEXT,
                                      const VkDebugUtilsMessengerCallbackDataEXT* data, void*) {
  const std::string text = std::string("[vulkan] validation: ") + data->pMessage;
  sdk::host()->log(3, sdk::str_of(text));
  const std::lock_guard lock(g_complaint_mutex);
  if (g_complaint.empty()) g_complaint = text;
  g_complained = true;
  return VK_FALSE;
}

bool has(const std::vector<VkExtensionProperties>& extensions, std::string_view name) {
  for (const auto& extension : extensions)
    if (name == extension.extensionName) return true;
  return false;
}

std::string pci_address(VkPhysicalDevice device) {
  VkPhysicalDevicePCIBusInfoPropertiesEXT pci{};
  pci.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT;
  VkPhysicalDeviceProperties2 properties{};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  properties.pNext = &pci;
  vkGetPhysicalDeviceProperties2(device, &properties);
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", pci.pciDomain, pci.pciBus, pci.pciDevice,
                pci.pciFunction);
  return text;
}

// Prefers a compute family without graphics, so that a desktop stays responsive.
bool choose_queues(Physical& device) {
  const auto families =
      list_of<VkQueueFamilyProperties>([&](uint32_t* count, VkQueueFamilyProperties* out) {
        vkGetPhysicalDeviceQueueFamilyProperties(device.handle, count, out);
      });
  bool found = false;
  for (uint32_t i = 0; i < families.size(); ++i) {
    if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) continue;
    const bool graphics = (families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT) != 0;
    if (found && graphics) continue;
    found = true;
    device.queue_family = i;
    device.queues = families[i].queueCount;
    const uint32_t bits = families[i].timestampValidBits;
    device.timestamp_mask = bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
    if (!graphics) break;
  }
  return found;
}

// What shaders/cooperative.comp requires, besides f16 and Vulkan's memory model.
bool multiplies_halves(const Physical& device) {
  const auto& limits = device.properties.limits;
  if (vkGetPhysicalDeviceCooperativeMatrixPropertiesNV == nullptr || device.subgroup_size != 32 ||
      limits.maxComputeWorkGroupInvocations < 256 || limits.maxComputeSharedMemorySize < 32768)
    return false;
  VkPhysicalDeviceCooperativeMatrixFeaturesNV offered{};
  offered.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_NV;
  VkPhysicalDeviceFeatures2 features{};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features.pNext = &offered;
  vkGetPhysicalDeviceFeatures2(device.handle, &features);
  uint32_t count = 0;
  vkGetPhysicalDeviceCooperativeMatrixPropertiesNV(device.handle, &count, nullptr);
  std::vector<VkCooperativeMatrixPropertiesNV> all(count);
  for (auto& one : all) one.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_NV;
  vkGetPhysicalDeviceCooperativeMatrixPropertiesNV(device.handle, &count, all.data());
  const auto fits = [](const VkCooperativeMatrixPropertiesNV& p) {
    return p.MSize == 16 && p.NSize == 16 && p.KSize == 16 && p.scope == VK_SCOPE_SUBGROUP_NV &&
           p.AType == VK_COMPONENT_TYPE_FLOAT16_NV && p.BType == VK_COMPONENT_TYPE_FLOAT16_NV &&
           p.CType == VK_COMPONENT_TYPE_FLOAT32_NV && p.DType == VK_COMPONENT_TYPE_FLOAT32_NV;
  };
  return offered.cooperativeMatrix != 0 && std::any_of(all.begin(), all.end(), fits);
}

// Reads what the device offers, and names anything missing that all kernels need.
std::string examine(Physical& device) {
  vkGetPhysicalDeviceProperties(device.handle, &device.properties);
  if (device.properties.apiVersion < VK_API_VERSION_1_2) return "it offers no Vulkan 1.2";
  vkGetPhysicalDeviceMemoryProperties(device.handle, &device.memory);
  if (!choose_queues(device)) return "it has no queue that computes";

  VkPhysicalDeviceVulkan11Properties p11{};
  p11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES;
  VkPhysicalDeviceProperties2 properties{};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  properties.pNext = &p11;
  vkGetPhysicalDeviceProperties2(device.handle, &properties);
  device.subgroup_size = p11.subgroupSize;
  device.subgroups = (p11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
                     (p11.subgroupSupportedOperations & VK_SUBGROUP_FEATURE_ARITHMETIC_BIT) != 0;
  device.largest_block = p11.maxMemoryAllocationSize;
  std::memcpy(device.pipeline_cache_id, device.properties.pipelineCacheUUID, VK_UUID_SIZE);

  VkPhysicalDeviceVulkan12Features f12{};
  f12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  VkPhysicalDeviceVulkan11Features f11{};
  f11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  f11.pNext = &f12;
  VkPhysicalDeviceFeatures2 features{};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features.pNext = &f11;
  vkGetPhysicalDeviceFeatures2(device.handle, &features);
  if (f12.timelineSemaphore == 0) return "it has no timeline semaphores";
  if (f12.storageBuffer8BitAccess == 0 || f11.storageBuffer16BitAccess == 0)
    return "its shaders cannot read elements of one and two bytes";
  device.addresses = f12.bufferDeviceAddress != 0;
  device.int64 = features.features.shaderInt64 != 0;
  device.float64 = features.features.shaderFloat64 != 0;
  device.robust = features.features.robustBufferAccess != 0;

  const auto extensions =
      list_of<VkExtensionProperties>([&](uint32_t* count, VkExtensionProperties* out) {
        vkEnumerateDeviceExtensionProperties(device.handle, nullptr, count, out);
      });
  device.budget = has(extensions, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  device.cooperative = has(extensions, VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME) &&
                       f12.shaderFloat16 != 0 && f12.vulkanMemoryModel != 0 &&
                       multiplies_halves(device);
  if (has(extensions, VK_EXT_PCI_BUS_INFO_EXTENSION_NAME))
    device.pci_id = pci_address(device.handle);

  device.dtypes = TN_MASK_BOOL | TN_MASK(TN_DTYPE_U8) | TN_MASK(TN_DTYPE_I8) |
                  TN_MASK(TN_DTYPE_U16) | TN_MASK(TN_DTYPE_I16) | TN_MASK(TN_DTYPE_I32) |
                  TN_MASK_HALF | TN_MASK(TN_DTYPE_F32);
  if (device.int64) device.dtypes |= TN_MASK(TN_DTYPE_I64) | TN_MASK(TN_DTYPE_U32);
  if (device.float64) device.dtypes |= TN_MASK(TN_DTYPE_F64);
  return {};
}

}  // namespace

void check_validation() {
  if (!g_complained.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(g_complaint_mutex);
  throw sdk::Error(TN_INTERNAL, g_complaint);
}

Instance::Instance(const Options& options) {
  if (volkInitialize() != VK_SUCCESS) {
    reason_ = "the Vulkan loader (libvulkan.so.1) is not installed: install your GPU's driver";
    return;
  }
  if (vkEnumerateInstanceVersion == nullptr || volkGetInstanceVersion() < VK_API_VERSION_1_2) {
    reason_ = "the Vulkan loader is older than 1.2: update your GPU's driver";
    return;
  }
  if (create(options)) enumerate();
}

bool Instance::create(const Options& options) {
  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pApplicationName = "tenon";
  application.apiVersion = VK_API_VERSION_1_2;
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;

  const char* layer = "VK_LAYER_KHRONOS_validation";
  const char* extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME,
                              VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
  VkValidationFeatureEnableEXT enabled[2] = {
      VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
  if (options.validation == "gpu") enabled[0] = VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_EXT;
  enabled[1] = VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_RESERVE_BINDING_SLOT_EXT;
  VkValidationFeaturesEXT features{};
  features.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT;
  features.pEnabledValidationFeatures = enabled;
  features.enabledValidationFeatureCount = options.validation == "gpu" ? 2 : 1;
  if (!options.validation.empty()) {
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &layer;
    info.enabledExtensionCount = 2;
    info.ppEnabledExtensionNames = extensions;
    if (options.validation != "core") info.pNext = &features;
  }
  if (const VkResult result = vkCreateInstance(&info, nullptr, &handle_); result < 0) {
    handle_ = VK_NULL_HANDLE;
    reason_ = "no driver answers (" + result_name(result) + "): install your GPU's Vulkan driver";
    return false;
  }
  volkLoadInstanceOnly(handle_);
  if (!options.validation.empty()) {
    VkDebugUtilsMessengerCreateInfoEXT wanted{};
    wanted.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
    wanted.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                             VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    wanted.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
    wanted.pfnUserCallback = report;
    check_vk(vkCreateDebugUtilsMessengerEXT(handle_, &wanted, nullptr, &messenger_),
             "listening to the validation layer");
  }
  return true;
}

// A device that cannot be used does not hide the others.
void Instance::enumerate() {
  const auto handles = list_of<VkPhysicalDevice>([&](uint32_t* count, VkPhysicalDevice* out) {
    vkEnumeratePhysicalDevices(handle_, count, out);
  });
  for (VkPhysicalDevice handle : handles) {
    Physical device;
    device.handle = handle;
    const std::string lacking = examine(device);
    if (lacking.empty()) {
      device.index = static_cast<uint32_t>(devices_.size());
      devices_.push_back(std::move(device));
    } else {
      if (!reason_.empty()) reason_ += "; ";
      reason_ += std::string(device.properties.deviceName) + " is left out: " + lacking;
    }
  }
  if (handles.empty())
    reason_ = "the Vulkan loader knows no device: install your GPU's Vulkan driver";
}

Instance::~Instance() {
  if (messenger_ != VK_NULL_HANDLE) vkDestroyDebugUtilsMessengerEXT(handle_, messenger_, nullptr);
  if (handle_ != VK_NULL_HANDLE) vkDestroyInstance(handle_, nullptr);
}

}  // namespace tenon::vulkan
