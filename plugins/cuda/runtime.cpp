// The CUDA runtime under the names of runtime.hpp. It is linked statically and opens the driver when it is first asked.
#include "runtime.hpp"

#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include "backend.hpp"
#include "range.hpp"
#include "timeline.hpp"

namespace tenon::gpu {
namespace {

uint32_t code_of(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return TN_OUT_OF_MEMORY;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
      return TN_NOT_FOUND;
    default:
      return TN_INTERNAL;
  }
}

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // or the next call reports it again
  sdk::fail(code_of(error), "[cuda] ", what, ": ", cudaGetErrorString(error), " (",
            cudaGetErrorName(error), ")");
}

cudaStream_t of(rt::Stream stream) { return static_cast<cudaStream_t>(stream); }
cudaEvent_t event_of(rt::Event event) { return static_cast<cudaEvent_t>(event); }

// Cores of a multiprocessor that add and multiply f32 in a cycle: CUDA C++ Programming Guide, "Arithmetic Instructions".
int f32_lanes(int major, int minor) {
  if (major == 7) return 64;
  if (major == 8) return minor == 0 ? 64 : 128;
  return 128;
}

}  // namespace

void check_launch() {
  check(cudaGetLastError(), "launching a kernel");
  Timed::launched();
}

namespace rt {

const char* const kName = "cuda";

std::vector<Device> devices(std::string& reason) {
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    cudaGetLastError();
    reason = error == cudaErrorInsufficientDriver
                 ? "no NVIDIA driver that CUDA " + std::to_string(CUDART_VERSION / 1000) + "." +
                       std::to_string(CUDART_VERSION % 1000 / 10) + " can use"
                 : cudaGetErrorString(error);
    return {};
  }
  std::vector<Device> made;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp p;
    check(cudaGetDeviceProperties(&p, i), "asking for a device's properties");
    Device device;
    device.name = p.name;
    char id[32] = {};
    check(cudaDeviceGetPCIBusId(id, sizeof id, i), "asking for a device's place");
    device.pci_id = id;
    device.kind = p.integrated != 0 ? TN_DEVICE_KIND_INTEGRATED_GPU : TN_DEVICE_KIND_GPU;
    device.memory = p.totalGlobalMem;
    device.compute_units = static_cast<uint32_t>(p.multiProcessorCount);
    device.warp_width = static_cast<uint32_t>(p.warpSize);
    device.shared_bytes = static_cast<uint32_t>(p.sharedMemPerBlock);
    int kilohertz = 0;
    check(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, i),
          "asking for a device's clock");
    device.peak_flops = uint64_t{2000} * static_cast<uint64_t>(kilohertz) * device.compute_units *
                        static_cast<uint64_t>(f32_lanes(p.major, p.minor));
    made.push_back(device);
  }
  return made;
}

void use(uint32_t index) {
  static thread_local uint32_t chosen = ~0u;
  if (chosen == index) return;
  check(cudaSetDevice(static_cast<int>(index)), "choosing a device");
  chosen = index;
}

void memory_info(uint64_t* free, uint64_t* total) {
  size_t left = 0, all = 0;
  check(cudaMemGetInfo(&left, &all), "asking for free memory");
  *free = left;
  *total = all;
}

void* allocate(uint64_t bytes) {
  void* made = nullptr;
  const cudaError_t error = cudaMalloc(&made, bytes);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return nullptr;
  }
  check(error, "allocating memory");
  return made;
}
void free(void* address) noexcept { cudaFree(address); }

void* host_allocate(uint64_t bytes) {
  void* made = nullptr;
  check(cudaHostAlloc(&made, bytes, cudaHostAllocPortable | cudaHostAllocMapped),
        "allocating pinned memory");
  return made;
}
void host_free(void* address) noexcept { cudaFreeHost(address); }

bool is_pinned(const void* address) {
  cudaPointerAttributes attributes{};
  if (cudaPointerGetAttributes(&attributes, address) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  return attributes.type == cudaMemoryTypeHost;
}

void copy_in(void* to, const void* from, uint64_t bytes, Stream stream) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, of(stream)),
        "copying to a device");
}
void copy_out(void* to, const void* from, uint64_t bytes, Stream stream) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, of(stream)),
        "copying to the host");
}
void copy_within(void* to, const void* from, uint64_t bytes, Stream stream) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, of(stream)), "copying");
}
void copy_peer(void* to, uint32_t to_index, const void* from, uint32_t from_index, uint64_t bytes,
               Stream stream) {
  check(cudaMemcpyPeerAsync(to, static_cast<int>(to_index), from, static_cast<int>(from_index),
                            bytes, of(stream)),
        "copying between devices");
}
void fill(void* to, unsigned char value, uint64_t bytes, Stream stream) {
  check(cudaMemsetAsync(to, value, bytes, of(stream)), "filling memory");
}

Stream stream_create() {
  cudaStream_t made = nullptr;
  check(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "making a stream");
  return made;
}
void stream_destroy(Stream stream) noexcept { cudaStreamDestroy(of(stream)); }
void synchronize(Stream stream) {
  check(cudaStreamSynchronize(of(stream)), "waiting for a stream");
}
void synchronize_device() { check(cudaDeviceSynchronize(), "waiting for a device"); }

Event event_create() {
  cudaEvent_t made = nullptr;
  check(cudaEventCreate(&made), "making an event");
  return made;
}
void event_destroy(Event event) noexcept { cudaEventDestroy(event_of(event)); }
void record(Event event, Stream stream) {
  check(cudaEventRecord(event_of(event), of(stream)), "recording an event");
}
void wait(Stream stream, Event event) {
  check(cudaStreamWaitEvent(of(stream), event_of(event), 0), "waiting for an event");
}
bool reached(Event event) {
  const cudaError_t error = cudaEventQuery(event_of(event));
  if (error == cudaErrorNotReady) {
    cudaGetLastError();
    return false;
  }
  check(error, "asking for an event");
  return true;
}
void synchronize_event(Event event) {
  check(cudaEventSynchronize(event_of(event)), "waiting for an event");
}
double seconds_between(Event start, Event end) {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, event_of(start), event_of(end)), "reading a clock");
  return milliseconds * 1e-3;
}

void range_push(const char* name) noexcept { nvtxRangePushA(name); }
void range_pop() noexcept { nvtxRangePop(); }

}  // namespace rt
}  // namespace tenon::gpu
