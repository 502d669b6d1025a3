// What a stream records: dispatches, copies, fills, and barriers between conflicting uses of memory.
#include <algorithm>
#include <cstring>

#include "device.hpp"
#include "stream.hpp"

namespace tenon::vulkan {
namespace {

constexpr VkDeviceSize kNoteBytes = 16;
// With more stretches than this, a barrier is cheaper than searching them.
constexpr size_t kMostTouched = 48;

bool overlap(const Use& a, const Use& b) {
  return a.block == b.block && a.begin < b.end && b.begin < a.end;
}

}  // namespace

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

// Adds a barrier if one of the uses overlaps an earlier one since the last barrier, and either writes.
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
    // Binds from the last aligned offset; the shader gets the rest.
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
  // Both are fetched again after a wait: older ones belong to the batch that was submitted.
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
    // Bound slots count as used, and as written if other constants would write them: validation cannot know better.
    bool write = slot.write;
    if (!device_.addresses()) {
      begin = begin / Heap::kAlignment * Heap::kAlignment;
      end = (end + 15) / 16 * 16;
      const uint32_t written =
          dispatch.key.shader->modules[static_cast<size_t>(dispatch.key.compute)][1].written;
      write |= (written >> k & 1) != 0 || (k == 0 && written >> dispatch.slot_count != 0);
    }
    uses[count++] = {slot.buffer->block, begin, end, write};
  }
  use(uses, count);
  const auto& vk = device_.vk();
  if (bound_ != pipeline)
    vk.vkCmdBindPipeline(batch.commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  bound_ = pipeline;
  bind(dispatch, local, note);
  vk.vkCmdDispatch(batch.commands, dispatch.groups[0], dispatch.groups[1], dispatch.groups[2]);
  recorded(dispatch.key.shader, dispatch.key.shader->name);
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
    recorded(nullptr, "copy in");
    done += piece;
  }
}

void Stream::copy_out(const Buffer& from, VkDeviceSize offset, void* to, VkDeviceSize bytes) {
  const std::lock_guard lock(mutex_);
  if (const Buffer* pinned = device_.pinned().find(to, bytes); pinned != nullptr && bytes != 0) {
    Batch& batch = open();
    const VkDeviceSize begin = from.offset + offset;
    const VkDeviceSize target =
        pinned->offset + static_cast<VkDeviceSize>(static_cast<char*>(to) - pinned->mapped());
    const Use uses[] = {{from.block, begin, begin + bytes, false},
                        {pinned->block, target, target + bytes, true}};
    use(uses, 2);
    const VkBufferCopy copy{begin, target, bytes};
    device_.vk().vkCmdCopyBuffer(batch.commands, from.handle(), pinned->handle(), 1, &copy);
    batch.writes_host = true;
    recorded(nullptr, "copy out");
    return;
  }
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
    recorded(nullptr, "copy out");
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
  // Vulkan cannot copy a range onto itself, so the copy goes through temporary memory.
  Buffer* between = crossing ? device_.memory().allocate(bytes) : nullptr;
  Batch& batch = open();
  if (between != nullptr) {
    batch.kept.push_back(between);
    copy(from, from_offset, *between, 0);
    copy(*between, 0, to, to_offset);
  } else {
    copy(from, from_offset, to, to_offset);
  }
  recorded(nullptr, "copy");
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
  recorded(nullptr, "fill");
}

}  // namespace tenon::vulkan
