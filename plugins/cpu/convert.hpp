// Long conversions between f32 and the half types, by the best instructions of this processor.
#pragma once

#include <cstdint>

namespace tenon::cpu {

struct HalfConversions {
  void (*from_f16)(const uint16_t* in, float* out, int64_t n);
  void (*to_f16)(const float* in, uint16_t* out, int64_t n);
  void (*from_bf16)(const uint16_t* in, float* out, int64_t n);
  void (*to_bf16)(const float* in, uint16_t* out, int64_t n);
};
const HalfConversions& half_conversions();

}  // namespace tenon::cpu
