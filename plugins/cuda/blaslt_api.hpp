// cuBLASLt as plugins/gpu/blaslt.hpp calls it.
#pragma once

#include <utility>

#include "cublaslt.hpp"

#define BLASLT(name) cublasLt##name
#define BLASLT_VALUE(name) CUBLASLT_##name
#define BLAS_VALUE(name) CUBLAS_##name
#define BLASLT_CALL(name) cublaslt()->cublasLt##name

namespace tenon::gpu::blaslt {

using DataType = cudaDataType_t;
using StreamHandle = cudaStream_t;

struct Types {
  DataType element, scale;
  cublasComputeType_t compute;
};
Types types_of(tn_dtype dtype);  // ops/matmul.cpp

// What vectors of algorithms ask for.
inline constexpr uint32_t kVectorBytes = 16;
inline constexpr cublasLtMatmulPreferenceAttributes_t kAlignmentPreferences[] = {
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};

// Partial sums are not rounded to the result's type before they are added.
inline constexpr std::pair<cublasLtMatmulPreferenceAttributes_t, uint32_t> kPreferences[] = {
    {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE}};

inline cublasLtHandle_t handle_of(const tn_call& call) {
  return cublaslt_handle(call.device_index);
}

}  // namespace tenon::gpu::blaslt
