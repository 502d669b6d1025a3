// For plugins without vendor libraries.
#include "kernels.hpp"
#include "library.hpp"

namespace tenon::gpu {

const std::vector<tn_kernel>& vendor_kernels() {
  static const std::vector<tn_kernel> none;
  return none;
}

const void* libraries_interface(std::string_view, uint32_t) { return nullptr; }

}  // namespace tenon::gpu
