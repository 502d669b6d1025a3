// Batches: opened, submitted, waited for, and cleaned up. record.cpp fills them.
#include "stream.hpp"

#include <algorithm>
#include <cstring>

#include "device.hpp"

namespace tenon::vulkan {
namespace {

constexpr VkDeviceSize kUploadRing = VkDeviceSize{8} << 20, kReadBackRing = VkDeviceSize{4} << 20;
// A batch is submitted when it holds this much, or earlier if the device would be idle.
constexpr uint32_t kMostOps = 256, kLookEvery = 16;
constexpr uint32_t kSetsOfPool = kMostOps;

}  // namespace

std::shared_ptr<Stream> Stream::create(Device& device) {
  auto made = std::make_shared<Stream>(device);
  device.add(made);
  return made;
}

Stream::Stream(Device& device)
    : device_(device),
      queue_(device.next_queue()),
      lane_(device.take_lane()),
      submitted_(lane_.value),
      done_(lane_.value),
      uploads_(device.uploads(), kUploadRing),
      read_backs_(device.read_backs(), kReadBackRing) {
  touched_.reserve(64);
}

Stream::~Stream() {
  const auto& vk = device_.vk();
  device_.remove(this);
  // A lost device does not answer; a working one has nothing left to do here.
  try {
    if (!running_.empty()) reap(device_.reached(lane_.timeline));
  } catch (const sdk::Error&) {
  }
  if (is_open_) running_.push_back(std::move(current_));
  const bool is_idle = running_.empty();
  for (Batch& batch : running_) {
    for (Buffer* buffer : batch.kept) device_.memory().free(buffer);
    if (batch.sets != VK_NULL_HANDLE) free_sets_.push_back(batch.sets);
    if (batch.clocks != VK_NULL_HANDLE) free_clocks_.push_back(batch.clocks);
  }
  for (VkQueryPool clocks : free_clocks_) vk.vkDestroyQueryPool(device_.handle(), clocks, nullptr);
  for (VkDescriptorPool sets : free_sets_)
    vk.vkDestroyDescriptorPool(device_.handle(), sets, nullptr);
  lane_.value = submitted_;
  device_.give_back(std::move(lane_), is_idle);
}

// ---- Batches ------------------------------------------------------------------------------------------------------------

VkCommandBuffer Stream::new_commands() {
  if (!lane_.commands.empty()) {
    const VkCommandBuffer reused = lane_.commands.back();
    lane_.commands.pop_back();
    return reused;
  }
  VkCommandBufferAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  info.commandPool = lane_.pool;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  VkCommandBuffer made = VK_NULL_HANDLE;
  device_.check(device_.vk().vkAllocateCommandBuffers(device_.handle(), &info, &made),
                "allocating commands");
  return made;
}

VkDescriptorPool Stream::new_sets() {
  if (!free_sets_.empty()) {
    const VkDescriptorPool reused = free_sets_.back();
    free_sets_.pop_back();
    device_.vk().vkResetDescriptorPool(device_.handle(), reused, 0);
    return reused;
  }
  const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, kSetsOfPool * kSlots};
  VkDescriptorPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  info.maxSets = kSetsOfPool;
  info.poolSizeCount = 1;
  info.pPoolSizes = &size;
  VkDescriptorPool made = VK_NULL_HANDLE;
  device_.check(device_.vk().vkCreateDescriptorPool(device_.handle(), &info, nullptr, &made),
                "allocating descriptors");
  return made;
}

VkQueryPool Stream::new_clocks() {
  if (!free_clocks_.empty()) {
    const VkQueryPool reused = free_clocks_.back();
    free_clocks_.pop_back();
    return reused;
  }
  VkQueryPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = kMostOps + 1;
  VkQueryPool made = VK_NULL_HANDLE;
  device_.check(device_.vk().vkCreateQueryPool(device_.handle(), &info, nullptr, &made),
                "creating clocks");
  return made;
}

