#include "backend.hpp"

#include <cstring>

#include "fill.hpp"

namespace tenon::vulkan {

Backend& backend() {
  // Never destroyed: at the end of a process, drivers go before their users.
  static Backend& one = *new Backend;
  return one;
}

void Backend::start() {
  options_ = read_options();
  if (instance_ == nullptr) instance_ = std::make_unique<Instance>(options_);
  devices_.resize(instance_->devices().size());
  own_.resize(devices_.size());
}

void Backend::stop() {
  own_.clear();
  devices_.clear();
}

Device& Backend::device(uint32_t index) {
  const std::lock_guard lock(mutex_);
  if (index >= devices_.size())
    sdk::fail(TN_NOT_FOUND, "[vulkan] there is no device ", index, " of ", devices_.size());
  auto& device = devices_[index];
  if (device == nullptr) device = std::make_unique<Device>(physical(index), options_);
  return *device;
}

void Backend::count(uint32_t* count, tn_str* reason) {
  *count = static_cast<uint32_t>(instance_->devices().size());
  *reason = sdk::str_of(instance_->reason());
}

void Backend::info(uint32_t index, tn_device_info* out) {
  const Physical& p = physical(index);
  switch (p.properties.deviceType) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      out->kind = TN_DEVICE_KIND_GPU;
      break;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      out->kind = TN_DEVICE_KIND_INTEGRATED_GPU;
      break;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      out->kind = TN_DEVICE_KIND_SOFTWARE;
      break;
    default:
      out->kind = TN_DEVICE_KIND_OTHER;
  }
  out->name = sdk::str_of(p.properties.deviceName);
  out->pci_id = sdk::str_of(p.pci_id);
  out->subgroup_size = p.subgroup_size;
  out->compute_units = 1;  // Vulkan does not tell
  out->dtypes = p.dtypes;
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{};
  budget.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT;
  VkPhysicalDeviceMemoryProperties2 memory{};
  memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
  memory.pNext = p.budget ? &budget : nullptr;
  vkGetPhysicalDeviceMemoryProperties2(p.handle, &memory);
  out->memory_total = out->memory_free = 0;
  for (uint32_t i = 0; i < memory.memoryProperties.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = memory.memoryProperties.memoryHeaps[i];
    if ((heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) == 0) continue;
    const VkDeviceSize used = p.budget ? budget.heapUsage[i] : 0;
    const VkDeviceSize most = p.budget ? budget.heapBudget[i] : heap.size;
    out->memory_total += heap.size;
    out->memory_free += most > used ? most - used : 0;
  }
}

Device* Backend::opened(uint32_t index) {
  const std::lock_guard lock(mutex_);
  return index < devices_.size() ? devices_[index].get() : nullptr;
}

void Backend::synchronize(uint32_t index) {
  if (index >= instance_->devices().size()) device(index);  // throws, with the reason
  if (Device* on = opened(index)) on->synchronize();
}

void Backend::synchronize_all() {
  for (uint32_t i = 0; i < instance_->devices().size(); ++i) synchronize(i);
}

void Backend::flush_all() {
  for (uint32_t i = 0; i < instance_->devices().size(); ++i)
    if (Device* on = opened(i)) on->flush();
}

// ---- Memory -------------------------------------------------------------------------------------------------------------

void Backend::allocate(uint32_t index, uint64_t bytes, void** buffer, void** address) {
  Device& on = device(index);
  on.check_alive();
  *buffer = on.memory().allocate(bytes);
  *address = nullptr;
}

void Backend::free(uint32_t index, void* buffer) {
  device(index).memory().free(static_cast<Buffer*>(buffer));
}

void Backend::host_allocate(uint32_t index, uint64_t bytes, void** address) {
  Device& on = device(index);
  on.check_alive();
  *address = on.pinned().allocate(bytes);
}

void Backend::host_free(uint32_t index, void* address) { device(index).pinned().free(address); }

Stream& Backend::own_stream(uint32_t index) {
  Device& on = device(index);
  const std::lock_guard lock(mutex_);
  if (own_[index] == nullptr) own_[index] = Stream::create(on);
  return *own_[index];
}

template <class Fn>
void Backend::on_stream(uint32_t index, void* stream, Fn&& record) {
  if (stream != nullptr) {
    static_cast<StreamPair*>(stream)->take_turns();
    record(stream_of(stream));
    return;
  }
  Stream& own = own_stream(index);
  record(own);
  own.synchronize();
}

void Backend::copy_in(uint32_t index, void* stream, const void* from, void* buffer, uint64_t offset,
                      uint64_t bytes) {
  on_stream(index, stream,
            [&](Stream& on) { on.copy_in(from, *static_cast<Buffer*>(buffer), offset, bytes); });
}

void Backend::copy_out(uint32_t index, void* stream, void* buffer, uint64_t offset, void* to,
                       uint64_t bytes) {
  on_stream(index, stream,
            [&](Stream& on) { on.copy_out(*static_cast<Buffer*>(buffer), offset, to, bytes); });
}

