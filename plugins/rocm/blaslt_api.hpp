// hipBLASLt as plugins/gpu/blaslt.hpp calls it.
#pragma once

#include <array>
#include <utility>

#include "hipblaslt.hpp"

#define BLASLT(name) hipblasLt##name
#define BLASLT_VALUE(name) HIPBLASLT_##name
#define BLAS_VALUE(name) HIPBLAS_##name
#define BLASLT_CALL(name) hipblaslt()->hipblasLt##name

namespace tenon::gpu::blaslt {

using DataType = hipDataType;
using StreamHandle = ihipStream_t*;

struct Types {
  DataType element, scale;
  hipblasComputeType_t compute;
};
Types types_of(tn_dtype dtype);  // ops/matmul_fused.cpp

// No algorithm asks for more than elements do.
inline constexpr uint32_t kVectorBytes = 0;
inline constexpr std::array<hipblasLtMatmulPreferenceAttributes_t, 0> kAlignmentPreferences{};

inline constexpr std::array<std::pair<hipblasLtMatmulPreferenceAttributes_t, uint32_t>, 0>
    kPreferences{};

inline hipblasLtHandle_t handle_of(const tn_call& call) { return hipblaslt_handle(call); }

}  // namespace tenon::gpu::blaslt
