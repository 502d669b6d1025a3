// A stand-in for libcublasLt on the host: the functions of cublaslt_functions.def, written after NVIDIA's cuBLAS documentation ("Using the
// cuBLASLt API"), as plain loops in double precision. It shows what the plugin asks the library for, without a GPU.
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
    case CUDA_R_8F_E4M3:
      return fake_blas::Element::kE4M3;
    case CUDA_R_8F_E5M2:
      return fake_blas::Element::kE5M2;
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
  uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;

  Status set(cublasLtMatmulPreferenceAttributes_t which, const void* value, size_t bytes) {
    constexpr cublasLtMatmulPreferenceAttributes_t kAlignments[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
    if (which == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
      return take_bytes(&workspace, sizeof workspace, value, bytes);
    if (which == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK)
      return take_bytes(&reductions, sizeof reductions, value, bytes);
    for (int i = 0; i < 4; ++i)
      if (which == kAlignments[i])
        return take_bytes(&alignments[i], sizeof alignments[i], value, bytes);
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  // Other ways would round halves between the parts of a sum.
  bool keeps_precision() const { return reductions == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE; }
  uint32_t alignment() const { return *std::min_element(alignments, alignments + 4); }
};

// Scales of 8-bit operands, whose rows are along k, in multiples of 16; "cublasLtMatmul()", tables of supported types.
struct Extra {
  const void* scales[2] = {};

  Status set(cublasLtMatmulDescAttributes_t which, const void* value, size_t bytes) {
    if (which == CUBLASLT_MATMUL_DESC_A_SCALE_POINTER)
      return take_bytes(&scales[0], sizeof scales[0], value, bytes);
    if (which == CUBLASLT_MATMUL_DESC_B_SCALE_POINTER)
      return take_bytes(&scales[1], sizeof scales[1], value, bytes);
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  template <class How, class Layout>
  bool fits(const How& how, const Layout& a, const Layout& b, const Layout& c) const {
    const bool narrow = is_narrow(a.type);
    if (narrow != is_narrow(b.type) || is_narrow(c.type)) return false;
    if (!narrow) return a.type == b.type && a.type == c.type && scales[0] == nullptr;
    if (a.type == CUDA_R_8F_E5M2 && b.type == CUDA_R_8F_E5M2) return false;
    if (how.a != CUBLAS_OP_T || how.b != CUBLAS_OP_N || a.copies != 1) return false;
    if (a.rows % 16 != 0 || a.columns % 16 != 0 || a.pitch % 16 != 0 || b.pitch % 16 != 0)
      return false;
    if (c.type == CUDA_R_32F && how.epilogue != CUBLASLT_EPILOGUE_DEFAULT) return false;
    return scales[0] != nullptr && scales[1] != nullptr;
  }
  // It refuses sums of 48 terms, so that the plugin has to ask for the next algorithm.
  bool has_nothing(uint64_t terms) const { return scales[0] != nullptr && terms == 48; }
  double factor() const {
    if (scales[0] == nullptr) return 1;
    return double{*static_cast<const float*>(scales[0])} * *static_cast<const float*>(scales[1]);
  }
  static bool is_narrow(DataType type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }
};

}  // namespace fake_blaslt

#include "../gpu/blas/fake_blaslt.hpp"

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  static int one = 0;
  *handle = reinterpret_cast<cublasLtHandle_t>(&one);
  return CUBLAS_STATUS_SUCCESS;
}

// The number of products so far in this process, for tests that open this library themselves.
int fake_blas_products() { return fake_blas::products; }

const char* cublasLtGetStatusString(cublasStatus_t) { return "the stand-in refuses it"; }

}  // extern "C"