void Backend::copy_within(uint32_t index, void* stream, void* from, uint64_t from_offset, void* to,
                          uint64_t to_offset, uint64_t bytes) {
  on_stream(index, stream, [&](Stream& on) {
    on.copy_within(*static_cast<Buffer*>(from), from_offset, *static_cast<Buffer*>(to), to_offset,
                   bytes);
  });
}

void Backend::fill(uint32_t index, void* stream, void* buffer, uint64_t offset, uint64_t bytes,
                   const void* pattern, uint32_t pattern_size) {
  on_stream(index, stream, [&](Stream& on) {
    vulkan::fill(on, *static_cast<Buffer*>(buffer), offset, bytes, pattern, pattern_size);
  });
}

// ---- Streams and events -------------------------------------------------------------------------------------------------

void StreamPair::take_turns() {
  if (streams[1] == nullptr) return;
  const std::shared_ptr<Stream>& before = streams[turn];
  streams[1 - turn]->wait_for(before, before->mark(VK_NULL_HANDLE));
  turn = 1 - turn;
}

void Backend::stream_create(uint32_t index, void** stream) {
  auto made = std::make_unique<StreamPair>();
  for (uint32_t i = 0; i < (options_.two_streams ? 2 : 1); ++i)
    made->streams[i] = Stream::create(device(index));
  *stream = made.release();
}

void Backend::stream_destroy(void* stream) { delete static_cast<StreamPair*>(stream); }

void Backend::stream_synchronize(void* stream) {
  const auto& streams = static_cast<StreamPair*>(stream)->streams;
  for (const auto& one : streams)
    if (one != nullptr) one->finish();
  for (const auto& one : streams)
    if (one != nullptr) one->report();
}

void Backend::event_create(uint32_t index, void** event) {
  auto made = std::make_unique<Event>();
  made->device = &device(index);
  if (physical(index).timestamp_mask != 0) {
    VkQueryPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = 1;
    made->device->check(
        made->device->vk().vkCreateQueryPool(made->device->handle(), &info, nullptr, &made->clock),
        "creating a clock");
  }
  *event = made.release();
}

void Backend::event_destroy(void* handle) {
  const std::unique_ptr<Event> event(static_cast<Event*>(handle));
  // The clock is written by commands that may still be running.
  if (event->stream != nullptr && event->clock != VK_NULL_HANDLE) event->stream->wait(event->value);
  event->device->vk().vkDestroyQueryPool(event->device->handle(), event->clock, nullptr);
}

void Backend::event_record(void* handle, void* stream) {
  Event& event = *static_cast<Event*>(handle);
  const StreamPair& pair = *static_cast<StreamPair*>(stream);
  const std::lock_guard lock(event.mutex);
  event.value = pair.now().mark(event.clock);
  event.stream = pair.streams[pair.turn];
  event.twin = pair.streams[1 - pair.turn];
  if (event.twin != nullptr) event.twin_value = event.twin->mark(VK_NULL_HANDLE);
}

void Backend::event_wait(void* handle, void* stream) {
  Event& event = *static_cast<Event*>(handle);
  std::unique_lock lock(event.mutex);
  const auto other = event.stream;
  const uint64_t value = event.value;
  lock.unlock();
  if (other != nullptr) stream_of(stream).wait_for(other, value);
}

void Backend::event_query(void* handle, uint32_t* done) {
  Event& event = *static_cast<Event*>(handle);
  const std::lock_guard lock(event.mutex);
  *done = event.stream == nullptr || event.stream->reached(event.value) ? 1 : 0;
}

void Backend::event_synchronize(void* handle) {
  Event& event = *static_cast<Event*>(handle);
  std::unique_lock lock(event.mutex);
  const auto stream = event.stream;
  const auto twin = event.twin;
  const uint64_t value = event.value, twin_value = event.twin_value;
  lock.unlock();
  if (stream == nullptr) return;
  stream->wait(value);
  if (twin != nullptr) twin->wait(twin_value);
  stream->report();
  if (twin != nullptr) twin->report();
}

void Backend::event_elapsed(void* start, void* end, double* seconds) {
  uint64_t ticks[2] = {};
  Event* const events[] = {static_cast<Event*>(start), static_cast<Event*>(end)};
  for (int i = 0; i < 2; ++i) {
    Event& event = *events[i];
    const std::lock_guard lock(event.mutex);
    if (event.clock == VK_NULL_HANDLE)
      sdk::fail(TN_UNIMPLEMENTED, "[vulkan] ", event.device->name(), " has no clock for its queue");
    if (event.stream == nullptr)
      sdk::fail(TN_FAILED_PRECONDITION, "[vulkan] the event was never recorded");
    event.device->check(event.device->vk().vkGetQueryPoolResults(
                            event.device->handle(), event.clock, 0, 1, sizeof(uint64_t), &ticks[i],
                            sizeof(uint64_t), VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
                        "reading a clock");
  }
  const Physical& p = events[0]->device->physical();
  const uint64_t passed = (ticks[1] - ticks[0]) & p.timestamp_mask;
  *seconds =
      static_cast<double>(passed) * static_cast<double>(p.properties.limits.timestampPeriod) * 1e-9;
}

}  // namespace tenon::vulkan
