// The HIP runtime, opened at the first use, so that a machine without it can still load the plugin.
#pragma once

#include <hip/hip_runtime_api.h>

#include <string>

namespace tenon::gpu {

// Functions of the library.
struct Hip {
#define FUNCTION(name) decltype(&::name) name = nullptr;
#include "hip_functions.def"
#undef FUNCTION
  // The header overloads these by templates.
  hipError_t (*hipMalloc)(void** address, size_t bytes) = nullptr;
  hipError_t (*hipHostMalloc)(void** address, size_t bytes, unsigned flags) = nullptr;
  // HIP 6 added the version of its structure to the name.
  hipError_t (*hipGetDeviceProperties)(hipDeviceProp_t* properties, int device) = nullptr;
};

// NULL with the reason if the library is missing. Registers this plugin's kernels with it. [thread-safe]
const Hip* open_hip(std::string& reason);
// Only once it is open.
const Hip& hip();

}  // namespace tenon::gpu
