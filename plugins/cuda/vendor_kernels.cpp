// The kernels over NVIDIA's libraries.
#include "cublaslt.hpp"
#include "kernels.hpp"
#include "library.hpp"
#if defined(TENON_CUDNN)
#include "cudnn.hpp"
#endif

namespace tenon::gpu {

const std::vector<tn_kernel>& vendor_kernels() {
  static const std::vector<tn_kernel> kernels = [] {
    std::vector<tn_kernel> all = cublaslt_kernels();
    all.push_back(cublaslt_scaled_matmul());
#if defined(TENON_CUDNN)
    for (const auto& family : {cudnn_conv_kernels(), cudnn_attention_kernels()})
      all.insert(all.end(), family.begin(), family.end());
#endif
    return all;
  }();
  return kernels;
}

std::vector<LibraryFound> vendor_libraries() {
  cublaslt();
#if defined(TENON_CUDNN)
  has_cudnn();
#endif
  return concluded_libraries();
}

}  // namespace tenon::gpu
