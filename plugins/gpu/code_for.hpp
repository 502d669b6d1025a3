// Kernels and devices of different architectures.
#pragma once

#include <cstdint>

namespace tenon::gpu::rt {

// The architecture whose kernels of the plugin run on devices of another: a new device may run old code. 0 if none do. Defined by the
// vendor's runtime.cpp.
uint32_t code_for(uint32_t architecture);

}  // namespace tenon::gpu::rt
