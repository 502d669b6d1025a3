// The kernels over AMD's libraries.
#include "kernels.hpp"
#include "miopen.hpp"
#include "rocblas.hpp"

namespace tenon::gpu {

const std::vector<tn_kernel>& vendor_kernels() {
  static const std::vector<tn_kernel> kernels = [] {
    std::vector<tn_kernel> all = rocblas_kernels();
    for (const tn_kernel& kernel : miopen_kernels()) all.push_back(kernel);
    return all;
  }();
  return kernels;
}

}  // namespace tenon::gpu
