// A stand-in for libhipblaslt on the host: the functions of hipblaslt_functions.def, written after AMD's hipBLASLt documentation, as plain
// loops in double precision. It shows what the plugin asks the library for, without a GPU.
#include <cstring>

#include "../gpu/blas/fake_blas.hpp"
#include "hipblaslt_abi.hpp"

#define BLASLT(name) hipblasLt##name
#define BLASLT_VALUE(name) HIPBLASLT_##name
#define BLAS_VALUE(name) HIPBLAS_##name
#define STATUS(name) HIPBLAS_STATUS_##name

namespace fake_blaslt {

using Status = hipblasStatus_t;
using DataType = hipDataType;
using ComputeType = hipblasComputeType_t;
using StreamHandle = ihipStream_t*;

constexpr const char* kLibrary = "hipblaslt";

inline fake_blas::Element element_of(DataType type) {
  switch (type) {
    case HIP_R_32F:
      return fake_blas::Element::kFloat;
    case HIP_R_16F:
      return fake_blas::Element::kHalf;
    default:
      return fake_blas::Element::kBFloat;
  }
}
inline DataType scale_of(DataType) { return HIP_R_32F; }
inline ComputeType compute_of(DataType) { return HIPBLAS_COMPUTE_32F; }

struct Preference {
  uint64_t workspace = 0;

  Status set(hipblasLtMatmulPreferenceAttributes_t which, const void* value, size_t bytes) {
    if (which != HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES || bytes != sizeof workspace)
      return HIPBLAS_STATUS_INVALID_VALUE;
    std::memcpy(&workspace, value, bytes);
    return HIPBLAS_STATUS_SUCCESS;
  }
  uint32_t alignment() const { return 1; }
  bool keeps_precision() const { return true; }
};

// No attributes beyond those that both libraries have.
struct Extra {
  Status set(hipblasLtMatmulDescAttributes_t, const void*, size_t) {
    return HIPBLAS_STATUS_NOT_SUPPORTED;
  }
  template <class How, class Layout>
  bool fits(const How&, const Layout&, const Layout&, const Layout&) const {
    return true;
  }
  bool has_nothing(uint64_t) const { return false; }
  double factor() const { return 1; }
};

}  // namespace fake_blaslt

#include "../gpu/blas/fake_blaslt.hpp"

extern "C" {

#if defined(ANOTHER_HIP)
int hipSetDevice(int) { return 0; }
#endif

hipblasStatus_t hipblasLtCreate(hipblasLtHandle_t* handle) {
  static int one = 0;
  *handle = &one;
  return HIPBLAS_STATUS_SUCCESS;
}

}  // extern "C"
