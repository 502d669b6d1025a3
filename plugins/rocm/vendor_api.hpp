// The HIP runtime as plugins/gpu/vendor_runtime.cpp calls it: through the table of what was found in the library.
#pragma once

#include "hip.hpp"

#define VENDOR(name) hip##name
#define VENDOR_CALL(name) hip().hip##name

namespace tenon::gpu::vendor {

inline constexpr hipError_t kOutOfMemory = hipErrorOutOfMemory;

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

}  // namespace tenon::gpu::vendor
