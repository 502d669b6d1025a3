#include "stream.hpp"

#include <algorithm>
#include <cstring>

#include "device.hpp"

namespace tenon::vulkan {
namespace {

constexpr VkDeviceSize kUploadRing = VkDeviceSize{8} << 20, kReadBackRing = VkDeviceSize{4} << 20;
// A batch is submitted when it holds this much, or earlier where the device has nothing else to do.
constexpr uint32_t kMostOps = 256, kLookEvery = 16;
constexpr uint32_t kSetsOfPool = kMostOps;
constexpr VkDeviceSize kNoteBytes = 16;
// Beyond this many stretches a barrier is cheaper than looking through them.
constexpr size_t kMostTouched = 48;

bool overlap(const Use& a, const Use& b) {
  return a.block == b.block && a.begin < b.end && b.begin < a.end;
}

}  // namespace

std::shared_ptr<Stream> Stream::create(Device& device) {
  auto made = std::make_shared<Stream>(device);
  device.add(made);
  return made;
}

Stream::Stream(Device& device)
    : device_(device),
      queue_(device.next_queue()),
      uploads_(device.uploads(), kUploadRing),
      read_backs_(device.read_backs(), kReadBackRing) {
  const auto& vk = device_.vk();
  VkSemaphoreTypeCreateInfo type{};
  type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo semaphore{};
  semaphore.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
  semaphore.pNext = &type;
  device_.check(vk.vkCreateSemaphore(device_.handle(), &semaphore, nullptr, &timeline_),
                "creating a semaphore");
  VkCommandPoolCreateInfo pool{};
  pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = device_.physical().queue_family;
  const VkResult result = vk.vkCreateCommandPool(device_.handle(), &pool, nullptr, &pool_);
  if (result < 0) {
    vk.vkDestroySemaphore(device_.handle(), timeline_, nullptr);
    fail_vk(result, "creating a command pool");
  }
  touched_.reserve(kMostTouched + kSlots);
}

Stream::~Stream() {
  const auto& vk = device_.vk();
  device_.remove(this);
  if (is_open_) running_.push_back(std::move(current_));
  // A device that is lost does not answer; one that works has nothing left to do here.
  for (Batch& batch : running_) {
    for (Buffer* buffer : batch.kept) device_.memory().free(buffer);
    if (batch.sets != VK_NULL_HANDLE) free_sets_.push_back(batch.sets);
  }
  for (VkDescriptorPool sets : free_sets_)
    vk.vkDestroyDescriptorPool(device_.handle(), sets, nullptr);
  vk.vkDestroyCommandPool(device_.handle(), pool_, nullptr);
  vk.vkDestroySemaphore(device_.handle(), timeline_, nullptr);
}

// ---- Batches ------------------------------------------------------------------------------------------------------------

VkCommandBuffer Stream::new_commands() {
  if (!free_commands_.empty()) {
    const VkCommandBuffer reused = free_commands_.back();
    free_commands_.pop_back();
    return reused;
  }
  VkCommandBufferAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  info.commandPool = pool_;
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

Stream::Batch& Stream::open() {
  if (is_open_) return current_;
  device_.check_alive();
  // What has been done meanwhile gives back its memory.
  if (!running_.empty()) reap(device_.reached(timeline_));
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
    free_commands_.push_back(current_.commands);
    device_.check(result, "recording");
  }
  bound_ = VK_NULL_HANDLE;
  is_open_ = true;
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
  if (!current_.read_backs.empty() || !current_.notes.empty()) {
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
    semaphores.push_back(stream->timeline_);
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
  info.pSignalSemaphores = &timeline_;
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
  for (Buffer* buffer : batch.kept) device_.memory().free(buffer);
  uploads_.release(batch.upload_end);
  read_backs_.release(batch.read_back_end);
  free_commands_.push_back(batch.commands);
  if (batch.sets != VK_NULL_HANDLE) free_sets_.push_back(batch.sets);
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
  device_.wait(timeline_, value, work_of(running_.front()));
  reap(value);
}

void Stream::recorded(const Shader* shader) {
  if (shader != nullptr) current_.last = shader;
  const uint32_t ops = ++current_.ops;
  if (ops >= kMostOps) {
    submit();
  } else if (ops % kLookEvery == 0) {
    if (done_ < submitted_) reap(device_.reached(timeline_));
    if (done_ == submitted_) submit();  // the device is idle
  }
}

// ---- Hazards ------------------------------------------------------------------------------------------------------------

void Stream::barrier() {
  constexpr VkAccessFlags kAll = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                                 VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  constexpr VkPipelineStageFlags kStages =
      VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
  const VkMemoryBarrier memory{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr,
                               VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT, kAll};
  device_.vk().vkCmdPipelineBarrier(current_.commands, kStages, kStages, 0, 1, &memory, 0, nullptr,
                                    0, nullptr);
  touched_.clear();
}

// A barrier where one of the uses meets an earlier one since the last barrier and either writes.
void Stream::use(const Use* uses, uint32_t count) {
  const auto meets = [&](const Use& earlier) {
    for (uint32_t i = 0; i < count; ++i)
      if ((earlier.write || uses[i].write) && overlap(earlier, uses[i])) return true;
    return false;
  };
  if (touched_.size() > kMostTouched || std::any_of(touched_.begin(), touched_.end(), meets))
    barrier();
  touched_.insert(touched_.end(), uses, uses + count);
}

// ---- Recording ----------------------------------------------------------------------------------------------------------

VkDeviceSize Stream::upload_space(VkDeviceSize bytes) {
  for (;;) {
    const VkDeviceSize offset = uploads_.take(bytes);
    if (offset != Ring::kNone) return offset;
    wait_oldest();
  }
}

VkDeviceSize Stream::read_back_space(VkDeviceSize bytes) {
  for (;;) {
    const VkDeviceSize offset = read_backs_.take(bytes);
    if (offset != Ring::kNone) return offset;
    wait_oldest();
  }
}

void Stream::bind(const Dispatch& dispatch, VkDeviceSize local, VkDeviceSize note) {
  const auto& vk = device_.vk();
  struct {
    uint64_t slots[kSlots];
    uint32_t words[kWords];
  } push{};
  std::memcpy(push.words, dispatch.words, sizeof push.words);
  VkDescriptorBufferInfo buffers[kSlots];
  for (uint32_t k = 0; k < dispatch.slot_count; ++k) {
    const Dispatch::Slot& slot = dispatch.slots[k];
    const bool is_note = dispatch.check.op != nullptr && k == dispatch.check_slot;
    const Buffer& buffer = slot.buffer != nullptr ? *slot.buffer
                           : is_note              ? read_backs_.buffer()
                                                  : uploads_.buffer();
    const VkDeviceSize offset = slot.offset + (slot.buffer != nullptr ? 0 : is_note ? note : local);
    if (device_.addresses()) {
      push.slots[k] = buffer.address() + offset;
      continue;
    }
    // From the last place that may be bound; the shader gets the rest.
    const VkDeviceSize from = offset / Heap::kAlignment * Heap::kAlignment;
    const VkDeviceSize range = std::max<VkDeviceSize>(offset - from + slot.bytes, 16);
    push.slots[k] = offset - from;
    buffers[k] = {buffer.handle(), buffer.offset + from, (range + 15) / 16 * 16};
    if (buffers[k].range > device_.physical().properties.limits.maxStorageBufferRange)
      sdk::fail(TN_UNIMPLEMENTED, "[vulkan] ", device_.name(), " binds at most ",
                device_.physical().properties.limits.maxStorageBufferRange, " bytes; a tensor has ",
                range);
  }
  if (!device_.addresses()) {
    if (current_.sets == VK_NULL_HANDLE) current_.sets = new_sets();
    ++current_.bound;
    const VkDescriptorSetLayout layout = device_.pipelines().set_layout();
    VkDescriptorSetAllocateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, nullptr,
                                     current_.sets, 1, &layout};
    VkDescriptorSet set = VK_NULL_HANDLE;
    device_.check(vk.vkAllocateDescriptorSets(device_.handle(), &info, &set),
                  "allocating descriptors");
    VkWriteDescriptorSet writes[kSlots]{};
    for (uint32_t k = 0; k < kSlots; ++k) {
      writes[k].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
      writes[k].dstSet = set;
      writes[k].dstBinding = k;
      writes[k].descriptorCount = 1;
      writes[k].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
      writes[k].pBufferInfo = &buffers[k < dispatch.slot_count ? k : 0];
    }
    vk.vkUpdateDescriptorSets(device_.handle(), kSlots, writes, 0, nullptr);
    vk.vkCmdBindDescriptorSets(current_.commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                               device_.pipelines().layout(), 0, 1, &set, 0, nullptr);
  }
  vk.vkCmdPushConstants(current_.commands, device_.pipelines().layout(),
                        VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push, &push);
}

void Stream::dispatch(const Dispatch& dispatch) {
  const VkPipeline pipeline = device_.pipelines().get(dispatch.key);
  const std::lock_guard lock(mutex_);
  VkDeviceSize local = 0, note = 0;
  const bool checks = dispatch.check.op != nullptr;
  // Both anew after a wait: what was taken before it belongs to the batch that was submitted.
  for (;;) {
    if (dispatch.local_size != 0) local = uploads_.take(dispatch.local_size);
    if (checks) note = read_backs_.take(kNoteBytes);
    if (local != Ring::kNone && note != Ring::kNone) break;
    wait_oldest();
  }
  if (dispatch.local_size != 0)
    std::memcpy(uploads_.at(local), dispatch.local, dispatch.local_size);
  Batch& batch = open();
  if (checks) {
    std::memset(read_backs_.at(note), 0, kNoteBytes);
    batch.notes.push_back(
        {reinterpret_cast<const uint32_t*>(read_backs_.at(note)), dispatch.check});
  }
  Use uses[kSlots];
  uint32_t count = 0;
  for (uint32_t k = 0; k < dispatch.slot_count; ++k) {
    const auto& slot = dispatch.slots[k];
    if (slot.buffer == nullptr) continue;
    VkDeviceSize begin = slot.buffer->offset + slot.offset, end = begin + slot.bytes;
    // What is bound counts as used: validation cannot know better.
    if (!device_.addresses()) {
      begin = begin / Heap::kAlignment * Heap::kAlignment;
      end = (end + 15) / 16 * 16;
    }
    uses[count++] = {slot.buffer->block, begin, end, slot.write};
  }
  use(uses, count);
  const auto& vk = device_.vk();
  if (bound_ != pipeline)
    vk.vkCmdBindPipeline(batch.commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  bound_ = pipeline;
  bind(dispatch, local, note);
  vk.vkCmdDispatch(batch.commands, dispatch.groups[0], dispatch.groups[1], dispatch.groups[2]);
  recorded(dispatch.key.shader);
}

void Stream::copy_in(const void* from, const Buffer& to, VkDeviceSize offset, VkDeviceSize bytes) {
  const std::lock_guard lock(mutex_);
  for (VkDeviceSize done = 0; done < bytes;) {
    const VkDeviceSize piece = std::min(bytes - done, uploads_.piece());
    const VkDeviceSize place = upload_space(piece);
    std::memcpy(uploads_.at(place), static_cast<const char*>(from) + done, piece);
    Batch& batch = open();
    const VkDeviceSize begin = to.offset + offset + done;
    const Use written{to.block, begin, begin + piece, true};
    use(&written, 1);
    const VkBufferCopy copy{uploads_.buffer().offset + place, begin, piece};
    device_.vk().vkCmdCopyBuffer(batch.commands, uploads_.buffer().handle(), to.handle(), 1, &copy);
    recorded(nullptr);
    done += piece;
  }
}

void Stream::copy_out(const Buffer& from, VkDeviceSize offset, void* to, VkDeviceSize bytes) {
  const std::lock_guard lock(mutex_);
  for (VkDeviceSize done = 0; done < bytes;) {
    const VkDeviceSize piece = std::min(bytes - done, read_backs_.piece());
    const VkDeviceSize place = read_back_space(piece);
    Batch& batch = open();
    const VkDeviceSize begin = from.offset + offset + done;
    const Use read{from.block, begin, begin + piece, false};
    use(&read, 1);
    const VkBufferCopy copy{begin, read_backs_.buffer().offset + place, piece};
    device_.vk().vkCmdCopyBuffer(batch.commands, from.handle(), read_backs_.buffer().handle(), 1,
                                 &copy);
    batch.read_backs.push_back({static_cast<char*>(to) + done, read_backs_.at(place), piece});
    recorded(nullptr);
    done += piece;
  }
}

void Stream::copy_within(const Buffer& from, VkDeviceSize from_offset, const Buffer& to,
                         VkDeviceSize to_offset, VkDeviceSize bytes) {
  if (bytes == 0) return;
  const std::lock_guard lock(mutex_);
  const auto copy = [&](const Buffer& a, VkDeviceSize a_offset, const Buffer& b,
                        VkDeviceSize b_offset) {
    const VkDeviceSize read = a.offset + a_offset, write = b.offset + b_offset;
    const Use uses[] = {{a.block, read, read + bytes, false},
                        {b.block, write, write + bytes, true}};
    use(uses, 2);
    const VkBufferCopy region{read, write, bytes};
    device_.vk().vkCmdCopyBuffer(current_.commands, a.handle(), b.handle(), 1, &region);
  };
  const VkDeviceSize read = from.offset + from_offset, write = to.offset + to_offset;
  const bool crossing =
      overlap({from.block, read, read + bytes, false}, {to.block, write, write + bytes, true});
  // Vulkan copies no range onto itself: by way of another place then.
  Buffer* between = crossing ? device_.memory().allocate(bytes) : nullptr;
  Batch& batch = open();
  if (between != nullptr) {
    batch.kept.push_back(between);
    copy(from, from_offset, *between, 0);
    copy(*between, 0, to, to_offset);
  } else {
    copy(from, from_offset, to, to_offset);
  }
  recorded(nullptr);
}

void Stream::fill_words(const Buffer& to, VkDeviceSize offset, VkDeviceSize bytes,
                        uint32_t pattern) {
  if (bytes == 0) return;
  const std::lock_guard lock(mutex_);
  Batch& batch = open();
  const VkDeviceSize begin = to.offset + offset;
  const Use written{to.block, begin, begin + bytes, true};
  use(&written, 1);
  device_.vk().vkCmdFillBuffer(batch.commands, to.handle(), begin, bytes, pattern);
  recorded(nullptr);
}

// ---- Order between streams, and waiting ---------------------------------------------------------------------------------

uint64_t Stream::mark(VkQueryPool clock) {
  const std::lock_guard lock(mutex_);
  if (!current_.waits.empty()) open();  // the mark lies behind what is waited for
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
  // What is recorded so far does not wait: two streams that wait for each other's earlier work would never end.
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
  reap(device_.reached(timeline_));
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
  if (value != 0) device_.wait(timeline_, value, work);
  check_validation();
  const std::lock_guard lock(mutex_);
  reap(value);
}

void Stream::synchronize() {
  device_.check_alive();
  uint64_t value = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!current_.waits.empty()) open();
    value = is_open_ ? current_.value : submitted_;
  }
  wait(value);
  device_.pipelines().save_now_and_then();
  report();
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
