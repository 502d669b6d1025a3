// What is used of hipBLASLt's C interface. Declared here, as Debian has no headers of it; names, values and order of arguments are
// those of AMD's documentation: hipBLASLt API reference ("API Reference", "Data types"), hipBLAS ("hipblasOperation_t",
// "hipblasComputeType_t", "hipblasStatus_t") and HIP ("hipDataType"); the values as in the enumerations of ROCm's headers. The same in
// ROCm 6 and 7; ROCm 5 numbered types otherwise. Not beside HIP's own headers, which have hipDataType.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

struct ihipStream_t;
typedef void* hipblasLtHandle_t;
struct hipblasLtMatmulDescOpaque_t;
struct hipblasLtMatrixLayoutOpaque_t;
struct hipblasLtMatmulPreferenceOpaque_t;
typedef hipblasLtMatmulDescOpaque_t* hipblasLtMatmulDesc_t;
typedef hipblasLtMatrixLayoutOpaque_t* hipblasLtMatrixLayout_t;
typedef hipblasLtMatmulPreferenceOpaque_t* hipblasLtMatmulPreference_t;

enum hipblasStatus_t : int32_t {
  HIPBLAS_STATUS_SUCCESS = 0,
  HIPBLAS_STATUS_ALLOC_FAILED = 2,
  HIPBLAS_STATUS_INVALID_VALUE = 3,
  HIPBLAS_STATUS_NOT_SUPPORTED = 7,
  HIPBLAS_STATUS_ARCH_MISMATCH = 8,
};
enum hipblasOperation_t : int32_t { HIPBLAS_OP_N = 111, HIPBLAS_OP_T = 112 };
enum hipDataType : int32_t { HIP_R_32F = 0, HIP_R_16F = 2, HIP_R_16BF = 14 };
enum hipblasComputeType_t : int32_t { HIPBLAS_COMPUTE_32F = 2 };

enum hipblasLtMatmulDescAttributes_t : int32_t {
  HIPBLASLT_MATMUL_DESC_TRANSA = 0,          // hipblasOperation_t
  HIPBLASLT_MATMUL_DESC_TRANSB = 1,          // the same
  HIPBLASLT_MATMUL_DESC_EPILOGUE = 2,        // hipblasLtEpilogue_t
  HIPBLASLT_MATMUL_DESC_BIAS_POINTER = 3,    // const void*, of the device
  HIPBLASLT_MATMUL_DESC_BIAS_DATA_TYPE = 4,  // int32_t, a hipDataType
};
// The bias has a value for each row of the result; gelu is the tanh approximation.
enum hipblasLtEpilogue_t : uint32_t {
  HIPBLASLT_EPILOGUE_DEFAULT = 1,
  HIPBLASLT_EPILOGUE_RELU = 2,
  HIPBLASLT_EPILOGUE_BIAS = 4,
  HIPBLASLT_EPILOGUE_RELU_BIAS = 6,
  HIPBLASLT_EPILOGUE_GELU = 32,
  HIPBLASLT_EPILOGUE_GELU_BIAS = 36,
  HIPBLASLT_EPILOGUE_BGRADB = 512,
};
enum hipblasLtMatrixLayoutAttribute_t : int32_t {
  HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 0,           // int32_t
  HIPBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 1,  // int64_t, elements
};
enum hipblasLtMatmulPreferenceAttributes_t : int32_t {
  HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1,  // uint64_t
};

struct hipblasLtMatmulAlgo_t {
  uint8_t data[16];
  size_t max_workspace_bytes;
};
struct hipblasLtMatmulHeuristicResult_t {
  hipblasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  hipblasStatus_t state;
  float wavesCount;
  int reserved[4];
};

// For the device that hipSetDevice chose on this thread.
hipblasStatus_t hipblasLtCreate(hipblasLtHandle_t* handle);

hipblasStatus_t hipblasLtMatmulDescCreate(hipblasLtMatmulDesc_t* made, hipblasComputeType_t compute,
                                          hipDataType scale);
hipblasStatus_t hipblasLtMatmulDescDestroy(hipblasLtMatmulDesc_t description);
hipblasStatus_t hipblasLtMatmulDescSetAttribute(hipblasLtMatmulDesc_t description,
                                                hipblasLtMatmulDescAttributes_t which,
                                                const void* value, size_t bytes);
// Column-major, `pitch` elements from one column to the next.
hipblasStatus_t hipblasLtMatrixLayoutCreate(hipblasLtMatrixLayout_t* made, hipDataType type,
                                            uint64_t rows, uint64_t columns, int64_t pitch);
hipblasStatus_t hipblasLtMatrixLayoutDestroy(hipblasLtMatrixLayout_t layout);
hipblasStatus_t hipblasLtMatrixLayoutSetAttribute(hipblasLtMatrixLayout_t layout,
                                                  hipblasLtMatrixLayoutAttribute_t which,
                                                  const void* value, size_t bytes);
hipblasStatus_t hipblasLtMatmulPreferenceCreate(hipblasLtMatmulPreference_t* made);
hipblasStatus_t hipblasLtMatmulPreferenceDestroy(hipblasLtMatmulPreference_t preference);
hipblasStatus_t hipblasLtMatmulPreferenceSetAttribute(hipblasLtMatmulPreference_t preference,
                                                      hipblasLtMatmulPreferenceAttributes_t which,
                                                      const void* value, size_t bytes);

// At most `wanted` algorithms; the one expected to be fastest comes first.
hipblasStatus_t hipblasLtMatmulAlgoGetHeuristic(
    hipblasLtHandle_t handle, hipblasLtMatmulDesc_t description, hipblasLtMatrixLayout_t a,
    hipblasLtMatrixLayout_t b, hipblasLtMatrixLayout_t c, hipblasLtMatrixLayout_t d,
    hipblasLtMatmulPreference_t preference, int wanted, hipblasLtMatmulHeuristicResult_t* found,
    int* count);
// d = epilogue(alpha·op(a)·op(b) + beta·c); alpha and beta have the scale's type and are on the host.
hipblasStatus_t hipblasLtMatmul(hipblasLtHandle_t handle, hipblasLtMatmulDesc_t description,
                                const void* alpha, const void* a, hipblasLtMatrixLayout_t a_layout,
                                const void* b, hipblasLtMatrixLayout_t b_layout, const void* beta,
                                const void* c, hipblasLtMatrixLayout_t c_layout, void* d,
                                hipblasLtMatrixLayout_t d_layout,
                                const hipblasLtMatmulAlgo_t* algorithm, void* workspace,
                                size_t workspace_bytes, ihipStream_t* stream);

}  // extern "C"
