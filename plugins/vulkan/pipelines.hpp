// Compute pipelines, made when first used and stored on disk between runs.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>

#include "../common/cache_file.hpp"
#include "shader.hpp"
#include "vk.hpp"

namespace tenon::vulkan {

class Device;

inline constexpr uint32_t kSlots = 8;   // buffers for one dispatch
inline constexpr uint32_t kWords = 16;  // 32-bit numbers for one dispatch
// Specialization constants, besides the workgroup size.
inline constexpr uint32_t kConstants = 10;

// A shader with its specialization constants.
struct PipelineKey {
  const Shader* shader = nullptr;
  Compute compute = Compute::kF32;
  uint32_t group_size = 0;
  std::array<uint32_t, kConstants> constants{};
  bool operator==(const PipelineKey&) const = default;
};
struct PipelineHash {
  size_t operator()(const PipelineKey& key) const;
};

class Pipelines {
 public:
  explicit Pipelines(Device& device);
  ~Pipelines();
  Pipelines(const Pipelines&) = delete;
  Pipelines& operator=(const Pipelines&) = delete;

  // [thread-safe]
  VkPipeline get(const PipelineKey& key);
  // Writes new pipelines to disk, at most once a second, because a process may end without notice.
  void save_now_and_then() noexcept;
  VkPipelineLayout layout() const { return layout_; }
  VkDescriptorSetLayout set_layout() const { return set_layout_; }

 private:
  VkPipeline create(const PipelineKey& key);
  CacheFile cache_file() const;
  void save() noexcept;

  Device& device_;
  VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;  // only if buffers are bound
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  std::shared_mutex mutex_;
  std::unordered_map<PipelineKey, VkPipeline, PipelineHash> made_;
  std::atomic<size_t> count_{0},
      saved_{0};  // number of pipelines, and that number at the last write
  std::chrono::steady_clock::time_point saved_at_;
};

}  // namespace tenon::vulkan
