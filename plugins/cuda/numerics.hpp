// What the environment allows NVIDIA's libraries to do for speed. [thread-safe]
#pragma once

#include "library_kernel.hpp"

namespace tenon::gpu {

// TENON_CUDA_TF32=1: products of f32 may round their factors to TF32.
inline bool allows_tf32() {
  static const bool yes = number_from("TENON_CUDA_TF32", 0) == 1;
  return yes;
}

// TENON_CUDA_NONDETERMINISTIC=1: the order of sums may vary.
inline bool allows_nondeterminism() {
  static const bool yes = number_from("TENON_CUDA_NONDETERMINISTIC", 0) == 1;
  return yes;
}

}  // namespace tenon::gpu
