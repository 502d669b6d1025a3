// The HIP runtime, opened when it is first asked for: a machine without it loads the plugin all the same.
#pragma once

#include <hip/hip_runtime_api.h>

#include <string>

namespace tenon::gpu {

// Functions of libamdhip64 under their own names. Every one that is used stands here.
#define TENON_HIP_FUNCTIONS(X)                                                                   \
  X(hipGetErrorString)                                                                           \
  X(hipGetErrorName) X(hipGetLastError) X(hipGetDeviceCount) X(hipSetDevice) X(hipDeviceGetName) \
      X(hipDeviceGetPCIBusId) X(hipDeviceTotalMem) X(hipDeviceGetAttribute) X(hipMemGetInfo)     \
          X(hipFree) X(hipHostFree) X(hipPointerGetAttributes) X(hipMemcpyAsync)                 \
              X(hipMemcpyPeerAsync) X(hipMemsetAsync) X(hipStreamCreateWithFlags)                \
                  X(hipStreamDestroy) X(hipStreamSynchronize) X(hipStreamWaitEvent)              \
                      X(hipDeviceSynchronize) X(hipEventCreate) X(hipEventDestroy)               \
                          X(hipEventRecord) X(hipEventQuery) X(hipEventSynchronize)              \
                              X(hipEventElapsedTime) X(hipLaunchKernel)

struct Hip {
#define TENON_HIP_MEMBER(name) decltype(&::name) name = nullptr;
  TENON_HIP_FUNCTIONS(TENON_HIP_MEMBER)
#undef TENON_HIP_MEMBER
  // The header overloads these by templates.
  hipError_t (*hipMalloc)(void** address, size_t bytes) = nullptr;
  hipError_t (*hipHostMalloc)(void** address, size_t bytes, unsigned flags) = nullptr;
};

// NULL with the reason where the library is missing. Hands it the kernels of this plugin. [thread-safe]
const Hip* open_hip(std::string& reason);
// Once it is open.
const Hip& hip();

}  // namespace tenon::gpu
