// A stand-in for the HIP runtime: two devices whose memory is the host's. Enqueued work runs when somebody waits for it, or piece by piece
// when somebody asks whether it is done: as late as on an AMD GPU. It runs only the kernels that fill memory, which it knows by name. A
// captured stream records its work, and becomes invalid for good if somebody waits for it.
#include <hip/hip_runtime_api.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

struct ihipGraph {
  std::vector<std::function<void()>> work;
  bool valid = true;
};
struct hipGraphExec {
  std::vector<std::function<void()>> work;
};
struct ihipStream_t {
  int device;
  std::deque<std::function<void()>> work;
  std::unique_ptr<ihipGraph> captured = nullptr;
};
struct ihipEvent_t {
  int device;
  hipStream_t stream = nullptr;
  uint64_t recorded = 0, reached = 0;
  float milliseconds = 0;
};

namespace {

constexpr int kDevices = 2;
constexpr size_t kMemory = size_t{256} << 20;

struct Runtime {
  std::recursive_mutex mutex;
  std::map<const char*, size_t> pinned;
  std::map<void*, std::pair<int, size_t>> memory;
  size_t used[kDevices] = {};
  std::set<hipStream_t> streams;
  std::vector<std::unique_ptr<ihipEvent_t>> events;  // kept, because work may still refer to them
  std::map<const void*, std::string> kernels;
  float milliseconds = 0;
};
Runtime& runtime() {
  static Runtime& one = *new Runtime;
  return one;
}
thread_local int current = 0;
thread_local hipError_t last = hipSuccess;

// The faults that TENON_FAKE_HIP names.
bool meets(const char* what) {
  const char* const named = std::getenv("TENON_FAKE_HIP");
  return named != nullptr && std::strcmp(named, what) == 0;
}

hipError_t result(hipError_t error) {
  if (error != hipSuccess) last = error;
  return error;
}

template <class Fn>
hipError_t locked(Fn&& fn) {
  const std::lock_guard lock(runtime().mutex);
  return result(fn());
}

void step(hipStream_t stream) {
  const std::function<void()> work = std::move(stream->work.front());
  stream->work.pop_front();
  work();
}
void drain(hipStream_t stream) {
  while (!stream->work.empty()) step(stream);
}
void drain_all(int device) {
  for (const hipStream_t stream : runtime().streams)
    if (stream->device == device) drain(stream);
}

// Streams belong to the device that the thread has selected.
hipError_t enqueue(hipStream_t stream, std::function<void()> work, float milliseconds = 1) {
  if (stream == nullptr || stream->device != current) return hipErrorInvalidHandle;
  std::function<void()> timed = [work = std::move(work), milliseconds] {
    work();
    runtime().milliseconds += milliseconds;
  };
  if (stream->captured != nullptr)
    stream->captured->work.push_back(std::move(timed));
  else
    stream->work.push_back(std::move(timed));
  return hipSuccess;
}

// Calls that are not allowed on a stream that is being captured.
hipError_t breaks_capture(hipStream_t stream) {
  if (stream->captured == nullptr) return hipSuccess;
  stream->captured->valid = false;
  return hipErrorStreamCaptureUnsupported;
}

bool is_pinned(const void* address) {
  const auto* const at = static_cast<const char*>(address);
  auto found = runtime().pinned.upper_bound(at);
  return found != runtime().pinned.begin() && at < (--found)->first + found->second;
}

// Whose memory it is; -1: no device's.
int device_of(const void* address) {
  for (const auto& [first, block] : runtime().memory) {
    const auto* const begin = static_cast<const char*>(first);
    if (address >= begin && address < begin + block.second) return block.first;
  }
  return -1;
}

template <class T>
std::function<void()> filling(void** arguments) {
  T* const to = *static_cast<T**>(arguments[0]);
  const int64_t count = *static_cast<int64_t*>(arguments[1]);
  const T value = *static_cast<T*>(arguments[2]);
  return [=] {
    for (int64_t i = 0; i < count; ++i) to[i] = value;
  };
}

void copy(void* to, const void* from, size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace

extern "C" {

const char* hipGetErrorName(hipError_t) { return "hipErrorOfTheStandIn"; }
const char* hipGetErrorString(hipError_t error) {
  return error == hipErrorInvalidHandle ? "another device's handle" : "refused by the stand-in";
}
hipError_t hipGetLastError() {
  const hipError_t error = last;
  last = hipSuccess;
  return error;
}

hipError_t hipGetDeviceCount(int* count) {
  *count = 0;
  if (meets("no device")) return hipErrorNoDevice;
  if (meets("old driver")) return hipErrorInsufficientDriver;
  *count = kDevices;
  return hipSuccess;
}
hipError_t hipGetDevice(int* device) {
  *device = current;
  return hipSuccess;
}
hipError_t hipSetDevice(int device) {
  if (device < 0 || device >= kDevices) return result(hipErrorInvalidDevice);
  current = device;
  return hipSuccess;
}
hipError_t hipDeviceGetName(char* name, int length, hipDevice_t) {
  std::snprintf(name, static_cast<size_t>(length), "stand-in");
  return hipSuccess;
}
hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int) {
  *properties = {};
  std::snprintf(properties->gcnArchName, sizeof properties->gcnArchName, "gfx90a:sramecc+:xnack-");
  return hipSuccess;
}
hipError_t hipDeviceGetPCIBusId(char* id, int length, int device) {
  std::snprintf(id, static_cast<size_t>(length), "0000:0%d:00.0", device);
  return hipSuccess;
}
hipError_t hipDeviceTotalMem(size_t* bytes, hipDevice_t) {
  *bytes = kMemory;
  return hipSuccess;
}
hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t which, int) {
  *value = which == hipDeviceAttributeWarpSize                  ? 64
           : which == hipDeviceAttributeMaxSharedMemoryPerBlock ? 65536
           : which == hipDeviceAttributeIntegrated              ? 0
                                                                : 1000;
  return hipSuccess;
}

// ---- Memory -------------------------------------------------------------------------------------------------------------

hipError_t hipMemGetInfo(size_t* free, size_t* total) {
  return locked([&] {
    *total = kMemory;
    *free = kMemory - runtime().used[current];
    return hipSuccess;
  });
}
hipError_t hipMalloc(void** address, size_t bytes) {
  if (meets("lost")) return result(hipErrorIllegalAddress);
  if (meets("full")) return result(hipErrorOutOfMemory);
  return locked([&] {
    if (bytes > kMemory - runtime().used[current]) return hipErrorOutOfMemory;
    *address = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    runtime().memory[*address] = {current, bytes};
    runtime().used[current] += bytes;
    return hipSuccess;
  });
}
hipError_t hipFree(void* address) {
  return locked([&] {
    if (address == nullptr) return hipSuccess;
    const auto found = runtime().memory.find(address);
    if (found == runtime().memory.end()) return hipErrorInvalidValue;
    const auto [device, bytes] = found->second;
    drain_all(device);
    runtime().used[device] -= bytes;
    runtime().memory.erase(found);
    std::free(address);
    return hipSuccess;
  });
}
hipError_t hipHostMalloc(void** address, size_t bytes, unsigned) {
  return locked([&] {
    *address = std::malloc(bytes + 1);
    runtime().pinned[static_cast<char*>(*address)] = bytes;
    return hipSuccess;
  });
}
hipError_t hipHostFree(void* address) {
  return locked([&] {
    if (runtime().pinned.count(static_cast<char*>(address)) == 0) return hipErrorInvalidValue;
    for (int device = 0; device < kDevices; ++device) drain_all(device);
    runtime().pinned.erase(static_cast<char*>(address));
    std::free(address);
    return hipSuccess;
  });
}
hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* address) {
  return locked([&] {
    *attributes = {};
    const int device = device_of(address);
    if (device < 0 && !is_pinned(address)) return hipErrorInvalidValue;
    const hipMemoryType type = device < 0 ? hipMemoryTypeHost : hipMemoryTypeDevice;
#if HIP_VERSION_MAJOR >= 6
    attributes->type = type;
#else
    attributes->memoryType = type;
#endif
    attributes->device = device;
    return hipSuccess;
  });
}

