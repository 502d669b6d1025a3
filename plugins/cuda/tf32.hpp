// Whether products of f32 may round their factors to TF32.
#pragma once

#include "library_kernel.hpp"

namespace tenon::gpu {

// TENON_CUDA_TF32=1 of the environment. [thread-safe]
inline bool allows_tf32() {
  static const bool yes = number_from("TENON_CUDA_TF32", 0) == 1;
  return yes;
}

}  // namespace tenon::gpu
