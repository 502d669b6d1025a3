// The HIP runtime for plugins/gpu/vendor_runtime.cpp, through the table of functions found in the library.
#pragma once

#include "hip.hpp"

#define VENDOR(name) hip##name
#define VENDOR_CALL(name) hip().hip##name

namespace tenon::gpu::vendor {

inline constexpr hipError_t kOutOfMemory = hipErrorOutOfMemory;

// After these errors, every later call of the process fails on the device.
inline bool is_lost(hipError_t error) {
  switch (error) {
    case hipErrorIllegalAddress:
    case hipErrorLaunchFailure:
    case hipErrorLaunchTimeOut:
    case hipErrorECCNotCorrectable:
    case hipErrorContextIsDestroyed:
      return true;
    default:
      return false;
  }
}
// HIP has no such error: processes share a device.
inline bool is_taken(hipError_t) { return false; }

// There is no kernel for the device in the plugin.
inline bool is_unsuited(hipError_t error) { return error == hipErrorNoBinaryForGpu; }

inline hipError_t host_allocate(void** made, size_t bytes) {
  return hip().hipHostMalloc(made, bytes, hipHostMallocPortable | hipHostMallocMapped);
}
inline hipError_t host_free(void* address) { return hip().hipHostFree(address); }

using PointerAttributes = hipPointerAttribute_t;
// HIP 6 renamed the field.
inline hipMemoryType type_of(const PointerAttributes& attributes) {
#if HIP_VERSION_MAJOR >= 6
  return attributes.type;
#else
  return attributes.memoryType;
#endif
}

// Every device reaches such memory.
inline bool is_managed(const PointerAttributes& attributes) { return attributes.isManaged != 0; }

}  // namespace tenon::gpu::vendor