Stream::Batch& Stream::open() {
  if (is_open_) return current_;
  device_.check_alive();
  // Frees the memory of batches that have finished meanwhile.
  if (!running_.empty()) reap(device_.reached(lane_.timeline));
  auto waits = std::move(current_.waits);
  current_ = Batch();
  current_.waits = std::move(waits);
  current_.commands = new_commands();
  current_.value = submitted_ + 1;
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  const VkResult result = device_.vk().vkBeginCommandBuffer(current_.commands, &begin);
  if (result < 0) {
    lane_.commands.push_back(current_.commands);
    device_.check(result, "recording");
  }
  bound_ = VK_NULL_HANDLE;
  is_open_ = true;
  if (profile().on() && device_.physical().timestamp_mask != 0) {
    current_.clocks = new_clocks();
    device_.vk().vkCmdResetQueryPool(current_.commands, current_.clocks, 0, kMostOps + 1);
    device_.vk().vkCmdWriteTimestamp(current_.commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                                     current_.clocks, 0);
  }
  return current_;
}

std::string Stream::work_of(const Batch& batch) const {
  if (batch.last == nullptr) return "a copy";
  return "'" + std::string(batch.last->name) + "' or one of the " + std::to_string(batch.ops) +
         " calls before it";
}

void Stream::submit() {
  if (!is_open_) return;
  const auto& vk = device_.vk();
  if (!current_.read_backs.empty() || !current_.notes.empty() || current_.writes_host) {
    const VkMemoryBarrier to_host{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr,
                                  VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_SHADER_WRITE_BIT,
                                  VK_ACCESS_HOST_READ_BIT};
    vk.vkCmdPipelineBarrier(current_.commands,
                            VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                            VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &to_host, 0, nullptr, 0, nullptr);
  }
  const std::string work = work_of(current_);
  is_open_ = false;
  device_.check(vk.vkEndCommandBuffer(current_.commands), "recording", work);
  current_.upload_end = uploads_.head();
  current_.read_back_end = read_backs_.head();

  std::vector<VkSemaphore> semaphores;
  std::vector<uint64_t> values;
  for (const auto& [stream, value] : current_.waits) {
    semaphores.push_back(stream->lane_.timeline);
    values.push_back(value);
  }
  if (const VkSemaphore stuck = device_.stuck(); stuck != VK_NULL_HANDLE) {
    semaphores.push_back(stuck);
    values.push_back(1);
  }
  const std::vector<VkPipelineStageFlags> stages(semaphores.size(),
                                                 VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
  VkTimelineSemaphoreSubmitInfo timeline{};
  timeline.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
  timeline.waitSemaphoreValueCount = static_cast<uint32_t>(values.size());
  timeline.pWaitSemaphoreValues = values.data();
  timeline.signalSemaphoreValueCount = 1;
  timeline.pSignalSemaphoreValues = &current_.value;
  VkSubmitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  info.pNext = &timeline;
  info.waitSemaphoreCount = static_cast<uint32_t>(semaphores.size());
  info.pWaitSemaphores = semaphores.data();
  info.pWaitDstStageMask = stages.data();
  info.commandBufferCount = 1;
  info.pCommandBuffers = &current_.commands;
  info.signalSemaphoreCount = 1;
  info.pSignalSemaphores = &lane_.timeline;
  device_.submit(queue_, info, work);
  submitted_ = current_.value;
  running_.push_back(std::move(current_));
  current_ = Batch();
}

void Stream::read_note(const Note& note) {
  if (note.at[0] == 0 || !out_of_range_.empty()) return;
  const auto index = static_cast<int64_t>(note.at[1] | static_cast<uint64_t>(note.at[2]) << 32);
  out_of_range_ = std::string("[") + note.check.op + "] index " + std::to_string(index) +
                  " at position " + std::to_string(note.at[3]) + " out of range for dimension " +
                  std::to_string(note.check.dim) + " of size " + std::to_string(note.check.size);
}

void Stream::retire(Batch& batch) {
  for (const ReadBack& read : batch.read_backs) std::memcpy(read.to, read.from, read.bytes);
  for (const Note& note : batch.notes) read_note(note);
  if (batch.clocks != VK_NULL_HANDLE) read_clocks(batch);
  for (Buffer* buffer : batch.kept) device_.memory().free(buffer);
  uploads_.release(batch.upload_end);
  read_backs_.release(batch.read_back_end);
  lane_.commands.push_back(batch.commands);
  if (batch.sets != VK_NULL_HANDLE) free_sets_.push_back(batch.sets);
}

// A call's time is from the end of the previous calls to its own end, so overlaps count once.
void Stream::stamp(const char* what) {
  if (current_.clocks == VK_NULL_HANDLE) return;
  current_.stamps.emplace_back(Profile::label_of_span(), what);
  device_.vk().vkCmdWriteTimestamp(current_.commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                                   current_.clocks, static_cast<uint32_t>(current_.stamps.size()));
}

void Stream::read_clocks(const Batch& batch) {
  free_clocks_.push_back(batch.clocks);
  uint64_t ticks[kMostOps + 1];
  const auto count = static_cast<uint32_t>(batch.stamps.size() + 1);
  if (device_.vk().vkGetQueryPoolResults(device_.handle(), batch.clocks, 0, count, sizeof ticks,
                                         ticks, sizeof *ticks,
                                         VK_QUERY_RESULT_64_BIT) != VK_SUCCESS)
    return;
  const Physical& p = device_.physical();
  const auto seconds = [&](uint64_t at) {
    return static_cast<double>(at & p.timestamp_mask) *
           static_cast<double>(p.properties.limits.timestampPeriod) * 1e-9;
  };
  for (uint32_t i = 0; i + 1 < count; ++i)
    profile().add(batch.stamps[i].first, TN_PROFILER_RAN, p.index, batch.stamps[i].second,
                  seconds(ticks[i]), seconds(ticks[i + 1]));
}

void Stream::reap(uint64_t value) {
  done_ = std::max(done_, value);
  while (!running_.empty() && running_.front().value <= value) {
    retire(running_.front());
    running_.pop_front();
  }
}

void Stream::wait_oldest() {
  submit();
  if (running_.empty()) return;
  const uint64_t value = running_.front().value;
  device_.wait(lane_.timeline, value, work_of(running_.front()));
  reap(value);
}

void Stream::recorded(const Shader* shader, const char* what) {
  stamp(what);
  if (shader != nullptr) current_.last = shader;
  const uint32_t ops = ++current_.ops;
  if (ops >= kMostOps) {
    submit();
  } else if (ops % kLookEvery == 0) {
    if (done_ < submitted_) reap(device_.reached(lane_.timeline));
    if (done_ == submitted_) submit();  // the device is idle
  }
}

// ---- Order between streams, and waiting ---------------------------------------------------------------------------------

uint64_t Stream::mark(VkQueryPool clock) {
  const std::lock_guard lock(mutex_);
  if (!current_.waits.empty()) open();  // the mark comes after what is waited for
  if (clock != VK_NULL_HANDLE) {
    Batch& batch = open();
    device_.vk().vkCmdResetQueryPool(batch.commands, clock, 0, 1);
    device_.vk().vkCmdWriteTimestamp(batch.commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, clock,
                                     0);
  }
  return is_open_ ? current_.value : submitted_;
}

void Stream::wait_for(const std::shared_ptr<Stream>& other, uint64_t value) {
  if (other.get() == this) return;
  other->flush();
  const std::lock_guard lock(mutex_);
  // Submits without waiting: two streams waiting for each other's earlier work would never end.
  submit();
  current_.waits.emplace_back(other, value);
}

void Stream::flush() {
  const std::lock_guard lock(mutex_);
  submit();
}

bool Stream::reached(uint64_t value) {
  const std::lock_guard lock(mutex_);
  if (value > submitted_) submit();
  reap(device_.reached(lane_.timeline));
  return done_ >= value;
}

void Stream::wait(uint64_t value) {
  std::string work;
  {
    const std::lock_guard lock(mutex_);
    if (value > submitted_) submit();
    if (done_ >= value && running_.empty()) return;
    if (!running_.empty()) work = work_of(running_.back());
  }
  if (value != 0) device_.wait(lane_.timeline, value, work);
  check_validation();
  const std::lock_guard lock(mutex_);
  reap(value);
}

void Stream::finish() {
  device_.check_alive();
  uint64_t value = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!current_.waits.empty()) open();
    value = is_open_ ? current_.value : submitted_;
  }
  wait(value);
  device_.pipelines().save_now_and_then();
}

void Stream::report() {
  std::string text;
  {
    const std::lock_guard lock(mutex_);
    text.swap(out_of_range_);
  }
  if (!text.empty()) throw sdk::Error(TN_OUT_OF_RANGE, text);
}

}  // namespace tenon::vulkan