hipError_t hipMemcpyAsync(void* to, const void* from, size_t bytes, hipMemcpyKind kind,
                          hipStream_t stream) {
  return locked([&] {
    if (kind == hipMemcpyHostToDevice && !is_pinned(from)) {
      const auto* const first = static_cast<const char*>(from);
      return enqueue(stream, [to, staged = std::vector<char>(first, first + bytes)] {
        copy(to, staged.data(), staged.size());
      });
    }
    const hipError_t error = enqueue(stream, [=] { copy(to, from, bytes); });
    if (error == hipSuccess && kind == hipMemcpyDeviceToHost && !is_pinned(to)) drain(stream);
    return error;
  });
}
hipError_t hipMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes,
                              hipStream_t stream) {
  return locked([&] { return enqueue(stream, [=] { copy(to, from, bytes); }); });
}
hipError_t hipMemsetAsync(void* to, int value, size_t bytes, hipStream_t stream) {
  return locked([&] {
    return enqueue(stream, [=] {
      if (bytes > 0) std::memset(to, value, bytes);
    });
  });
}

// ---- Streams, events ----------------------------------------------------------------------------------------------------

hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned) {
  return locked([&] {
    *stream = new ihipStream_t{current, {}, nullptr};
    runtime().streams.insert(*stream);
    return hipSuccess;
  });
}
hipError_t hipStreamDestroy(hipStream_t stream) {
  return locked([&] {
    drain(stream);
    runtime().streams.erase(stream);
    delete stream;
    return hipSuccess;
  });
}
hipError_t hipStreamSynchronize(hipStream_t stream) {
  if (meets("lost")) return result(hipErrorIllegalAddress);
  if (meets("other code")) return result(hipErrorNoBinaryForGpu);
  return locked([&] {
    drain(stream);
    return breaks_capture(stream);
  });
}
hipError_t hipDeviceSynchronize() {
  return locked([&] {
    drain_all(current);
    hipError_t error = hipSuccess;
    for (const hipStream_t stream : runtime().streams)
      if (stream->device == current && breaks_capture(stream) != hipSuccess)
        error = hipErrorStreamCaptureUnsupported;
    return error;
  });
}
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned) {
  return locked([&] {
    if (stream == nullptr) return hipSuccess;  // the default stream has no work here
    if (const hipError_t error = breaks_capture(stream); error != hipSuccess) return error;
    const uint64_t wanted = event->recorded;
    return enqueue(
        stream,
        [=] {
          while (event->reached < wanted) step(event->stream);
        },
        0);
  });
}

