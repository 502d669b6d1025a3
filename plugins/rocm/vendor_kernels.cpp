// The kernels over AMD's libraries.
#include "hipblaslt.hpp"
#include "kernels.hpp"
#include "library.hpp"
#include "miopen.hpp"
#include "rocblas.hpp"

namespace tenon::gpu {

const std::vector<tn_kernel>& vendor_kernels() {
  static const std::vector<tn_kernel> kernels = [] {
    std::vector<tn_kernel> all = rocblas_kernels();
    for (const auto& others : {hipblaslt_kernels(), miopen_kernels()})
      all.insert(all.end(), others.begin(), others.end());
    return all;
  }();
  return kernels;
}

std::vector<LibraryFound> vendor_libraries() {
  rocblas();
  hipblaslt();
  miopen();
  return concluded_libraries();
}

}  // namespace tenon::gpu
