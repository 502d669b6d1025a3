// The HIP runtime under the names of runtime.hpp, through the table of hip.hpp.
#include "runtime.hpp"

#include "backend.hpp"
#include "hip.hpp"
#include "range.hpp"
#include "timeline.hpp"

namespace tenon::gpu {
namespace {

uint32_t code_of(hipError_t error) {
  switch (error) {
    case hipErrorOutOfMemory:
      return TN_OUT_OF_MEMORY;
    case hipErrorNoDevice:
    case hipErrorInsufficientDriver:
      return TN_NOT_FOUND;
    default:
      return TN_INTERNAL;
  }
}

void check(hipError_t error, const char* what) {
  if (error == hipSuccess) return;
  static_cast<void>(hip().hipGetLastError());  // or the next call reports it again
  sdk::fail(code_of(error), "[rocm] ", what, ": ", hip().hipGetErrorString(error), " (",
            hip().hipGetErrorName(error), ")");
}

hipStream_t of(rt::Stream stream) { return static_cast<hipStream_t>(stream); }
hipEvent_t event_of(rt::Event event) { return static_cast<hipEvent_t>(event); }

}  // namespace

void check_launch() {
  check(hip().hipGetLastError(), "launching a kernel");
  Timed::launched();
}

namespace rt {

const char* const kName = "rocm";

std::vector<Device> devices(std::string& reason) {
  if (open_hip(reason) == nullptr) return {};
  int count = 0;
  if (const hipError_t error = hip().hipGetDeviceCount(&count); error != hipSuccess || count == 0) {
    static_cast<void>(hip().hipGetLastError());
    reason =
        count == 0 ? "no AMD GPU that the HIP runtime can use" : hip().hipGetErrorString(error);
    return {};
  }
  std::vector<Device> made;
  for (int i = 0; i < count; ++i) {
    const auto attribute = [&](hipDeviceAttribute_t which) {
      int value = 0;
      check(hip().hipDeviceGetAttribute(&value, which, i), "asking for a device's properties");
      return static_cast<uint32_t>(value);
    };
    Device device;
    char text[256] = {};
    check(hip().hipDeviceGetName(text, sizeof text, i), "asking for a device's name");
    device.name = text;
    check(hip().hipDeviceGetPCIBusId(text, sizeof text, i), "asking for a device's place");
    device.pci_id = text;
    size_t bytes = 0;
    check(hip().hipDeviceTotalMem(&bytes, i), "asking for a device's memory");
    device.memory = bytes;
    device.kind = attribute(hipDeviceAttributeIntegrated) != 0 ? TN_DEVICE_KIND_INTEGRATED_GPU
                                                               : TN_DEVICE_KIND_GPU;
    device.compute_units = attribute(hipDeviceAttributeMultiprocessorCount);
    device.warp_width = attribute(hipDeviceAttributeWarpSize);
    device.shared_bytes = attribute(hipDeviceAttributeMaxSharedMemoryPerBlock);
    // Multiply-adds of 64 lanes a cycle in each compute unit; the clock is in kHz.
    device.peak_flops =
        uint64_t{2000} * 64 * attribute(hipDeviceAttributeClockRate) * device.compute_units;
    made.push_back(device);
  }
  return made;
}

void use(uint32_t index) {
  static thread_local uint32_t chosen = ~0u;
  if (chosen == index) return;
  check(hip().hipSetDevice(static_cast<int>(index)), "choosing a device");
  chosen = index;
}

void memory_info(uint64_t* free, uint64_t* total) {
  size_t left = 0, all = 0;
  check(hip().hipMemGetInfo(&left, &all), "asking for free memory");
  *free = left;
  *total = all;
}

void* allocate(uint64_t bytes) {
  void* made = nullptr;
  const hipError_t error = hip().hipMalloc(&made, bytes);
  if (error == hipErrorOutOfMemory) {
    static_cast<void>(hip().hipGetLastError());
    return nullptr;
  }
  check(error, "allocating memory");
  return made;
}
void free(void* address) noexcept { static_cast<void>(hip().hipFree(address)); }

void* host_allocate(uint64_t bytes) {
  void* made = nullptr;
  check(hip().hipHostMalloc(&made, bytes, hipHostMallocPortable | hipHostMallocMapped),
        "allocating pinned memory");
  return made;
}
void host_free(void* address) noexcept { static_cast<void>(hip().hipHostFree(address)); }

bool is_pinned(const void* address) {
  hipPointerAttribute_t attributes{};
  if (hip().hipPointerGetAttributes(&attributes, address) != hipSuccess) {
    static_cast<void>(hip().hipGetLastError());
    return false;
  }
  return attributes.memoryType == hipMemoryTypeHost;
}

void copy_in(void* to, const void* from, uint64_t bytes, Stream stream) {
  check(hip().hipMemcpyAsync(to, from, bytes, hipMemcpyHostToDevice, of(stream)),
        "copying to a device");
}
void copy_out(void* to, const void* from, uint64_t bytes, Stream stream) {
  check(hip().hipMemcpyAsync(to, from, bytes, hipMemcpyDeviceToHost, of(stream)),
        "copying to the host");
}
void copy_within(void* to, const void* from, uint64_t bytes, Stream stream) {
  check(hip().hipMemcpyAsync(to, from, bytes, hipMemcpyDeviceToDevice, of(stream)), "copying");
}
void copy_peer(void* to, uint32_t to_index, const void* from, uint32_t from_index, uint64_t bytes,
               Stream stream) {
  check(hip().hipMemcpyPeerAsync(to, static_cast<int>(to_index), from, static_cast<int>(from_index),
                                 bytes, of(stream)),
        "copying between devices");
}
void fill(void* to, unsigned char value, uint64_t bytes, Stream stream) {
  check(hip().hipMemsetAsync(to, value, bytes, of(stream)), "filling memory");
}

Stream stream_create() {
  hipStream_t made = nullptr;
  check(hip().hipStreamCreateWithFlags(&made, hipStreamNonBlocking), "making a stream");
  return made;
}
void stream_destroy(Stream stream) noexcept {
  static_cast<void>(hip().hipStreamDestroy(of(stream)));
}
void synchronize(Stream stream) {
  check(hip().hipStreamSynchronize(of(stream)), "waiting for a stream");
}
void synchronize_device() { check(hip().hipDeviceSynchronize(), "waiting for a device"); }

Event event_create() {
  hipEvent_t made = nullptr;
  check(hip().hipEventCreate(&made), "making an event");
  return made;
}
void event_destroy(Event event) noexcept {
  static_cast<void>(hip().hipEventDestroy(event_of(event)));
}
void record(Event event, Stream stream) {
  check(hip().hipEventRecord(event_of(event), of(stream)), "recording an event");
}
void wait(Stream stream, Event event) {
  check(hip().hipStreamWaitEvent(of(stream), event_of(event), 0), "waiting for an event");
}
bool reached(Event event) {
  const hipError_t error = hip().hipEventQuery(event_of(event));
  if (error == hipErrorNotReady) {
    static_cast<void>(hip().hipGetLastError());
    return false;
  }
  check(error, "asking for an event");
  return true;
}
void synchronize_event(Event event) {
  check(hip().hipEventSynchronize(event_of(event)), "waiting for an event");
}
double seconds_between(Event start, Event end) {
  float milliseconds = 0;
  check(hip().hipEventElapsedTime(&milliseconds, event_of(start), event_of(end)),
        "reading a clock");
  return milliseconds * 1e-3;
}

// ROCTX is a library of its own, which is not asked for.
void range_push(const char*) noexcept {}
void range_pop() noexcept {}

}  // namespace rt
}  // namespace tenon::gpu
