// The HIP runtime, opened when it is first asked for: a machine without it loads the plugin all the same.
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
  // Has the name of its structure's version from HIP 6 on.
  hipError_t (*hipGetDeviceProperties)(hipDeviceProp_t* properties, int device) = nullptr;
};

// NULL with the reason where the library is missing. Hands it the kernels of this plugin. [thread-safe]
const Hip* open_hip(std::string& reason);
// Once it is open.
const Hip& hip();

}  // namespace tenon::gpu
