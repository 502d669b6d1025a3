// Which of the architectures that the plugin was compiled for runs on a device.
#pragma once

#include <cstdint>
#include <span>

namespace tenon::gpu {

// 0 if none does. Machine code runs on the same major version from its minor version on; PTX, which there is of the last one only, on all
// later devices (CUDA C++ Programming Guide, "Application Compatibility"). The driver prefers machine code.
inline uint32_t compiled_for(uint32_t device, std::span<const uint32_t> architectures) {
  uint32_t best = 0;
  for (const uint32_t one : architectures)
    if (one / 10 == device / 10 && one <= device && one > best) best = one;
  if (best != 0 || architectures.empty()) return best;
  return architectures.back() <= device ? architectures.back() : 0;
}

}  // namespace tenon::gpu
