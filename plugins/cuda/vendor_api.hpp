// CUDA's runtime as plugins/gpu/vendor_runtime.cpp calls it.
#pragma once

#include <cuda_runtime.h>

#define VENDOR(name) cuda##name
#define VENDOR_CALL(name) cuda##name

namespace tenon::gpu::vendor {

inline constexpr cudaError_t kOutOfMemory = cudaErrorMemoryAllocation;

// After these errors, every later call of the process fails on the device.
inline bool is_lost(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorECCUncorrectable:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorAssert:
    case cudaErrorContextIsDestroyed:
      return true;
    default:
      return false;
  }
}
// Another process uses the device exclusively.
inline bool is_taken(cudaError_t error) { return error == cudaErrorDevicesUnavailable; }

// There is no kernel for the device in the plugin.
inline bool is_unsuited(cudaError_t error) {
  return error == cudaErrorNoKernelImageForDevice || error == cudaErrorUnsupportedPtxVersion;
}

inline cudaError_t host_allocate(void** made, size_t bytes) {
  return cudaHostAlloc(made, bytes, cudaHostAllocPortable | cudaHostAllocMapped);
}
inline cudaError_t host_free(void* address) { return cudaFreeHost(address); }

using PointerAttributes = cudaPointerAttributes;
inline cudaMemoryType type_of(const PointerAttributes& attributes) { return attributes.type; }

// Every device reaches such memory.
inline bool is_managed(const PointerAttributes& attributes) {
  return attributes.type == cudaMemoryTypeManaged;
}

}  // namespace tenon::gpu::vendor
