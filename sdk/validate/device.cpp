#include "device.hpp"

#include <cmath>
#include <deque>
#include <utility>

#include "../copy_known.hpp"
#include "tenon/ext/draft/dlpack.h"

namespace tenon::validate {
using detail::copy_known;
namespace {

std::deque<DeviceType>& types() {
  static auto& made = *new std::deque<DeviceType>;
  return made;
}

DeviceType& of(void* self) { return *static_cast<DeviceType*>(self); }

tn_status* null_argument(const char* what) {
  return refused(TN_VIOLATION_ARGUMENT, fmt::format("the core gave NULL for {}", what));
}

tn_status* unknown(const char* what) {
  return g_host->make_status(TN_INTERNAL, to_str(fmt::format("an unknown {}", what)));
}

// What every slot that returns a status does around the plugin's function.
template <class Call>
tn_status* slot(DeviceType& type, const char* name, Call&& call) {
  const Crossing here(type.plugin, name);
  tn_status* fault = injected(type.name, name);
  if (fault == nullptr) return call();
  // A wait that is made to fail must still wait: afterwards the core gives up host memory that the work may write to.
  if (std::string_view(name).ends_with("synchronize")) g_host->status_release(call());
  return fault;
}

// ---- Devices

tn_status* device_count(void* self, uint32_t* count, tn_str* reason) {
  DeviceType& type = of(self);
  return slot(type, "device.count", [&]() -> tn_status* {
    if (!type.is_host() && !in_init_phase())
      found(TN_VIOLATION_THREAD, "called outside of start, but it is [init]");
    if (count == nullptr || reason == nullptr) return null_argument("count or reason");
    tn_status* status = cross([&] { return type.device.count(type.self, count, reason); });
    if (status == nullptr) type.count = *count;
    if (status == nullptr && !is_utf8(text_of(*reason)))
      found(TN_VIOLATION_RESULT, "the reason for having no device is not UTF-8");
    return status;
  });
}

tn_status* device_info(void* self, uint32_t index, tn_device_info* out) {
  DeviceType& type = of(self);
  return slot(type, "device.info", [&]() -> tn_status* {
    if (tn_status* status = type.check_index(index)) return status;
    if (out == nullptr) return null_argument("out");
    const uint32_t size = out->struct_size;
    tn_status* status = cross([&] { return type.device.info(type.self, index, out); });
    if (status != nullptr) return status;
    if (out->struct_size != size) {
      found(TN_VIOLATION_RESULT, fmt::format("struct_size was changed from {} to {}; the caller's "
                                             "size says how much may be filled",
                                             size, out->struct_size));
      out->struct_size = size;
    }
    if (!is_utf8(text_of(out->name)) || !is_utf8(text_of(out->pci_id)))
      found(TN_VIOLATION_RESULT, "name or pci_id is not UTF-8");
    if (out->kind > TN_DEVICE_KIND_OTHER)
      found(TN_VIOLATION_RESULT, fmt::format("kind {} is none", out->kind));
    if ((out->dtypes & ~(TN_MASK_ALL | TN_MASK_F8)) != 0)
      found(TN_VIOLATION_RESULT, fmt::format("dtypes {:#x} has bits of no dtype", out->dtypes));
    if (out->memory_free > out->memory_total)
      found(TN_VIOLATION_RESULT,
            fmt::format("{} bytes free of {}", out->memory_free, out->memory_total));
    return nullptr;
  });
}

tn_status* device_synchronize(void* self, uint32_t index) {
  DeviceType& type = of(self);
  return slot(type, "device.synchronize", [&]() -> tn_status* {
    if (tn_status* status = type.check_index(index)) return status;
    return cross([&] { return type.device.synchronize(type.self, index); });
  });
}

// ---- Memory

tn_status* memory_allocate(void* self, uint32_t index, uint64_t bytes, void** buffer,
                           void** address) {
  DeviceType& type = of(self);
  return slot(type, "memory.allocate", [&]() -> tn_status* {
    if (tn_status* status = type.check_index(index)) return status;
    if (buffer == nullptr || address == nullptr) return null_argument("buffer or address");
    const uint64_t margin = type.blocks->margin(), total = type.blocks->total(bytes, margin);
    const auto ask = [&] {
      *buffer = *address = nullptr;
      return cross([&] { return type.memory.allocate(type.self, index, total, buffer, address); });
    };
    tn_status* status = ask();
    if (g_host->status_code(status) == TN_OUT_OF_MEMORY && type.blocks->flush()) {
      g_host->status_release(status);
      status = ask();
    }
    return status != nullptr ? status : type.blocks->adopt(index, bytes, margin, buffer, address);
  });
}

void memory_free(void* self, uint32_t index, void* buffer) {
  DeviceType& type = of(self);
  const Crossing here(type.plugin, "memory.free");
  type.blocks->give_back(index, buffer);
}

tn_status* memory_host_allocate(void* self, uint32_t index, uint64_t bytes, void** address) {
  DeviceType& type = of(self);
  return slot(type, "memory.host_allocate", [&]() -> tn_status* {
    if (address == nullptr) return null_argument("address");
    tn_status* status =
        cross([&] { return type.memory.host_allocate(type.self, index, bytes, address); });
    if (status != nullptr) return status;
    if (*address == nullptr) return refused(TN_VIOLATION_RESULT, "success without an address");
    const std::lock_guard lock(state_mutex());
    type.pinned.insert(*address);
    return nullptr;
  });
}

void memory_host_free(void* self, uint32_t index, void* address) {
  DeviceType& type = of(self);
  const Crossing here(type.plugin, "memory.host_free");
  bool known = false;
  {
    const std::lock_guard lock(state_mutex());
    known = type.pinned.erase(address) != 0;
  }
  if (!known)
    return found(TN_VIOLATION_OWNERSHIP,
                 fmt::format("address {} is none that was handed out", address));
  cross_void([&] { type.memory.host_free(type.self, index, address); });
}

// Calls the plugin while nobody else uses the stream.
template <class Call>
tn_status* cross_on(DeviceType& type, void* stream, Call&& call) {
  const DeviceType::Use use(type, stream);
  return use.known() ? cross(std::forward<Call>(call)) : unknown("stream");
}

tn_status* memory_copy_in(void* self, uint32_t index, void* stream, const void* src, void* buffer,
                          uint64_t offset, uint64_t bytes) {
  DeviceType& type = of(self);
  return slot(type, "memory.copy_in", [&]() -> tn_status* {
    if (tn_status* status = type.check_index(index)) return status;
    if (tn_status* status = type.check_range("the target", buffer, offset, bytes)) return status;
    if (src == nullptr && bytes != 0) return null_argument("src");
    return cross_on(type, stream, [&] {
      return type.memory.copy_in(type.self, index, stream, src, buffer, offset, bytes);
    });
  });
}

tn_status* memory_copy_out(void* self, uint32_t index, void* stream, void* buffer, uint64_t offset,
                           void* dst, uint64_t bytes) {
  DeviceType& type = of(self);
  return slot(type, "memory.copy_out", [&]() -> tn_status* {
    if (tn_status* status = type.check_index(index)) return status;
    if (tn_status* status = type.check_range("the source", buffer, offset, bytes)) return status;
    if (dst == nullptr && bytes != 0) return null_argument("dst");
    return cross_on(type, stream, [&] {
      return type.memory.copy_out(type.self, index, stream, buffer, offset, dst, bytes);
    });
  });
}

tn_status* memory_copy_within(void* self, uint32_t index, void* stream, void* src,
                              uint64_t src_offset, void* dst, uint64_t dst_offset, uint64_t bytes) {
  DeviceType& type = of(self);
  return slot(type, "memory.copy_within", [&]() -> tn_status* {
    if (tn_status* status = type.check_index(index)) return status;
    if (tn_status* status = type.check_range("the source", src, src_offset, bytes)) return status;
    if (tn_status* status = type.check_range("the target", dst, dst_offset, bytes)) return status;
    return cross_on(type, stream, [&] {
      return type.memory.copy_within(type.self, index, stream, src, src_offset, dst, dst_offset,
                                     bytes);
    });
  });
}

tn_status* memory_copy_peer(void* self, uint32_t src_index, void* src, uint64_t src_offset,
                            uint32_t dst_index, void* dst, uint64_t dst_offset, uint64_t bytes,
                            void* stream) {
  DeviceType& type = of(self);
  return slot(type, "memory.copy_peer", [&]() -> tn_status* {
    for (const uint32_t index : {src_index, dst_index})
      if (tn_status* status = type.check_index(index)) return status;
    if (tn_status* status = type.check_range("the source", src, src_offset, bytes)) return status;
    if (tn_status* status = type.check_range("the target", dst, dst_offset, bytes)) return status;
    return cross_on(type, stream, [&] {
      return type.memory.copy_peer(type.self, src_index, src, src_offset, dst_index, dst,
                                   dst_offset, bytes, stream);
    });
  });
}

tn_status* memory_fill(void* self, uint32_t index, void* stream, void* buffer, uint64_t offset,
                       uint64_t bytes, const void* pattern, uint32_t pattern_size) {
  DeviceType& type = of(self);
  return slot(type, "memory.fill", [&]() -> tn_status* {
    if (tn_status* status = type.check_index(index)) return status;
    if (tn_status* status = type.check_range("the target", buffer, offset, bytes)) return status;
    if (pattern == nullptr) return null_argument("pattern");
    return cross_on(type, stream, [&] {
      return type.memory.fill(type.self, index, stream, buffer, offset, bytes, pattern,
                              pattern_size);
    });
  });
}

// ---- Streams and events

tn_status* stream_create(void* self, uint32_t index, void** out) {
  DeviceType& type = of(self);
  return slot(type, "stream.create", [&]() -> tn_status* {
    if (tn_status* status = type.check_index(index)) return status;
    if (out == nullptr) return null_argument("stream");
    *out = nullptr;
    tn_status* status = cross([&] { return type.stream.create(type.self, index, out); });
    if (status != nullptr) return status;
    if (*out == nullptr) return refused(TN_VIOLATION_RESULT, "success without a stream");
    bool fresh = false;
    {
      const std::lock_guard lock(state_mutex());
      fresh = type.streams.emplace(*out, StreamState{index, {}, 0}).second;
    }
    return fresh
               ? nullptr
               : refused(TN_VIOLATION_OWNERSHIP,
                         fmt::format("stream {} was handed out before and is still in use", *out));
  });
}

// A handle of a set; reports one that is not in it.
template <class Handles>
bool is_known(const Handles& handles, void* handle, const char* what) {
  {
    const std::lock_guard lock(state_mutex());
    if (handles.count(handle) != 0) return true;
  }
  found(TN_VIOLATION_OWNERSHIP, fmt::format("{} {} is none that lives", what, handle));
  return false;
}
void stream_destroy(void* self, void* stream) {
  DeviceType& type = of(self);
  const Crossing here(type.plugin, "stream.destroy");
  if (!is_known(type.streams, stream, "stream")) return;
  cross_void([&] { type.stream.destroy(type.self, stream); });
  const std::lock_guard lock(state_mutex());
  type.streams.erase(stream);
}

tn_status* stream_synchronize(void* self, void* stream) {
  DeviceType& type = of(self);
  return slot(type, "stream.synchronize", [&]() -> tn_status* {
    if (!is_known(type.streams, stream, "stream")) return unknown("stream");
    return cross([&] { return type.stream.synchronize(type.self, stream); });
  });
}

tn_status* event_create(void* self, uint32_t index, void** out) {
  DeviceType& type = of(self);
  return slot(type, "stream.event_create", [&]() -> tn_status* {
    if (tn_status* status = type.check_index(index)) return status;
    if (out == nullptr) return null_argument("event");
    *out = nullptr;
    tn_status* status = cross([&] { return type.stream.event_create(type.self, index, out); });
    if (status != nullptr) return status;
    if (*out == nullptr) return refused(TN_VIOLATION_RESULT, "success without an event");
    const std::lock_guard lock(state_mutex());
    type.events.insert(*out);
    return nullptr;
  });
}

void event_destroy(void* self, void* event) {
  DeviceType& type = of(self);
  const Crossing here(type.plugin, "stream.event_destroy");
  if (!is_known(type.events, event, "event")) return;
  cross_void([&] { type.stream.event_destroy(type.self, event); });
  const std::lock_guard lock(state_mutex());
  type.events.erase(event);
}

// A slot that enqueues an event on a stream.
template <auto kSlot>
tn_status* enqueue_event(void* self, void* event, void* stream, const char* name) {
  DeviceType& type = of(self);
  return slot(type, name, [&]() -> tn_status* {
    if (!is_known(type.events, event, "event")) return unknown("event");
    return cross_on(type, stream, [&] { return (type.stream.*kSlot)(type.self, event, stream); });
  });
}
tn_status* event_record(void* self, void* event, void* stream) {
  return enqueue_event<&tn_stream_table::event_record>(self, event, stream, "stream.event_record");
}
tn_status* event_wait(void* self, void* event, void* stream) {
  return enqueue_event<&tn_stream_table::event_wait>(self, event, stream, "stream.event_wait");
}

tn_status* event_query(void* self, void* event, uint32_t* done) {
  DeviceType& type = of(self);
  return slot(type, "stream.event_query", [&]() -> tn_status* {
    if (!is_known(type.events, event, "event")) return unknown("event");
    if (done == nullptr) return null_argument("done");
    tn_status* status = cross([&] { return type.stream.event_query(type.self, event, done); });
    if (status == nullptr && *done > 1) {
      found(TN_VIOLATION_RESULT, fmt::format("done is {}; it is 0 or 1", *done));
      *done = 1;
    }
    return status;
  });
}

tn_status* event_synchronize(void* self, void* event) {
  DeviceType& type = of(self);
  return slot(type, "stream.event_synchronize", [&]() -> tn_status* {
    if (!is_known(type.events, event, "event")) return unknown("event");
    return cross([&] { return type.stream.event_synchronize(type.self, event); });
  });
}

tn_status* event_elapsed(void* self, void* start, void* end, double* seconds) {
  DeviceType& type = of(self);
  return slot(type, "stream.event_elapsed", [&]() -> tn_status* {
    if (!is_known(type.events, start, "event") || !is_known(type.events, end, "event"))
      return unknown("event");
    if (seconds == nullptr) return null_argument("seconds");
    tn_status* status =
        cross([&] { return type.stream.event_elapsed(type.self, start, end, seconds); });
    if (status == nullptr && !(std::isfinite(*seconds) && *seconds >= 0))
      found(TN_VIOLATION_RESULT, fmt::format("{} seconds between two events", *seconds));
    return status;
  });
}

}  // namespace

// ---- The type

DeviceType::DeviceType(std::string_view plugin_id, const tn_device_type& given)
    : plugin(plugin_id),
      name(text_of(given.name)),
      device(copy_known(given.device)),
      memory(copy_known(given.memory)),
      stream(copy_known(given.stream)),
      self(given.self),
      has_streams(given.stream != nullptr) {
  blocks = std::make_unique<Blocks>(name, *this, is_host());
}

void DeviceType::publish(tn_device_type& out) {
  // A slot that the plugin lacks stays NULL, so that the core supplies the default.
  const auto put = [](auto& slot_out, auto given, auto through) {
    slot_out = given == nullptr ? nullptr : through;
  };
  device_out_ = device;
  put(device_out_.count, device.count, device_count);
  put(device_out_.info, device.info, device_info);
  put(device_out_.synchronize, device.synchronize, device_synchronize);
  memory_out_ = memory;
  put(memory_out_.allocate, memory.allocate, memory_allocate);
  put(memory_out_.free, memory.free, memory_free);
  put(memory_out_.host_allocate, memory.host_allocate, memory_host_allocate);
  put(memory_out_.host_free, memory.host_free, memory_host_free);
  put(memory_out_.copy_in, memory.copy_in, memory_copy_in);
  put(memory_out_.copy_out, memory.copy_out, memory_copy_out);
  put(memory_out_.copy_within, memory.copy_within, memory_copy_within);
  put(memory_out_.copy_peer, memory.copy_peer, memory_copy_peer);
  put(memory_out_.fill, memory.fill, memory_fill);
  stream_out_ = stream;
  put(stream_out_.create, stream.create, stream_create);
  put(stream_out_.destroy, stream.destroy, stream_destroy);
  put(stream_out_.synchronize, stream.synchronize, stream_synchronize);
  put(stream_out_.event_create, stream.event_create, event_create);
  put(stream_out_.event_destroy, stream.event_destroy, event_destroy);
  put(stream_out_.event_record, stream.event_record, event_record);
  put(stream_out_.event_wait, stream.event_wait, event_wait);
  put(stream_out_.event_query, stream.event_query, event_query);
  put(stream_out_.event_synchronize, stream.event_synchronize, event_synchronize);
  put(stream_out_.event_elapsed, stream.event_elapsed, event_elapsed);
  out.self = this;
  if (out.device != nullptr) out.device = &device_out_;
  if (out.memory != nullptr) out.memory = &memory_out_;
  if (out.stream != nullptr) out.stream = &stream_out_;
}

tn_status* DeviceType::check_index(uint32_t index) const {
  if (index < count) return nullptr;
  return refused(TN_VIOLATION_ARGUMENT,
                 fmt::format("the core gave device {} of {}", index, count.load()));
}

bool DeviceType::may_be_foreign(const void* buffer) const {
  if (buffer == nullptr || blocks->is_gone(buffer)) return false;
  if (is_host()) return true;
  const void* offer = nullptr;
  tn_status* none =
      g_host->plugin_interface(to_str(plugin), to_str(TN_DLPACK_NAME), TN_DLPACK_REVISION, &offer);
  if (none != nullptr) g_host->status_release(none);
  return offer != nullptr;
}

tn_status* DeviceType::check_range(const char* what, void* buffer, uint64_t offset,
                                   uint64_t bytes) const {
  Block block;
  if (!blocks->find(buffer, block)) {
    if (may_be_foreign(buffer)) return nullptr;
    return bytes == 0 ? nullptr
                      : refused(TN_VIOLATION_OWNERSHIP,
                                fmt::format("{} is buffer {}, which {}", what, buffer,
                                            blocks->is_gone(buffer) ? "was given back"
                                                                    : "is none that lives"));
  }
  if (offset <= block.bytes && bytes <= block.bytes - offset) return nullptr;
  return refused(TN_VIOLATION_ARGUMENT, fmt::format("{} is bytes {} to {} of a block of {}", what,
                                                    offset, offset + bytes, block.bytes));
}

DeviceType::Use::Use(DeviceType& type, void* stream) : type_(type), stream_(stream) {
  if (stream == nullptr && !type.has_streams) return;
  bool busy = false;
  {
    const std::lock_guard lock(state_mutex());
    const auto at = type.streams.find(stream);
    known_ = at != type.streams.end();
    if (known_) {
      busy = at->second.depth != 0 && at->second.user != std::this_thread::get_id();
      counted_ = !busy;
      if (counted_) {
        at->second.user = std::this_thread::get_id();
        ++at->second.depth;
      }
    }
  }
  if (!known_) found(TN_VIOLATION_OWNERSHIP, fmt::format("stream {} is none that lives", stream));
  if (busy)
    found(TN_VIOLATION_THREAD,
          "two threads enqueue on one stream at once, but it is [stream-ordered]");
  type.order_.lock();
  locked_ = true;
}

DeviceType::Use::~Use() {
  if (locked_) type_.order_.unlock();
  if (!counted_) return;
  const std::lock_guard lock(state_mutex());
  if (const auto at = type_.streams.find(stream_); at != type_.streams.end()) --at->second.depth;
}

void* DeviceType::any_stream(uint32_t index) {
  const std::lock_guard lock(state_mutex());
  for (const auto& [handle, state] : streams)
    if (state.index == index) return handle;
  return nullptr;
}

tn_status* DeviceType::wait(void* of_stream) {
  if (of_stream == nullptr || stream.synchronize == nullptr) return nullptr;
  return cross([&] { return stream.synchronize(self, of_stream); });
}

bool DeviceType::write(uint32_t index, void* raw, uint64_t offset, const void* bytes, uint64_t n) {
  void* on = any_stream(index);
  if (memory.copy_in == nullptr || (has_streams && on == nullptr)) return false;
  const std::unique_lock order(order_, std::try_to_lock);
  if (!order) return false;
  tn_status* status = cross([&] { return memory.copy_in(self, index, on, bytes, raw, offset, n); });
  g_host->status_release(status);
  return status == nullptr;
}

bool DeviceType::read(uint32_t index, void* raw, uint64_t offset, void* bytes, uint64_t n) {
  void* on = any_stream(index);
  if (memory.copy_out == nullptr || (has_streams && on == nullptr)) return false;
  const std::unique_lock order(order_, std::try_to_lock);
  if (!order) return false;
  tn_status* status =
      cross([&] { return memory.copy_out(self, index, on, raw, offset, bytes, n); });
  if (status == nullptr) status = wait(on);
  g_host->status_release(status);
  return status == nullptr;
}

void DeviceType::release(uint32_t index, void* raw) {
  if (memory.free != nullptr) cross_void([&] { memory.free(self, index, raw); });
}

void DeviceType::report_leaks() {
  blocks->flush();
  size_t events_left = 0, pinned_left = 0;
  {
    const std::lock_guard lock(state_mutex());
    events_left = events.size();
    pinned_left = pinned.size();
  }
  if (const uint64_t live = blocks->live(); live != 0)
    found(TN_VIOLATION_LEAK, fmt::format("{} blocks on {} are alive at its quiesce", live, name));
  if (events_left + pinned_left != 0)
    found(TN_VIOLATION_LEAK,
          fmt::format("{} events and {} pinned blocks of {} are alive at its quiesce", events_left,
                      pinned_left, name));
}

DeviceType& add_type(std::string_view plugin, const tn_device_type& given) {
  const std::lock_guard lock(state_mutex());
  return types().emplace_back(plugin, given);
}

DeviceType* find_type(std::string_view name) {
  const std::lock_guard lock(state_mutex());
  for (auto at = types().rbegin(); at != types().rend(); ++at)
    if (at->name == name) return &*at;
  return nullptr;
}

std::vector<DeviceType*> all_types() {
  const std::lock_guard lock(state_mutex());
  std::vector<DeviceType*> all;
  for (DeviceType& type : types()) all.push_back(&type);
  return all;
}

}  // namespace tenon::validate
