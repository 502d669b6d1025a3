// matmul and linear by cuBLASLt. A plan holds the descriptors and the algorithm that the heuristic chose for the shapes.
#include "blaslt.hpp"
#include "numerics.hpp"

namespace tenon::gpu {
namespace {

bool takes(const tn_call&, const BlasProduct& product) {
  return blaslt::takes_bias(product) && cublaslt() != nullptr;
}

constexpr BlasVendor kVendor = {"cuBLASLt", TN_MASK_FLOAT,  10, "TENON_CUDA_CUBLASLT_LEAST",
                                takes,      blaslt::prepare};

}  // namespace

blaslt::Types blaslt::types_of(tn_dtype dtype) {
  switch (dtype) {
    case TN_DTYPE_F16:
      return {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case TN_DTYPE_BF16:
      return {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case TN_DTYPE_F64:
      return {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
    default:
      return {CUDA_R_32F, CUDA_R_32F,
              allows_tf32() ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F};
  }
}

std::vector<tn_kernel> cublaslt_kernels() { return blas_kernels(kVendor); }

}  // namespace tenon::gpu
