#include "device.hpp"

#include <algorithm>
#include <vector>

#include "../common/profile.hpp"
#include "stream.hpp"

namespace tenon::vulkan {

Device::Device(const Physical& physical, const Options& options)
    : physical_(physical),
      options_(options),
      addresses_(physical.addresses && !options.descriptors) {
  create();
  const uint32_t most = physical.properties.limits.maxComputeWorkGroupInvocations;
  group_size_ = most >= 256 ? 256 : 128;
  memory_ = std::make_unique<Heap>(*this, kDeviceMemory);
  uploads_ = std::make_unique<Heap>(*this, kUploadMemory);
  read_backs_ = std::make_unique<Heap>(*this, kReadBackMemory);
  pinned_ = std::make_unique<Pinned>(*read_backs_);
  pipelines_ = std::make_unique<Pipelines>(*this);
}

void Device::create() {
  queue_count_ = std::min(physical_.queues, kMaxQueues);
  const std::vector<float> priorities(queue_count_, 1.0f);
  VkDeviceQueueCreateInfo queues{};
  queues.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queues.queueFamilyIndex = physical_.queue_family;
  queues.queueCount = queue_count_;
  queues.pQueuePriorities = priorities.data();

  VkPhysicalDeviceVulkan12Features f12{};
  f12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  f12.timelineSemaphore = f12.storageBuffer8BitAccess = VK_TRUE;
  f12.bufferDeviceAddress = addresses_ ? VK_TRUE : VK_FALSE;
  VkPhysicalDeviceCooperativeMatrixFeaturesNV matrices{};
  matrices.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_NV;
  matrices.cooperativeMatrix = VK_TRUE;
  const bool cooperative =
      physical_.cooperative && options_.cooperative != Options::Cooperative::kNever;
  if (cooperative) {
    f12.shaderFloat16 = f12.vulkanMemoryModel = VK_TRUE;
    f12.pNext = &matrices;
  }
  VkPhysicalDeviceVulkan11Features f11{};
  f11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  f11.pNext = &f12;
  f11.storageBuffer16BitAccess = VK_TRUE;
  VkPhysicalDeviceFeatures2 features{};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features.pNext = &f11;
  features.features.shaderInt64 = physical_.int64 ? VK_TRUE : VK_FALSE;
  features.features.shaderFloat64 = physical_.float64 ? VK_TRUE : VK_FALSE;
  features.features.robustBufferAccess = physical_.robust && options_.robust ? VK_TRUE : VK_FALSE;

  std::vector<const char*> extensions;
  if (physical_.budget) extensions.push_back(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  if (cooperative) extensions.push_back(VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME);
  VkDeviceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = &features;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queues;
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  check_vk(vkCreateDevice(physical_.handle, &info, nullptr, &handle_), "opening " + name());
  volkLoadDeviceTable(&vk_, handle_);
  for (uint32_t i = 0; i < queue_count_; ++i)
    vk_.vkGetDeviceQueue(handle_, physical_.queue_family, i, &queues_[i]);
}

Device::~Device() {
  if (never_ != VK_NULL_HANDLE) {
    VkSemaphoreSignalInfo signal{};
    signal.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO;
    signal.semaphore = never_;
    signal.value = 1;
    vk_.vkSignalSemaphore(handle_, &signal);
  }
  vk_.vkDeviceWaitIdle(handle_);
  for (auto* lanes : {&idle_lanes_, &spent_lanes_})
    for (const Lane& lane : *lanes) {
      vk_.vkDestroyCommandPool(handle_, lane.pool, nullptr);
      vk_.vkDestroySemaphore(handle_, lane.timeline, nullptr);
    }
  pipelines_.reset();
  pinned_.reset();
  read_backs_.reset();
  uploads_.reset();
  memory_.reset();
  vk_.vkDestroySemaphore(handle_, never_, nullptr);
  vk_.vkDestroyDevice(handle_, nullptr);
}

void Device::lose(std::string_view why, const std::string& work) {
  const std::lock_guard lock(mutex_);
  if (!lost_) {
    lost_reason_ = "[vulkan] " + name() + " " + std::string(why) +
                   (work.empty() ? "" : " while it ran " + work) +
                   "; its tensors are gone, other devices continue";
    lost_ = true;
  }
  throw sdk::Error(TN_DEVICE_LOST, lost_reason_);
}

void Device::check_alive() const {
  check_validation();
  if (!lost_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(mutex_);
  throw sdk::Error(TN_DEVICE_LOST, lost_reason_);
}

void Device::check(VkResult result, std::string_view what, const std::string& work) {
  if (result == VK_ERROR_DEVICE_LOST) lose("was lost", work);
  check_vk(result, what);
}

void Device::inject(Fault::Kind kind) {
  if (options_.fault.kind != kind || ++injected_ != options_.fault.at) return;
  if (kind == Fault::kMemory)
    fail_vk(VK_ERROR_OUT_OF_DEVICE_MEMORY, "allocating (a failure made on purpose)");
  if (kind == Fault::kLost) lose("was lost (on purpose)", {});
  VkSemaphoreTypeCreateInfo type{};
  type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
  info.pNext = &type;
  check_vk(vk_.vkCreateSemaphore(handle_, &info, nullptr, &never_), "creating a semaphore");
}

VkSemaphore Device::stuck() {
  inject(Fault::kHang);
  return never_;
}

void Device::submit(uint32_t queue, const VkSubmitInfo& info, const std::string& work) {
  check_alive();
  inject(Fault::kLost);
  const std::lock_guard lock(queue_mutexes_[queue]);
  check(vk_.vkQueueSubmit(queues_[queue], 1, &info, VK_NULL_HANDLE), "submitting", work);
}

void Device::wait(VkSemaphore timeline, uint64_t value, const std::string& work) {
  check_alive();
  VkSemaphoreWaitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
  info.semaphoreCount = 1;
  info.pSemaphores = &timeline;
  info.pValues = &value;
  const VkResult result = [&] {
    const Waited here(physical_.index);
    return vk_.vkWaitSemaphores(handle_, &info, options_.timeout_ns);
  }();
  if (result == VK_TIMEOUT)
    lose("did not finish within " + std::to_string(options_.timeout_ns / 1'000'000'000) +
             " s (TENON_VULKAN_TIMEOUT)",
         work);
  check(result, "waiting", work);
}

uint64_t Device::reached(VkSemaphore timeline) {
  uint64_t value = 0;
  check(vk_.vkGetSemaphoreCounterValue(handle_, timeline, &value), "asking how far the device is");
  return value;
}

Lane Device::take_lane() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_lanes_.empty()) {
      Lane lane = std::move(idle_lanes_.back());
      idle_lanes_.pop_back();
      return lane;
    }
  }
  Lane lane;
  VkSemaphoreTypeCreateInfo type{};
  type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo semaphore{};
  semaphore.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
  semaphore.pNext = &type;
  check(vk_.vkCreateSemaphore(handle_, &semaphore, nullptr, &lane.timeline),
        "creating a semaphore");
  VkCommandPoolCreateInfo pool{};
  pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = physical_.queue_family;
  const VkResult result = vk_.vkCreateCommandPool(handle_, &pool, nullptr, &lane.pool);
  if (result < 0) {
    vk_.vkDestroySemaphore(handle_, lane.timeline, nullptr);
    check(result, "creating a command pool");
  }
  return lane;
}

void Device::give_back(Lane&& lane, bool is_idle) noexcept {
  const std::lock_guard lock(mutex_);
  (is_idle ? idle_lanes_ : spent_lanes_).push_back(std::move(lane));
}

void Device::add(const std::shared_ptr<Stream>& stream) {
  const std::lock_guard lock(mutex_);
  streams_.emplace(stream.get(), stream);
}

void Device::remove(Stream* stream) {
  const std::lock_guard lock(mutex_);
  streams_.erase(stream);
}

std::vector<std::shared_ptr<Stream>> Device::streams() {
  std::vector<std::shared_ptr<Stream>> all;
  const std::lock_guard lock(mutex_);
  for (const auto& [pointer, weak] : streams_)
    if (auto stream = weak.lock()) all.push_back(std::move(stream));
  return all;
}

void Device::flush() {
  for (const auto& stream : streams()) stream->flush();
}

void Device::synchronize() {
  for (const auto& stream : streams()) stream->synchronize();
  check_alive();
}

}  // namespace tenon::vulkan
