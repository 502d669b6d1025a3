// A logical device: its queue, memory, pipelines, and whether it still works.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "instance.hpp"
#include "memory.hpp"
#include "options.hpp"
#include "pinned.hpp"
#include "pipelines.hpp"

namespace tenon::vulkan {

class Stream;

// What a stream needs to submit. Later streams use it again; it lives as long as the device, because a driver may still look at a semaphore
// it has just signalled.
struct Lane {
  VkSemaphore timeline = VK_NULL_HANDLE;
  VkCommandPool pool = VK_NULL_HANDLE;
  uint64_t value = 0;  // the timeline's
  std::vector<VkCommandBuffer> commands;
};

class Device {
 public:
  // `physical` and `options` must outlive the device.
  Device(const Physical& physical, const Options& options);
  // Waits for running work, but not on a lost device.
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  VkDevice handle() const { return handle_; }
  const VolkDeviceTable& vk() const { return vk_; }
  const Physical& physical() const { return physical_; }
  const Options& options() const { return options_; }
  std::string name() const { return physical_.properties.deviceName; }
  // Shaders get addresses; otherwise buffers are bound.
  bool addresses() const { return addresses_; }
  uint32_t group_size() const { return group_size_; }
  // Whether rows are reduced by subgroups, which fill a workgroup. A CPU's invocations have them in their own vectors anyway.
  bool subgroups() const {
    return physical_.subgroups && options_.subgroups && !is_cpu() &&
           group_size_ % physical_.subgroup_size == 0;
  }
  // This many invocations keep any such device busy. A CPU needs few, and each costs it time.
  int64_t invocations() const { return is_cpu() ? 1 << 13 : 1 << 17; }
  bool is_cpu() const {
    return physical_.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU && !options_.spread;
  }

  Heap& memory() { return *memory_; }
  Heap& uploads() { return *uploads_; }
  Heap& read_backs() { return *read_backs_; }
  Pinned& pinned() { return *pinned_; }
  Pipelines& pipelines() { return *pipelines_; }

  // Streams share the queues; each stays on one. [thread-safe]
  uint32_t next_queue() { return next_queue_++ % queue_count_; }
  void submit(uint32_t queue, const VkSubmitInfo& info, const std::string& work);
  // A hang on purpose waits for this; otherwise VK_NULL_HANDLE.
  VkSemaphore stuck();
  // Waits until the timeline reaches `value`. A hang counts as a lost device. [thread-safe]
  void wait(VkSemaphore timeline, uint64_t value, const std::string& work);
  uint64_t reached(VkSemaphore timeline);

  // A lane with nothing left to do. [thread-safe]
  Lane take_lane();
  // `is_idle`: none of its work runs any more, so it can be reused.
  void give_back(Lane&& lane, bool is_idle) noexcept;

  void add(const std::shared_ptr<Stream>& stream);
  void remove(Stream* stream);
  // Whether matrix units are used. Calls `try_them` once. [thread-safe]
  template <class Try>
  bool cooperative(Try&& try_them) {
    std::call_once(tried_cooperative_, [&] { cooperative_ = try_them(); });
    return cooperative_;
  }

  // Submits everything that streams have recorded, and waits for it. [thread-safe]
  void flush();
  void synchronize();

  // Throws TN_DEVICE_LOST if the device has stopped working.
  void check_alive() const;
  // Like check_vk, but remembers a lost device. `work`: what was running.
  void check(VkResult result, std::string_view what, const std::string& work = {});
  // Counts towards a failure on purpose, and fails when it is due.
  void inject(Fault::Kind kind);

 private:
  void create();
  std::vector<std::shared_ptr<Stream>> streams();
  [[noreturn]] void lose(std::string_view why, const std::string& work);

  static constexpr uint32_t kMaxQueues = 4;

  const Physical& physical_;
  const Options& options_;
  VkDevice handle_ = VK_NULL_HANDLE;
  VolkDeviceTable vk_{};
  VkQueue queues_[kMaxQueues]{};
  std::mutex queue_mutexes_[kMaxQueues];
  uint32_t queue_count_ = 1;
  std::atomic<uint32_t> next_queue_{0};
  bool addresses_ = false;
  uint32_t group_size_ = 128;

  std::unique_ptr<Heap> memory_, uploads_, read_backs_;
  std::unique_ptr<Pinned> pinned_;
  std::unique_ptr<Pipelines> pipelines_;

  std::once_flag tried_cooperative_;
  bool cooperative_ = false;
  mutable std::mutex mutex_;
  std::map<Stream*, std::weak_ptr<Stream>> streams_;
  std::vector<Lane> idle_lanes_, spent_lanes_;
  std::atomic<bool> lost_{false};
  std::string lost_reason_;
  std::atomic<uint64_t> injected_{0};
  VkSemaphore never_ = VK_NULL_HANDLE;  // a hang on purpose waits for this
};

}  // namespace tenon::vulkan
