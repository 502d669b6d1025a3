#include "pipelines.hpp"

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "device.hpp"

namespace tenon::vulkan {

size_t PipelineHash::operator()(const PipelineKey& key) const {
  uint64_t hash = reinterpret_cast<uintptr_t>(key.shader) ^
                  (static_cast<uint64_t>(key.compute) << 56) ^
                  (static_cast<uint64_t>(key.group_size) << 40);
  for (const uint32_t c : key.constants) hash = (hash ^ c) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

Pipelines::Pipelines(Device& device) : device_(device) {
  const auto& vk = device_.vk();
  VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, kSlots * 8 + kWords * 4};
  VkPipelineLayoutCreateInfo layout{};
  layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &push;
  if (!device_.addresses()) {
    VkDescriptorSetLayoutBinding bindings[kSlots]{};
    for (uint32_t k = 0; k < kSlots; ++k)
      bindings[k] = {k, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
    VkDescriptorSetLayoutCreateInfo set{};
    set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    set.bindingCount = kSlots;
    set.pBindings = bindings;
    check_vk(vk.vkCreateDescriptorSetLayout(device_.handle(), &set, nullptr, &set_layout_),
             "creating a set layout");
    layout.setLayoutCount = 1;
    layout.pSetLayouts = &set_layout_;
  }
  check_vk(vk.vkCreatePipelineLayout(device_.handle(), &layout, nullptr, &layout_),
           "creating a pipeline layout");
  const std::string known = cache_file().read();
  VkPipelineCacheCreateInfo cache{};
  cache.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
  cache.initialDataSize = known.size();
  cache.pInitialData = known.data();
  check_vk(vk.vkCreatePipelineCache(device_.handle(), &cache, nullptr, &cache_),
           "creating a pipeline cache");
}

Pipelines::~Pipelines() {
  save();
  const auto& vk = device_.vk();
  for (const auto& [key, pipeline] : made_)
    vk.vkDestroyPipeline(device_.handle(), pipeline, nullptr);
  vk.vkDestroyPipelineCache(device_.handle(), cache_, nullptr);
  vk.vkDestroyPipelineLayout(device_.handle(), layout_, nullptr);
  vk.vkDestroyDescriptorSetLayout(device_.handle(), set_layout_, nullptr);
}

VkPipeline Pipelines::get(const PipelineKey& key) {
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = made_.find(key); found != made_.end()) return found->second;
  }
  // Compiles outside the lock, so that other threads can continue. If two compile the same, the first is kept.
  const VkPipeline pipeline = create(key);
  const std::unique_lock lock(mutex_);
  const auto [place, is_new] = made_.emplace(key, pipeline);
  count_ = made_.size();
  if (!is_new) device_.vk().vkDestroyPipeline(device_.handle(), pipeline, nullptr);
  return place->second;
}

VkPipeline Pipelines::create(const PipelineKey& key) {
  const auto& vk = device_.vk();
  const ShaderModule& code =
      key.shader->modules[static_cast<size_t>(key.compute)][device_.addresses() ? 0 : 1];
  if (code.words == nullptr)
    sdk::fail(TN_INTERNAL, "[vulkan] shader ", key.shader->name,
              " was not compiled for this dtype");
  VkShaderModuleCreateInfo source{};
  source.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  source.codeSize = code.bytes;
  source.pCode = code.words;
  VkShaderModule module = VK_NULL_HANDLE;
  check_vk(vk.vkCreateShaderModule(device_.handle(), &source, nullptr, &module),
           "reading a shader");

  uint32_t values[kConstants + 1] = {key.group_size};
  std::memcpy(values + 1, key.constants.data(), sizeof key.constants);
  VkSpecializationMapEntry entries[kConstants + 1];
  for (uint32_t i = 0; i <= kConstants; ++i) entries[i] = {i, i * 4, 4};
  const VkSpecializationInfo special{kConstants + 1, entries, sizeof values, values};
  VkComputePipelineCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = &special;
  info.layout = layout_;
  VkPipeline pipeline = VK_NULL_HANDLE;
  const VkResult result =
      vk.vkCreateComputePipelines(device_.handle(), cache_, 1, &info, nullptr, &pipeline);
  vk.vkDestroyShaderModule(device_.handle(), module, nullptr);
  device_.check(result, std::string("compiling shader ") + key.shader->name);
  return pipeline;
}

// ---- On disk ------------------------------------------------------------------------------------------------------------

// A separate file for each device and driver: no driver is given another's data.
CacheFile Pipelines::cache_file() const {
  const auto& physical = device_.physical();
  char name[96];
  int used = std::snprintf(name, sizeof name, "%08x-%08x-%08x-", physical.properties.vendorID,
                           physical.properties.deviceID, physical.properties.driverVersion);
  for (const uint8_t byte : physical.pipeline_cache_id)
    used += std::snprintf(name + used, sizeof name - static_cast<size_t>(used), "%02x", byte);
  return {device_.options().cache,
          name + std::string(device_.addresses() ? "" : "-bound") + ".pipelines"};
}

// Failing is not an error, since it is only a cache.
void Pipelines::save() noexcept {
  try {
    if (device_.options().cache.empty() || saved_ == made_.size()) return;
    saved_ = made_.size();
    saved_at_ = std::chrono::steady_clock::now();
    size_t bytes = 0;
    const auto& vk = device_.vk();
    if (vk.vkGetPipelineCacheData(device_.handle(), cache_, &bytes, nullptr) != VK_SUCCESS) return;
    std::vector<char> data(bytes);
    if (vk.vkGetPipelineCacheData(device_.handle(), cache_, &bytes, data.data()) != VK_SUCCESS)
      return;
    cache_file().write({data.data(), bytes});
  } catch (...) {
  }
}

void Pipelines::save_now_and_then() noexcept {
  if (count_.load(std::memory_order_relaxed) == saved_.load(std::memory_order_relaxed)) return;
  const std::unique_lock lock(mutex_);
  if (std::chrono::steady_clock::now() - saved_at_ > std::chrono::seconds(1)) save();
}

}  // namespace tenon::vulkan
