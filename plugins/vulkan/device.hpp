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

// What a stream submits through. Used again by later streams and never destroyed before the device: a driver may still look at a
// semaphore that it has just signalled.
struct Lane {
  VkSemaphore timeline = VK_NULL_HANDLE;
  VkCommandPool pool = VK_NULL_HANDLE;
  uint64_t value = 0;  // of the timeline
  std::vector<VkCommandBuffer> commands;
};

class Device {
 public:
  // `physical` and `options` outlive the device.
  Device(const Physical& physical, const Options& options);
  // Waits for what runs; a lost device is left to the driver.
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
  // So many at once keep any such device busy. A CPU is busy with few, and each costs it time.
  int64_t invocations() const { return is_cpu() ? 1 << 13 : 1 << 17; }
  bool is_cpu() const {
    return physical_.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU && !options_.spread;
  }

  Heap& memory() { return *memory_; }
  Heap& uploads() { return *uploads_; }
  Heap& read_backs() { return *read_backs_; }
  Pinned& pinned() { return *pinned_; }
  Pipelines& pipelines() { return *pipelines_; }

  // Streams share the queues; each keeps one. [thread-safe]
  uint32_t next_queue() { return next_queue_++ % queue_count_; }
  void submit(uint32_t queue, const VkSubmitInfo& info, const std::string& work);
  // What a submission waits for that is made to hang; VK_NULL_HANDLE otherwise.
  VkSemaphore stuck();
  // Waits until the timeline reaches `value`; a hang is a lost device. [thread-safe]
  void wait(VkSemaphore timeline, uint64_t value, const std::string& work);
  uint64_t reached(VkSemaphore timeline);

  // A lane with nothing left to do. [thread-safe]
  Lane take_lane();
  // `is_idle`: nothing of it runs any more, so it may be taken again.
  void give_back(Lane&& lane, bool is_idle) noexcept;

  void add(const std::shared_ptr<Stream>& stream);
  void remove(Stream* stream);
  // Whether matrix units are used: `try_them` is asked once. [thread-safe]
  template <class Try>
  bool cooperative(Try&& try_them) {
    std::call_once(tried_cooperative_, [&] { cooperative_ = try_them(); });
    return cooperative_;
  }

  // Submits what all streams have recorded; waits for all of them. [thread-safe]
  void flush();
  void synchronize();

  // Throws TN_DEVICE_LOST where the device has stopped working.
  void check_alive() const;
  // As check_vk, and remembers a lost device. `work`: what was running.
  void check(VkResult result, std::string_view what, const std::string& work = {});
  // Counts towards a failure made on purpose, and fails where it is due.
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
  VkSemaphore never_ = VK_NULL_HANDLE;  // what a hang made on purpose waits for
};

}  // namespace tenon::vulkan