hipError_t hipEventCreate(hipEvent_t* event) {
  return locked([&] {
    runtime().events.push_back(std::make_unique<ihipEvent_t>(ihipEvent_t{current}));
    *event = runtime().events.back().get();
    return hipSuccess;
  });
}
hipError_t hipEventDestroy(hipEvent_t) { return hipSuccess; }
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return locked([&] {
    if (event->device != stream->device) return hipErrorInvalidHandle;
    if (const hipError_t error = breaks_capture(stream); error != hipSuccess) return error;
    event->stream = stream;
    const uint64_t now = ++event->recorded;
    return enqueue(
        stream,
        [=] {
          event->reached = now;
          event->milliseconds = runtime().milliseconds;
        },
        0);
  });
}
hipError_t hipEventQuery(hipEvent_t event) {
  return locked([&] {
    if (event->reached == event->recorded) return hipSuccess;
    step(event->stream);
    return hipErrorNotReady;
  });
}
hipError_t hipEventSynchronize(hipEvent_t event) {
  return locked([&] {
    while (event->reached < event->recorded) step(event->stream);
    return hipSuccess;
  });
}
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t end) {
  return locked([&] {
    if (start->reached < start->recorded || end->reached < end->recorded) return hipErrorNotReady;
    *milliseconds = end->milliseconds - start->milliseconds;
    return hipSuccess;
  });
}

// ---- Graphs -------------------------------------------------------------------------------------------------------------

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode) {
  return locked([&] {
    if (stream->captured != nullptr) return hipErrorIllegalState;
    stream->captured = std::make_unique<ihipGraph>();
    return hipSuccess;
  });
}
hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  return locked([&] {
    if (stream->captured == nullptr) return hipErrorIllegalState;
    const bool valid = stream->captured->valid;
    *graph = valid ? stream->captured.release() : nullptr;
    stream->captured = nullptr;
    return valid ? hipSuccess : hipErrorStreamCaptureInvalidated;
  });
}
hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t*, size_t* count) {
  *count = graph->work.size();
  return hipSuccess;
}
hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* made, hipGraph_t graph,
                                        unsigned long long) {
  *made = new hipGraphExec{graph->work};
  return hipSuccess;
}
hipError_t hipGraphLaunch(hipGraphExec_t graph, hipStream_t stream) {
  return locked([&] {
    if (stream->captured != nullptr) return hipErrorStreamCaptureUnsupported;
    for (const auto& work : graph->work) stream->work.push_back(work);
    return hipSuccess;
  });
}
hipError_t hipGraphExecDestroy(hipGraphExec_t graph) {
  delete graph;
  return hipSuccess;
}
hipError_t hipGraphDestroy(hipGraph_t graph) {
  delete graph;
  return hipSuccess;
}

// ---- Kernels ------------------------------------------------------------------------------------------------------------

void** __hipRegisterFatBinary(const void*) {
  static void* module = nullptr;
  return &module;
}
void __hipRegisterFunction(void**, const void* stub, char*, const char* name, unsigned, void*,
                           void*, void*, void*, int*) {
  runtime().kernels[stub] = name;
}
hipError_t hipLaunchKernel(const void* stub, dim3, dim3, void** arguments, size_t,
                           hipStream_t stream) {
  return locked([&] {
    const std::string& name = runtime().kernels[stub];
    if (name.find("fill_elementsIt") != std::string::npos)
      return enqueue(stream, filling<uint16_t>(arguments));
    if (name.find("fill_elementsIj") != std::string::npos)
      return enqueue(stream, filling<uint32_t>(arguments));
    if (name.find("fill_elementsIm") != std::string::npos)
      return enqueue(stream, filling<uint64_t>(arguments));
    return hipErrorInvalidDeviceFunction;
  });
}

}  // extern "C"
