// A stand-in for libcublasLt on the host: the functions of cublaslt_functions.def, after NVIDIA's cuBLAS documentation ("Using the
// cuBLASLt API"), by plain loops in double precision. It shows what the plugin asks the library for, without a GPU.
#include <cublasLt.h>

#include <algorithm>
#include <cstring>

#include "../gpu/blas/fake_blas.hpp"

#define BLASLT(name) cublasLt##name
#define BLASLT_VALUE(name) CUBLASLT_##name
#define BLAS_VALUE(name) CUBLAS_##name
#define STATUS(name) CUBLAS_STATUS_##name

namespace fake_blaslt {

using Status = cublasStatus_t;
using DataType = cudaDataType_t;
using ComputeType = cublasComputeType_t;
using StreamHandle = cudaStream_t;

constexpr const char* kLibrary = "cublasLt";

inline fake_blas::Element element_of(DataType type) {
  switch (type) {
    case CUDA_R_64F:
      return fake_blas::Element::kDouble;
    case CUDA_R_32F:
      return fake_blas::Element::kFloat;
    case CUDA_R_16F:
      return fake_blas::Element::kHalf;
    default:
      return fake_blas::Element::kBFloat;
  }
}
inline DataType scale_of(DataType type) { return type == CUDA_R_64F ? type : CUDA_R_32F; }
inline ComputeType compute_of(DataType type) {
  return type == CUDA_R_64F ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F;
}

Status take_bytes(void* field, size_t wanted, const void* value, size_t bytes) {
  if (bytes != wanted) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(field, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

struct Preference {
  uint64_t workspace = 0;
  uint32_t alignments[4] = {256, 256, 256, 256};

  Status set(cublasLtMatmulPreferenceAttributes_t which, const void* value, size_t bytes) {
    constexpr cublasLtMatmulPreferenceAttributes_t kAlignments[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
    if (which == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
      return take_bytes(&workspace, sizeof workspace, value, bytes);
    for (int i = 0; i < 4; ++i)
      if (which == kAlignments[i])
        return take_bytes(&alignments[i], sizeof alignments[i], value, bytes);
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  uint32_t alignment() const { return *std::min_element(alignments, alignments + 4); }
};

}  // namespace fake_blaslt

#include "../gpu/blas/fake_blaslt.hpp"

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  static int one = 0;
  *handle = reinterpret_cast<cublasLtHandle_t>(&one);
  return CUBLAS_STATUS_SUCCESS;
}

const char* cublasLtGetStatusString(cublasStatus_t) { return "the stand-in refuses it"; }

}  // extern "C"
