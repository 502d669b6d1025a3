// matmul and linear by hipBLASLt, with bias and activation fused. f64, and products without an algorithm, go to rocBLAS.
#include <algorithm>
#include <limits>

#include "backend.hpp"
#include "blaslt.hpp"

namespace tenon::gpu {
namespace {

// The GPUs it is built for; on others it may end the process.
bool is_supported(uint32_t architecture) {
  constexpr uint32_t kSupported[] = {0x90a,  0x940,  0x941,  0x942,  0x950,  0x1100,
                                     0x1101, 0x1102, 0x1150, 0x1151, 0x1200, 0x1201};
  return std::find(std::begin(kSupported), std::end(kSupported), architecture) !=
         std::end(kSupported);
}

bool takes(const tn_call& call, const BlasProduct& product) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max(), kMostCopies = 65535;
  const Product& p = product.product;
  if (std::max({p.m, p.n, p.k, product.a.pitch, product.b.pitch}) > kMost) return false;
  return product.copies <= kMostCopies && blaslt::takes_bias(product) &&
         is_supported(backend().device(call.device_index).architecture) && hipblaslt() != nullptr;
}

constexpr BlasVendor kVendor = {"hipBLASLt", TN_MASK_HALF | TN_MASK(TN_DTYPE_F32),
                                20,          "TENON_ROCM_HIPBLASLT_LEAST",
                                takes,       blaslt::prepare};

}  // namespace

blaslt::Types blaslt::types_of(tn_dtype dtype) {
  const DataType element = dtype == TN_DTYPE_F16    ? HIP_R_16F
                           : dtype == TN_DTYPE_BF16 ? HIP_R_16BF
                                                    : HIP_R_32F;
  return {element, HIP_R_32F, HIPBLAS_COMPUTE_32F};
}

std::vector<tn_kernel> hipblaslt_kernels() { return blas_kernels(kVendor); }

}  // namespace tenon::gpu
