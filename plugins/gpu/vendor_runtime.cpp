// The functions of runtime.hpp over a vendor's runtime. CUDA and HIP only differ in prefixes.
#include "vendor_runtime.hpp"

#include <memory>
#include <type_traits>

#include "backend.hpp"
#include "capture.hpp"
#include "dlpack.hpp"
#include "timeline.hpp"

namespace tenon::gpu {
namespace {

uint32_t code_of(VENDOR(Error_t) error) {
  if (vendor::is_lost(error)) return TN_DEVICE_LOST;
  if (vendor::is_taken(error) || vendor::is_unsuited(error)) return TN_FAILED_PRECONDITION;
  switch (error) {
    case vendor::kOutOfMemory:
      return TN_OUT_OF_MEMORY;
    case VENDOR(ErrorNoDevice):
    case VENDOR(ErrorInsufficientDriver):
      return TN_NOT_FOUND;
    default:
      return TN_INTERNAL;
  }
}

using StreamHandle = VENDOR(Stream_t);
using EventHandle = VENDOR(Event_t);
StreamHandle of(rt::Stream stream) { return static_cast<StreamHandle>(stream); }
EventHandle event_of(rt::Event event) { return static_cast<EventHandle>(event); }

// Advice on what to do about it.
const char* advice(VENDOR(Error_t) error) {
  if (vendor::is_lost(error))
    return "; the device is lost to this process: save what other devices hold and start again";
  if (vendor::is_taken(error)) return "; another process has the device to itself";
  return vendor::is_unsuited(error) ? "; the plugin was compiled for other devices" : "";
}

// For releasing calls: ignores an error of earlier work, which a wait reports.
void ignore(VENDOR(Error_t)) {}

}  // namespace

void check(VENDOR(Error_t) error, const char* what) {
  if (error == VENDOR(Success)) return;
  forget_error();
  sdk::fail(code_of(error), "[", rt::kName, "] ", what, ": ", VENDOR_CALL(GetErrorString)(error),
            " (", VENDOR_CALL(GetErrorName)(error), ")", advice(error));
}

void check_launch() {
  check(VENDOR_CALL(GetLastError)(), "launching a kernel");
  Timed::launched();
}

namespace rt {

void use(uint32_t index) {
  // Asked each time, because other frameworks also choose a device for this thread.
  int chosen = -1;
  if (VENDOR_CALL(GetDevice)(&chosen) == VENDOR(Success) && chosen == static_cast<int>(index))
    return;
  check(VENDOR_CALL(SetDevice)(static_cast<int>(index)), "choosing a device");
}

void memory_info(uint64_t* free, uint64_t* total) {
  size_t left = 0, all = 0;
  check(VENDOR_CALL(MemGetInfo)(&left, &all), "asking for free memory");
  *free = left;
  *total = all;
}

void* allocate(uint64_t bytes) {
  void* made = nullptr;
  const VENDOR(Error_t) error = VENDOR_CALL(Malloc)(&made, bytes);
  if (error == vendor::kOutOfMemory) {
    forget_error();
    return nullptr;
  }
  check(error, "allocating memory");
  return made;
}
void free(void* address) noexcept { ignore(VENDOR_CALL(Free)(address)); }

void* host_allocate(uint64_t bytes) {
  void* made = nullptr;
  check(vendor::host_allocate(&made, bytes), "allocating pinned memory");
  return made;
}
void host_free(void* address) noexcept { ignore(vendor::host_free(address)); }

bool is_pinned(const void* address) {
  vendor::PointerAttributes attributes{};
  if (VENDOR_CALL(PointerGetAttributes)(&attributes, address) != VENDOR(Success)) {
    forget_error();
    return false;
  }
  return vendor::type_of(attributes) == VENDOR(MemoryTypeHost);
}

void check_address(uint32_t index, const void* address) {
  vendor::PointerAttributes attributes{};
  const bool known = VENDOR_CALL(PointerGetAttributes)(&attributes, address) == VENDOR(Success);
  if (!known) forget_error();
  const bool there = known && (vendor::is_managed(attributes) ||
                               (vendor::type_of(attributes) == VENDOR(MemoryTypeDevice) &&
                                attributes.device == static_cast<int>(index)));
  if (!there)
    sdk::fail(TN_INVALID_ARGUMENT, "[", rt::kName, "] the memory is not on ", rt::kName, ":",
              index);
}

void copy_in(void* to, const void* from, uint64_t bytes, Stream stream) {
  check(VENDOR_CALL(MemcpyAsync)(to, from, bytes, VENDOR(MemcpyHostToDevice), of(stream)),
        "copying to a device");
}
void copy_out(void* to, const void* from, uint64_t bytes, Stream stream) {
  check(VENDOR_CALL(MemcpyAsync)(to, from, bytes, VENDOR(MemcpyDeviceToHost), of(stream)),
        "copying to the host");
}
void copy_within(void* to, const void* from, uint64_t bytes, Stream stream) {
  check(VENDOR_CALL(MemcpyAsync)(to, from, bytes, VENDOR(MemcpyDeviceToDevice), of(stream)),
        "copying");
}
void copy_peer(void* to, uint32_t to_index, const void* from, uint32_t from_index, uint64_t bytes,
               Stream stream) {
  check(VENDOR_CALL(MemcpyPeerAsync)(to, static_cast<int>(to_index), from,
                                     static_cast<int>(from_index), bytes, of(stream)),
        "copying between devices");
}
void fill(void* to, unsigned char value, uint64_t bytes, Stream stream) {
  check(VENDOR_CALL(MemsetAsync)(to, value, bytes, of(stream)), "filling memory");
}

Stream stream_create() {
  StreamHandle made = nullptr;
  check(VENDOR_CALL(StreamCreateWithFlags)(&made, VENDOR(StreamNonBlocking)), "making a stream");
  return made;
}
void stream_destroy(Stream stream) noexcept { ignore(VENDOR_CALL(StreamDestroy)(of(stream))); }
void synchronize(Stream stream) {
  check(VENDOR_CALL(StreamSynchronize)(of(stream)), "waiting for a stream");
}
void synchronize_device() { check(VENDOR_CALL(DeviceSynchronize)(), "waiting for a device"); }

Event event_create() {
  EventHandle made = nullptr;
  check(VENDOR_CALL(EventCreate)(&made), "making an event");
  return made;
}
void event_destroy(Event event) noexcept { ignore(VENDOR_CALL(EventDestroy)(event_of(event))); }
void record(Event event, Stream stream) {
  check(VENDOR_CALL(EventRecord)(event_of(event), of(stream)), "recording an event");
}
void wait(Stream stream, Event event) {
  check(VENDOR_CALL(StreamWaitEvent)(of(stream), event_of(event), 0), "waiting for an event");
}
bool reached(Event event) {
  const VENDOR(Error_t) error = VENDOR_CALL(EventQuery)(event_of(event));
  if (error == VENDOR(ErrorNotReady)) {
    forget_error();
    return false;
  }
  check(error, "asking for an event");
  return true;
}
void synchronize_event(Event event) {
  check(VENDOR_CALL(EventSynchronize)(event_of(event)), "waiting for an event");
}
double seconds_between(Event start, Event end) {
  float milliseconds = 0;
  check(VENDOR_CALL(EventElapsedTime)(&milliseconds, event_of(start), event_of(end)),
        "reading a clock");
  return milliseconds * 1e-3;
}

// Relaxed mode: the calling thread may allocate meanwhile, and other threads are not affected.
void capture_begin(Stream stream) {
  check(VENDOR_CALL(StreamBeginCapture)(of(stream), VENDOR(StreamCaptureModeRelaxed)),
        "capturing a graph");
}
Graph capture_end(Stream stream, bool keep, uint64_t& nodes) {
  VENDOR(Graph_t) graph = nullptr;
  check(VENDOR_CALL(StreamEndCapture)(of(stream), &graph), "ending the capture of a graph");
  const std::unique_ptr<std::remove_pointer_t<VENDOR(Graph_t)>, void (*)(VENDOR(Graph_t))> owned(
      graph, [](VENDOR(Graph_t) gone) { ignore(VENDOR_CALL(GraphDestroy)(gone)); });
  size_t count = 0;
  check(VENDOR_CALL(GraphGetNodes)(graph, nullptr, &count), "counting what a graph does");
  nodes = count;
  VENDOR(GraphExec_t) made = nullptr;
  if (keep) check(VENDOR_CALL(GraphInstantiateWithFlags)(&made, graph, 0), "making a graph");
  return made;
}
void graph_launch(Graph graph, Stream stream) {
  check(VENDOR_CALL(GraphLaunch)(static_cast<VENDOR(GraphExec_t)>(graph), of(stream)),
        "launching a graph");
}
void graph_destroy(Graph graph) noexcept {
  ignore(VENDOR_CALL(GraphExecDestroy)(static_cast<VENDOR(GraphExec_t)>(graph)));
}

}  // namespace rt
}  // namespace tenon::gpu
