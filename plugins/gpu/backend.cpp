#include "backend.hpp"

#include <array>
#include <cstring>
#include <memory>

#include "capture.hpp"
#include "fill.hpp"
#include "timeline.hpp"

namespace tenon::gpu {

Backend& backend() {
  // Never destroyed: at the end of a process, drivers go before their users.
  static Backend& one = *new Backend;
  return one;
}

namespace {

// Only the devices that were used. The others have nothing to wait for, so they are not opened.
constexpr uint32_t kMostDevices = 256;
std::array<std::atomic<bool>, kMostDevices> used;

void use(uint32_t index) {
  rt::use(index);
  used.at(index) = true;
}

template <auto kGiveBack>
struct Gone {
  void operator()(void* it) const { kGiveBack(it); }
};
template <auto kGiveBack>
using Owned = std::unique_ptr<void, Gone<kGiveBack>>;

}  // namespace

// A failure leaves nothing behind, so the next use tries again.
void Stream::open() const {
  const std::lock_guard lock(opening_);
  if (is_open()) return;
  use(device_);
  Owned<rt::host_free> note(rt::host_allocate(sizeof(IndexNote)));
  Owned<rt::free> claim(rt::allocate(sizeof(uint32_t)));
  if (claim == nullptr) sdk::fail(TN_OUT_OF_MEMORY, "[", rt::kName, "] no memory for a stream");
  Owned<rt::stream_destroy> handle(rt::stream_create());
  rt::fill(claim.get(), 0, sizeof(uint32_t), handle.get());
  opened_ = {handle.release(), new (note.release()) IndexNote{},
             static_cast<uint32_t*>(claim.release())};
  is_open_.store(true, std::memory_order_release);
}

Stream::~Stream() {
  if (!is_open()) return;
  forget_stream(*this);
  rt::stream_destroy(handle());
  rt::free(claim());
  rt::host_free(note());
}

void Stream::synchronize() {
  if (!is_open()) return;  // nothing was enqueued
  rt::use(device_);
  wait_for(device_, handle());
  take_notes(*this);
  report();
}

void Stream::report() {
  if (note()->set == 0) return;
  const IndexNote found = *note();
  *note() = {};
  rt::fill(claim(), 0, sizeof(uint32_t), handle());
  sdk::fail(TN_OUT_OF_RANGE, "[", reinterpret_cast<const char*>(found.op), "] index ", found.index,
            " at position ", found.position, " out of range for dimension ", found.dim, " of size ",
            found.size);
}

void Backend::start() {
  devices_ = rt::devices(reason_);
  own_.resize(devices_.size());
  for (uint32_t i = 0; i < devices_.size(); ++i) staging_.push_back(std::make_unique<Staging>(i));
}

void Backend::quiesce() {
  for (uint32_t i = 0; i < devices_.size(); ++i) synchronize(i);
}

void Backend::stop() {
  own_.clear();
  staging_.clear();
  clear_timelines();
  devices_.clear();
}

void Backend::count(uint32_t* count, tn_str* reason) {
  *count = static_cast<uint32_t>(devices_.size());
  *reason = sdk::str_of(reason_);
}

void Backend::info(uint32_t index, tn_device_info* out) {
  const rt::Device& device = devices_[index];
  out->kind = device.kind;
  out->name = sdk::str_of(device.name);
  out->pci_id = sdk::str_of(device.pci_id);
  out->subgroup_size = device.warp_width;
  out->compute_units = device.compute_units;
  out->dtypes = TN_MASK_ALL | TN_MASK_F8;
  out->peak_flops = device.peak_flops;
  use(index);
  rt::memory_info(&out->memory_free, &out->memory_total);
}

void Backend::synchronize(uint32_t index) {
  // A device cannot be waited for as a whole while one of its streams is captured. Other work has been waited for stream by stream.
  if (used.at(index) && !is_device_captured(index, "a wait for the device")) wait_for_device(index);
}

// ---- Memory -------------------------------------------------------------------------------------------------------------

namespace {
void* at(void* buffer, uint64_t offset) { return static_cast<char*>(buffer) + offset; }
}  // namespace

void Backend::allocate(uint32_t index, uint64_t bytes, void** buffer, void** address) {
  use(index);
  const MaybeWait here(index);
  void* made = nullptr;
  if (!allocate_captured(index, bytes, &made)) made = rt::allocate(bytes);
  if (made == nullptr)
    sdk::fail(TN_OUT_OF_MEMORY, "[", rt::kName, "] ", devices_[index].name, " has no ", bytes,
              " bytes left");
  *buffer = *address = made;
}

void Backend::free(uint32_t index, void* buffer) {
  use(index);
  const MaybeWait here(index);
  if (!free_captured(buffer)) rt::free(buffer);
}

void Backend::host_allocate(uint32_t index, uint64_t bytes, void** address) {
  use(index);
  *address = rt::host_allocate(bytes);
}

void Backend::host_free(uint32_t index, void* address) {
  use(index);
  rt::host_free(address);
}

// A call without a stream finishes before it returns, on one of the device's own streams.
template <class Fn>
void Backend::on_stream(uint32_t index, void* stream, Fn&& enqueue) {
  use(index);
  if (stream != nullptr) return enqueue(*static_cast<Stream*>(stream));
  const std::lock_guard lock(mutex_);
  if (own_[index] == nullptr) own_[index] = std::make_unique<Stream>(index);
  enqueue(*own_[index]);
  own_[index]->synchronize();
}

void Backend::copy_in(uint32_t index, void* stream, const void* from, void* buffer, uint64_t offset,
                      uint64_t bytes) {
  on_stream(index, stream, [&](Stream& on) {
    refuse_captured(on.handle(), "a copy from host memory, which may be gone when the graph runs,");
    const Timed timed(index, on.handle(), "copy in", bytes);
    staging_[index]->copy_in(at(buffer, offset), from, bytes, on.handle());
  });
}

void Backend::copy_out(uint32_t index, void* stream, void* buffer, uint64_t offset, void* to,
                       uint64_t bytes) {
  on_stream(index, stream, [&](Stream& on) {
    refuse_captured(
        on.handle(),
        "a copy to the host, as reading an element or a size that depends on data needs it,");
    std::optional<StreamWait> here;  // a copy into pageable memory finishes before it returns
    if (profile().on() && !rt::is_pinned(to)) here.emplace(index, on.handle());
    const Timed timed(index, on.handle(), "copy out", bytes);
    rt::copy_out(to, at(buffer, offset), bytes, on.handle());
  });
}

void Backend::copy_within(uint32_t index, void* stream, void* from, uint64_t from_offset, void* to,
                          uint64_t to_offset, uint64_t bytes) {
  char* const source = static_cast<char*>(at(from, from_offset));
  char* const target = static_cast<char*>(at(to, to_offset));
  on_stream(index, stream, [&](Stream& on) {
    if (source == target) return;
    if (source + bytes <= target || target + bytes <= source) {
      const Timed timed(index, on.handle(), "copy", 2 * bytes);
      return rt::copy_within(target, source, bytes, on.handle());
    }
    refuse_captured(on.handle(), "a copy whose ranges overlap");
    // Overlapping copies go through temporary memory, which is freed when nothing reads it any more.
    const std::unique_ptr<void, decltype(&rt::free)> between(rt::allocate(bytes), &rt::free);
    if (between == nullptr)
      sdk::fail(TN_OUT_OF_MEMORY, "[", rt::kName, "] no ", bytes, " bytes to copy what overlaps");
    {
      const Timed timed(index, on.handle(), "copy", 2 * bytes);
      rt::copy_within(between.get(), source, bytes, on.handle());
      rt::copy_within(target, between.get(), bytes, on.handle());
    }
    wait_for(index, on.handle());
  });
}

void Backend::copy_peer(uint32_t from_index, void* from, uint64_t from_offset, uint32_t to_index,
                        void* to, uint64_t to_offset, uint64_t bytes, void* stream) {
  on_stream(from_index, stream, [&](Stream& on) {
    refuse_captured(on.handle(), "a copy to another device");
    const Timed timed(from_index, on.handle(), "copy to a peer", bytes);
    rt::copy_peer(at(to, to_offset), to_index, at(from, from_offset), from_index, bytes,
                  on.handle());
  });
}

void Backend::fill(uint32_t index, void* stream, void* buffer, uint64_t offset, uint64_t bytes,
                   const void* pattern, uint32_t pattern_size) {
  on_stream(index, stream, [&](Stream& on) {
    const Timed timed(index, on.handle(), "fill", bytes);
    gpu::fill(on, at(buffer, offset), bytes, pattern, pattern_size);
  });
}

// ---- Streams and events -------------------------------------------------------------------------------------------------

void Backend::stream_create(uint32_t index, void** stream) { *stream = new Stream(index); }

void Backend::stream_destroy(void* stream) { delete static_cast<Stream*>(stream); }

void Backend::stream_synchronize(void* stream) { static_cast<Stream*>(stream)->synchronize(); }

namespace {
// An event handle of the core.
struct Event {
  uint32_t device;
  rt::Event handle;
};
const Event& event_of(void* event) { return *static_cast<const Event*>(event); }
}  // namespace

void Backend::event_create(uint32_t index, void** event) {
  use(index);
  auto made = std::make_unique<Event>(Event{index, nullptr});
  made->handle = rt::event_create();
  *event = made.release();
}

void Backend::event_destroy(void* event) {
  const std::unique_ptr<Event> gone(static_cast<Event*>(event));
  rt::event_destroy(gone->handle);
}

void Backend::event_record(void* event, void* stream) {
  const Stream& on = *static_cast<Stream*>(stream);
  refuse_captured(on.handle(), "an event");
  use(on.device());
  rt::record(event_of(event).handle, on.handle());
}

void Backend::event_wait(void* event, void* stream) {
  const Stream& on = *static_cast<Stream*>(stream);
  refuse_captured(on.handle(), "a wait for an event");
  use(on.device());
  rt::wait(on.handle(), event_of(event).handle);
}

void Backend::event_query(void* event, uint32_t* done) {
  *done = rt::reached(event_of(event).handle) ? 1 : 0;
}

void Backend::event_synchronize(void* event) {
  wait_for_event(event_of(event).device, event_of(event).handle);
}

void Backend::event_elapsed(void* start, void* end, double* seconds) {
  *seconds = rt::seconds_between(event_of(start).handle, event_of(end).handle);
}

}  // namespace tenon::gpu
